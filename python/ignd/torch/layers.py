"""The layers that hooks understand: what one call of them adds to the sensitivities."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor, nn
from torch.autograd.graph import GradientEdge, get_gradient_edge
from torch.nn import Parameter, functional

from .blocks import Block, EmbeddingBlock, OuterBlock, RowsBlock
from .errors import UnsupportedModel


@dataclass(eq=False)
class Use:
    """A call of a layer during the forward pass."""

    layer: nn.Module
    name: str
    samples: int
    input: Tensor
    version: int
    edge: GradientEdge
    output: Tensor
    output_version: int


def is_known(layer: nn.Module) -> bool:
    """Whether hooks give its sensitivities. Subclasses count only if they compute the same."""
    return any(
        isinstance(layer, known) and type(layer).forward is known.forward
        for known in (nn.Linear, nn.Conv2d, nn.Embedding)
    )


def refuse_layer(name: str, layer: nn.Module) -> None:
    """Raises where the gradient of a table is not the derivative of its outputs."""
    if isinstance(layer, nn.Embedding):
        if layer.max_norm is not None:
            raise UnsupportedModel(f"'{name}' has max_norm, which changes its weights while it predicts")
        if layer.scale_grad_by_freq:
            raise UnsupportedModel(f"'{name}' has scale_grad_by_freq, so that its gradient is not a derivative")


def keeper(name: str, samples: int, uses: list[Use]) -> Callable[..., None]:
    """A hook that keeps what the layer was given, and where in the graph its result is."""

    def keep(layer: nn.Module, args: tuple[Any, ...], kwargs: dict[str, Any], output: Tensor) -> None:
        value = args[0] if args else kwargs["input"]
        if not output.requires_grad:
            return
        # An edge, not the tensor: a later change in place would put another operation behind the tensor.
        edge = get_gradient_edge(output)
        uses.append(Use(layer, name, samples, value, value._version, edge, output, output._version))

    return keep


def is_usable(use: Use) -> bool:
    """Whether dimension 0 counts samples, or equally many rows of each."""
    changed = use.input._version != use.version
    if changed or (use.output._is_view() and use.output._version != use.output_version):
        raise UnsupportedModel(
            f"the {'input' if changed else 'output'} of '{use.name}' is changed in place after it; "
            "use an operation that returns a new tensor (inplace=False)"
        )
    least = 4 if isinstance(use.layer, nn.Conv2d) else 1 if isinstance(use.layer, nn.Embedding) else 2
    return use.input.ndim >= least and use.input.shape[0] % use.samples == 0


@dataclass(frozen=True)
class Entry:
    """A block to be made: of a weight, of a weight and its bias, or of a bias alone."""

    weight: Parameter | None
    bias: Parameter | None
    uses: list[int]


@dataclass(frozen=True)
class Plan:
    """Which blocks come from which uses, as long as the same parameters learn in the same groups."""

    learning: set[Parameter]
    groups: Sequence[set[Parameter]]
    entries: list[Entry]


def make_plan(uses: list[Use], learning: set[Parameter], groups: Sequence[set[Parameter]]) -> Plan:
    """One block per weight, over all uses; a bias joins its weight's block where they go together.

    A parameter that is a weight here and a bias there, or a table that is also the weight of a layer, has no block.
    """
    of_weights: dict[Parameter, list[int]] = defaultdict(list)
    of_biases: dict[Parameter, list[int]] = defaultdict(list)
    for i, use in enumerate(uses):
        for name, parameter in use.layer._parameters.items():
            if parameter is not None and parameter in learning:
                (of_weights if name == "weight" else of_biases)[parameter].append(i)
    entries, joined = [], set()
    for weight, found in of_weights.items():
        kinds = {isinstance(uses[i].layer, nn.Embedding) for i in found}
        if weight in of_biases or len(kinds) > 1:
            continue
        (bias, *others) = {uses[i].layer._parameters.get("bias") for i in found}
        if others or bias is None or of_biases.get(bias) != found or bias in of_weights:
            bias = None
        elif any((bias in group) != (weight in group) for group in groups) or any(_has_groups(uses[i]) for i in found):
            bias = None
        joined.add(bias)
        entries.append(Entry(weight, bias, found))
    alone = [bias for bias in of_biases if bias not in joined and bias not in of_weights]
    return Plan(set(learning), groups, entries + [Entry(None, bias, of_biases[bias]) for bias in alone])


def make_block(entry: Entry, uses: list[Use], deltas: list[Tensor]) -> Block:
    """The sensitivities from the derivatives in what the layers returned, all uses together."""
    positions = [_positions(uses[i], deltas[i]) for i in entry.uses]
    if entry.weight is None:
        assert entry.bias is not None
        return RowsBlock(entry.bias, torch.stack([delta.sum(2) for delta in positions]).sum(0))
    first = uses[entry.uses[0]]
    if isinstance(first.layer, nn.Embedding):
        index = torch.cat([uses[i].input.reshape(first.samples, -1) for i in entry.uses], 1)
        return EmbeddingBlock(entry.weight, index, torch.cat(positions, 2))
    inputs = [_inputs(uses[i]) for i in entry.uses]
    if any(_has_groups(uses[i]) for i in entry.uses):
        rows = [_of_groups(uses[i], a, delta) for i, a, delta in zip(entry.uses, inputs, positions, strict=True)]
        return RowsBlock(entry.weight, torch.stack(rows).sum(0))
    if len(inputs) == 1:
        return OuterBlock(entry.weight, entry.bias, inputs[0], positions[0])
    return OuterBlock(entry.weight, entry.bias, torch.cat(inputs, 1), torch.cat(positions, 2))


def _has_groups(use: Use) -> bool:
    return isinstance(use.layer, nn.Conv2d) and use.layer.groups > 1


def _positions(use: Use, delta: Tensor) -> Tensor:
    """b x C x L x m."""
    rows, outputs = delta.shape[:2]
    if isinstance(use.layer, nn.Conv2d):
        delta = delta.flatten(3).mT
    else:
        delta = delta.reshape(rows, outputs, -1, delta.shape[-1])
    if rows > use.samples:  # several rows of each sample, side by side
        delta = delta.reshape(use.samples, -1, *delta.shape[1:]).transpose(1, 2).flatten(2, 3)
    if isinstance(use.layer, nn.Embedding) and use.layer.padding_idx is not None:
        return delta * (use.input != use.layer.padding_idx).reshape(use.samples, 1, -1, 1)
    return delta


def _inputs(use: Use) -> Tensor:
    """b x L x n: what the layer multiplies by its weight, at L positions."""
    value = use.input.detach()
    if isinstance(use.layer, nn.Conv2d):
        value = _patches(use.layer, value).mT
    return value.reshape(use.samples, -1, value.shape[-1])


def _patches(layer: nn.Conv2d, image: Tensor) -> Tensor:
    """What the convolution multiplies at each pixel: n x (channels, rows, columns) x pixels."""
    if layer.kernel_size == (1, 1) and layer.stride == (1, 1) and layer.padding in ((0, 0), "same", "valid"):
        return image.flatten(2)
    padding: list[int] = []
    for i in (1, 0):  # the last dimension comes first
        if layer.padding == "same":
            total = layer.dilation[i] * (layer.kernel_size[i] - 1)
            padding += [total // 2, total - total // 2]
        else:
            size = 0 if isinstance(layer.padding, str) else int(layer.padding[i])
            padding += [size, size]
    if any(padding):
        image = functional.pad(image, padding, "constant" if layer.padding_mode == "zeros" else layer.padding_mode)
    return functional.unfold(image, layer.kernel_size, dilation=layer.dilation, stride=layer.stride)


def _of_groups(use: Use, a: Tensor, delta: Tensor) -> Tensor:
    """The rows of a convolution in groups, b x C x m x (n of a group)."""
    groups = use.layer.groups
    assert isinstance(groups, int)
    a = a.reshape(*a.shape[:2], groups, -1)
    delta = delta.reshape(*delta.shape[:3], groups, -1)
    return torch.einsum("blgn,bclgm->bcgmn", a, delta).flatten(2, 3)
