"""One forward pass of a model and the sensitivities of its outputs, block by block.

Hooks keep what goes into Linear, Conv2d and Embedding and where in the graph their results are; one backward pass per
output gives the derivatives there. torch.func differentiates sample by sample in all other parameters.
"""

from __future__ import annotations

import math
import warnings
from collections import defaultdict
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor, nn
from torch.nn import Parameter

from .blocks import Block, Jacobian, RowsBlock
from .errors import UnsupportedModel
from .layers import Plan, Use, is_known, is_usable, keeper, make_block, make_plan, refuse_layer

Inputs = Any  # a tensor, a tuple of arguments or a dict of keyword arguments, with the samples along dimension 0


@dataclass(eq=False)
class ForwardPass:
    """The outputs of a batch with their graph."""

    output: Tensor  # as the model gave it
    flat: Tensor  # b x C
    inputs: Inputs
    uses: list[Use]


class Capture:
    """Knows a model and which of its parameters learn."""

    def __init__(self, model: nn.Module, memory: int) -> None:
        self.model, self.memory = model, memory
        self.names = {parameter: name for name, parameter in model.named_parameters()}
        self._layers = [(name, layer) for name, layer in model.named_modules() if is_known(layer)]
        self._norms = [
            (name, layer) for name, layer in model.named_modules() if isinstance(layer, nn.modules.batchnorm._BatchNorm)
        ]
        # By kind of forward pass: what torch.func differentiates, and what has been compared with torch's gradient.
        self._left: dict[tuple[object, ...], set[Parameter]] = defaultdict(set)
        self._seen: dict[tuple[object, ...], set[Parameter]] = defaultdict(set)
        self._plans: dict[tuple[object, ...], Plan] = {}
        self._one_by_one = False  # torch.func cannot vectorise the model
        self._draws = torch.Generator().manual_seed(0)  # not torch's own: the user's draws stay what they are
        for name, layer in self._layers:
            refuse_layer(name, layer)

    def forward(self, inputs: Inputs, learning: set[Parameter]) -> ForwardPass:
        """Runs the model and keeps what the sensitivities need."""
        self._refuse_modes()
        uses: list[Use] = []
        samples = batch_size(inputs)
        handles = [
            layer.register_forward_hook(keeper(name, samples, uses), with_kwargs=True)
            for name, layer in self._layers
            if any(parameter in learning for parameter in layer._parameters.values())
        ]
        try:
            with torch.enable_grad():
                output = call(self.model, inputs)
        finally:
            for handle in handles:
                handle.remove()
        if not isinstance(output, Tensor) or output.shape[:1] != (samples,):
            raise UnsupportedModel(f"the model must return one tensor with a row for each of the {samples} samples")
        if not output.requires_grad:
            raise UnsupportedModel("no parameter that learns has an effect on the model's output")
        with torch.enable_grad():
            flat = output.reshape(samples, -1)
        return ForwardPass(output, flat, inputs, uses)

    def sensitivities(self, done: ForwardPass, groups: list[set[Parameter]]) -> Jacobian:
        """J of the pass. A new kind of pass is compared with torch's own gradient."""
        learning = set().union(*groups)
        samples, outputs = done.flat.shape
        kind = _kind(done, samples)
        left, seen = self._left[kind], self._seen[kind]
        for use in done.uses:
            if not is_usable(use):
                left.update(p for p in use.layer._parameters.values() if p is not None)
        hooked = learning - left
        uses = [use for use in done.uses if any(p in hooked for p in use.layer._parameters.values())]
        unused = list(hooked - {p for use in uses for p in use.layer._parameters.values()})
        deltas, newly_used = _deltas(done.flat, uses, unused, keep=not learning <= seen)
        seen.difference_update(newly_used)
        plan = self._plans.get(kind)
        if plan is None or plan.learning != hooked or plan.groups != groups:
            plan = self._plans[kind] = make_plan(uses, hooked, groups)
        blocks = [make_block(entry, uses, deltas) for entry in plan.entries]
        if learning <= seen:
            blocks = blocks + self._by_functions(done, learning & left)
        else:
            blocks = self._compared(blocks, done, learning, left, seen)
        return Jacobian(blocks, samples, outputs)

    def _compared(
        self, blocks: list[Block], done: ForwardPass, learning: set[Parameter], left: set[Parameter],
        seen: set[Parameter],
    ) -> list[Block]:
        """Compares J^T z for a random z with torch's gradient: equal products mean equal matrices.

        What differs, such as a weight that is also used outside its layer, goes to torch.func. A parameter with a
        gradient of zero has shown nothing yet, and is compared again.
        """
        z = torch.randn(done.flat.shape, generator=self._draws, dtype=torch.float64)
        z = z.to(done.flat.device, done.flat.dtype)
        parameters = sorted(learning, key=self.names.__getitem__)
        gradients = torch.autograd.grad(done.flat, parameters, z, retain_graph=True, allow_unused=True)
        truth = dict(zip(parameters, gradients, strict=True))
        agreed = []
        for block in blocks:
            found = block.combine(z)
            if all(_agree(found[parameter], truth[parameter]) for parameter in block.parameters):
                agreed.append(block)
        of_hooks = {parameter for block in agreed for parameter in block.parameters}
        left.update(p for p in parameters if truth[p] is not None and p not in of_hooks)
        by_functions = self._by_functions(done, learning & left)
        for block in by_functions:
            parameter = block.parameters[0]
            if not _agree(block.combine(z)[parameter], truth[parameter]):
                raise UnsupportedModel(
                    f"the output of a sample depends on other samples of its batch, or on chance: the gradient in "
                    f"'{self.names[parameter]}' is not a sum over samples; normalise within samples, and keep the "
                    "samples along dimension 0 everywhere"
                )
        seen.update(p for p in parameters if truth[p] is None or _is_nonzero(truth[p]))
        return agreed + by_functions

    def _by_functions(self, done: ForwardPass, parameters: set[Parameter]) -> list[Block]:
        """Sample by sample: by torch.func for all at once, or one after the other where it cannot."""
        if not parameters:
            return []
        names = {self.names[parameter]: parameter for parameter in parameters}
        found = None
        if not self._one_by_one:
            try:
                found = self._vectorised(done, names)
            except (RuntimeError, ValueError, TypeError) as error:
                listed = ", ".join(sorted(names))
                warnings.warn(f"torch.func cannot vectorise this model ({str(error).splitlines()[0]}); the samples run "
                              f"one after the other, which is slow, for {listed}", stacklevel=2)
                self._one_by_one = True
        if found is None:
            found = self._looped(done, names)
        return [RowsBlock(parameter, found[name].detach()) for name, parameter in names.items()]

    def _vectorised(self, done: ForwardPass, names: dict[str, Parameter]) -> dict[str, Tensor]:
        samples, outputs = done.flat.shape
        width = sum(parameter.numel() for parameter in names.values()) * outputs * done.flat.element_size()

        def outputs_of_one(values: dict[str, Tensor], inputs: Inputs) -> Tensor:
            args, kwargs = arguments(map_tensors(lambda tensor: tensor[None], inputs))
            output: Tensor = torch.func.functional_call(self.model, values, args, kwargs)
            return output.reshape(-1)

        by_sample = torch.func.vmap(
            torch.func.jacrev(outputs_of_one), in_dims=(None, 0), chunk_size=max(1, min(samples, self.memory // width))
        )
        found: dict[str, Tensor] = by_sample({name: p.detach() for name, p in names.items()}, done.inputs)
        return found

    def _looped(self, done: ForwardPass, names: dict[str, Parameter]) -> dict[str, Tensor]:
        samples, outputs = done.flat.shape
        parameters = list(names.values())
        found = {name: p.new_zeros(samples, outputs, *p.shape) for name, p in names.items()}
        for i in range(samples):
            with torch.enable_grad():
                row = call(self.model, map_tensors(lambda tensor: tensor[i : i + 1], done.inputs)).reshape(-1).unbind()
            for c in range(outputs):
                gradients = torch.autograd.grad(row[c], parameters, retain_graph=True, allow_unused=True)
                for name, gradient in zip(names, gradients, strict=True):
                    if gradient is not None:
                        found[name][i, c] = _dense(gradient)
        return found

    def _refuse_modes(self) -> None:
        for name, layer in self._norms:
            if layer.training or layer.running_mean is None:
                raise UnsupportedModel(
                    f"'{name}' normalises each sample by the others of its batch, so that no sample has a sensitivity "
                    "of its own; put it into eval() mode or use GroupNorm"
                )
        if torch.is_autocast_enabled(next(iter(self.names)).device.type):
            raise UnsupportedModel("the step needs the precision of the weights; leave autocast before it")


def call(model: nn.Module, inputs: Inputs) -> Tensor:
    """The model's output."""
    args, kwargs = arguments(inputs)
    output: Tensor = model(*args, **kwargs)
    return output


def arguments(inputs: Inputs) -> tuple[tuple[Any, ...], dict[str, Any]]:
    """A tensor is the only argument, a tuple holds several, a dict holds those with names."""
    if isinstance(inputs, dict):
        return (), inputs
    return (tuple(inputs), {}) if isinstance(inputs, (tuple, list)) else ((inputs,), {})


def map_tensors(change: Callable[[Tensor], Tensor], inputs: Inputs) -> Inputs:
    """The inputs with every tensor changed."""
    if isinstance(inputs, dict):
        return {name: change(value) for name, value in inputs.items()}
    return tuple(change(value) for value in inputs) if isinstance(inputs, (tuple, list)) else change(inputs)


def batch_size(inputs: Inputs) -> int:
    """The number of samples, along dimension 0 of every tensor."""
    if callable(inputs):
        raise TypeError("step takes the inputs and targets of a batch, not a closure: it runs the model itself")
    args, kwargs = arguments(inputs)
    values = [*args, *kwargs.values()]
    if not values or not all(isinstance(value, Tensor) and value.ndim > 0 for value in values):
        raise TypeError("the inputs must be a tensor, a tuple of tensors or a dict of tensors, with the samples first")
    sizes = {len(value) for value in values}
    if len(sizes) > 1 or sizes == {0}:
        raise ValueError(f"the inputs have {' and '.join(map(str, sorted(sizes)))} samples")
    return sizes.pop()


def _kind(done: ForwardPass, samples: int) -> tuple[object, ...]:
    """What tells passes apart that may be wired differently."""
    ratios = [(id(use.layer), use.layer.training, use.input.shape[0] / samples, use.input.ndim) for use in done.uses]
    return (samples == 1, done.flat.shape[1], *ratios)


def _deltas(
    flat: Tensor, uses: list[Use], unused: list[Parameter], keep: bool
) -> tuple[list[Tensor], set[Parameter]]:
    """The derivatives of each output in what each layer returned: its shape with C as dimension 1.

    Also says which of the parameters that seemed unused have a gradient after all.
    """
    # torch takes edges and tensors together, though its types do not say so.
    ends: Any = (*(use.edge for use in uses), *unused)
    outputs = flat.shape[1]
    found: list[list[Tensor]] = [[] for _ in uses]
    used: set[Parameter] = set()
    for c in range(outputs if ends else 0):
        seed = torch.ones_like(flat) if outputs == 1 else torch.zeros_like(flat)
        seed[:, c] = 1
        last = c + 1 == outputs and not keep and not unused
        gradients = torch.autograd.grad(flat, ends, seed, retain_graph=not last, allow_unused=True)
        for use, gradient, each in zip(uses, gradients, found, strict=False):
            each.append(torch.zeros_like(use.output) if gradient is None else gradient)
        used |= {p for p, gradient in zip(unused, gradients[len(uses):], strict=True) if gradient is not None}
    return [each[0][:, None] if outputs == 1 else torch.stack(each, 1) for each in found], used


def _dense(gradient: Tensor) -> Tensor:
    return gradient.to_dense() if gradient.is_sparse else gradient


def _is_nonzero(gradient: Tensor | None) -> bool:
    return gradient is not None and 0 < float(torch.linalg.vector_norm(_dense(gradient))) < math.inf


def _agree(found: Tensor, truth: Tensor | None) -> bool:
    """Up to rounding; some GPUs round the products of single precision to ten bits."""
    if truth is None:
        return not _is_nonzero(found)
    if not bool(torch.isfinite(truth.sum())):
        return True  # the step will refuse its numbers
    tolerance = 1e-7 if truth.dtype == torch.float64 else 1e-3 if truth.device.type == "cpu" else 1e-2
    found, truth = _dense(found), _dense(truth)
    return bool(torch.linalg.vector_norm(found - truth) <= tolerance * torch.linalg.vector_norm(truth))
