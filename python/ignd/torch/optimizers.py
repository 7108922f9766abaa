"""IGND and AdamIGND: averaged Gauss-Newton steps of single samples."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor, nn
from torch.nn import Parameter

from .blocks import Direction, Jacobian
from .capture import Capture, ForwardPass, Inputs
from .errors import check_finite, wide
from .losses import Loss, LossAt, LossFunction, find_loss
from .system import Root, largest_curvature, solve_samples

Parameters = Iterable[Parameter] | Iterable[dict[str, Any]]


@dataclass(frozen=True)
class StepInfo:
    """One step, as seen before the weights moved."""

    step: int  # 1, 2, ...: this one included
    samples: int
    loss: float  # mean over the samples, by their weights


class SampleOptimizer(torch.optim.Optimizer):
    """What all optimizers here share: a model, its loss, and the sensitivities of a batch.

    They are torch optimizers with parameter groups, state_dict() and support for learning rate schedulers, but step()
    takes the batch instead of a closure: it runs the model itself. Gradients (p.grad) are neither read nor written.
    """

    def __init__(
        self, model: nn.Module, loss: str | Loss | LossFunction, params: Parameters | None, defaults: dict[str, Any],
        eps_c: float | None, memory: int,
    ) -> None:
        _check_numbers({**defaults, **({} if eps_c is None else {"eps_c": eps_c}), "memory": memory})
        self.model = model
        self.loss = find_loss(loss)
        self.eps_c = self.loss.curvature_floor if eps_c is None else eps_c
        self.memory = memory
        self.steps = 0
        self.capture = Capture(model, memory)
        super().__init__([p for p in model.parameters() if p.requires_grad] if params is None else params, defaults)

    def add_param_group(self, param_group: dict[str, Any]) -> None:
        """As in torch; the parameters must be the model's."""
        super().add_param_group(param_group)
        group = self.param_groups[-1]
        _check_numbers({name: value for name, value in group.items() if name != "params"})
        for parameter in group["params"]:
            if parameter not in self.capture.names:
                raise ValueError("a parameter of the optimizer is not one of the model's")
            if parameter.dtype not in (torch.float32, torch.float64):
                name = self.capture.names[parameter]
                raise ValueError(f"'{name}' is {parameter.dtype}; the steps need float32 or float64")

    def state_dict(self) -> dict[str, Any]:
        """As in torch, with the numbers that belong to no parameter."""
        return {**super().state_dict(), "ignd": self._numbers()}

    def load_state_dict(self, state_dict: dict[str, Any]) -> None:
        """Resumes to the same bits."""
        found = state_dict.get("ignd")
        if not isinstance(found, dict) or found.keys() != self._numbers().keys():
            raise ValueError(f"this is not the state of {type(self).__name__}")
        super().load_state_dict(state_dict)
        for name, value in found.items():
            setattr(self, name, value)

    def _numbers(self) -> dict[str, Any]:
        return {"steps": self.steps, "eps_c": self.eps_c}

    def _learning(self) -> list[set[Parameter]]:
        """The parameters of each group that are not frozen."""
        return [{p for p in group["params"] if p.requires_grad} for group in self.param_groups]

    def _sensitivities(self, inputs: Inputs, targets: Tensor) -> tuple[ForwardPass, LossAt, Jacobian]:
        """The losses of a batch and J. Its graph is gone afterwards."""
        learning = self._learning()
        done = self.capture.forward(inputs, set().union(*learning))
        at = self.loss.at(done.output.detach(), targets)
        check_finite({"output": done.flat, "loss": at.value, "slope of the loss": at.slope})
        jacobian = self.capture.sensitivities(done, learning)
        return done, at, jacobian


class AveragingOptimizer(SampleOptimizer):
    """Averages the steps that each sample of the batch would make on its own."""

    def __init__(
        self, model: nn.Module, loss: str | Loss | LossFunction, params: Parameters | None, defaults: dict[str, Any],
        eps_c: float | None, eps_lm: float, memory: int,
    ) -> None:
        _check_numbers({"eps_lm": eps_lm})
        self.eps_lm = eps_lm
        super().__init__(model, loss, params, defaults, eps_c, memory)

    def _numbers(self) -> dict[str, Any]:
        return {**super()._numbers(), "eps_lm": self.eps_lm}

    @torch.no_grad()
    def step(self, inputs: Inputs, targets: Tensor, weights: Tensor | None = None) -> StepInfo:  # type: ignore[override]
        """Learns from a batch: inputs with the samples along dimension 0 (a tensor, a tuple or a dict of them).

        A sample of weight 2 counts as two. Raises before anything has changed.
        """
        done, at, jacobian = self._sensitivities(inputs, targets)
        share = shares(weights, at.value)
        gram = wide(jacobian.own_gram(done.flat))
        root = Root.of(at.curvature, at.slope, self.eps_c)
        decay = max(group["weight_decay"] for group in self.param_groups)
        z = share[:, None] * solve_samples(gram, root, self.eps_lm + decay)
        loss = (share * at.value).sum()
        check_finite({"sensitivity": gram, "coefficient": z})
        shrink = self._shrinkage(share / (largest_curvature(gram, root) + self.eps_lm + decay)) if decay > 0 else 0.0
        direction = jacobian.combine(z.to(done.flat.dtype))
        for group in self.param_groups:
            for parameter in group["params"]:
                if parameter in direction:
                    self._descend(parameter, direction[parameter], group, shrink * group["weight_decay"])
        self.steps += 1
        return StepInfo(self.steps, done.flat.shape[0], float(loss))

    def _shrinkage(self, scales: Tensor) -> float:
        """What the weight decays are multiplied by: the mean xi of the samples (docs/math.md, L2)."""
        shrink = float(scales.sum())
        if any(group["lr"] * shrink * group["weight_decay"] >= 1 for group in self.param_groups):
            raise ValueError("lr and weight_decay would shrink all weights to zero or past it; lower one of them")
        return shrink

    @abstractmethod
    def _descend(self, parameter: Parameter, direction: Tensor, group: dict[str, Any], decay: float) -> None:
        """Moves the parameter along direction + decay * parameter."""


class IGND(AveragingOptimizer):
    """Incremental Gauss-Newton Descent.

    With a batch of one, w -= lr * l_f / ((l_ff + eps_c) ||j||^2 + eps_lm) j, the exact damped Gauss-Newton step of that
    sample, where j is the gradient of the output, not of the loss. With several outputs the same system has a row per
    output. A larger batch takes the mean of its samples' steps.

    >>> model = torch.nn.Linear(2, 1)
    >>> optimizer = IGND(model, "squared", lr=1)
    >>> info = optimizer.step(torch.tensor([[3.0, 4.0]]), torch.tensor([[7.0]]))
    >>> round(model(torch.tensor([[3.0, 4.0]])).item(), 3)  # one step at rate 1 reaches the target
    7.0
    """

    def __init__(
        self, model: nn.Module, loss: str | Loss | LossFunction, lr: float = 0.1, *, params: Parameters | None = None,
        momentum: float = 0.0, weight_decay: float = 0.0, eps_c: float | None = None, eps_lm: float = 1e-5,
        memory: int = 2**32,
    ) -> None:
        defaults = {"lr": lr, "momentum": momentum, "weight_decay": weight_decay}
        super().__init__(model, loss, params, defaults, eps_c, eps_lm, memory)

    def _descend(self, parameter: Parameter, direction: Tensor, group: dict[str, Any], decay: float) -> None:
        if group["momentum"] == 0:
            if decay > 0:
                parameter.mul_(1 - group["lr"] * decay)
            parameter.add_(direction, alpha=-group["lr"])
            return
        state = self.state[parameter]
        if not state:
            state["momentum"] = torch.zeros_like(parameter)
        state["momentum"].mul_(group["momentum"]).add_(direction)
        if decay > 0:
            state["momentum"].add_(parameter, alpha=decay)
        parameter.add_(state["momentum"], alpha=-group["lr"])


class AdamIGND(AveragingOptimizer):
    """Adam, with the averaged directions of IGND in place of gradients.

    weight_decay enters the direction, as in torch.optim.Adam; decoupled_weight_decay shrinks the weights by that share
    times lr, as in torch.optim.AdamW.
    """

    def __init__(
        self, model: nn.Module, loss: str | Loss | LossFunction, lr: float = 1e-3, *, params: Parameters | None = None,
        betas: tuple[float, float] = (0.9, 0.999), eps: float = 1e-8, weight_decay: float = 0.0,
        decoupled_weight_decay: float = 0.0, eps_c: float | None = None, eps_lm: float = 1e-5, memory: int = 2**32,
    ) -> None:
        defaults = {"lr": lr, "betas": betas, "eps": eps, "weight_decay": weight_decay,
                    "decoupled_weight_decay": decoupled_weight_decay}
        super().__init__(model, loss, params, defaults, eps_c, eps_lm, memory)

    def _descend(self, parameter: Parameter, direction: Tensor, group: dict[str, Any], decay: float) -> None:
        state = self.state[parameter]
        if not state:
            state.update(step=0, mean=torch.zeros_like(parameter), square=torch.zeros_like(parameter))
        state["step"] += 1
        gradient = direction.to_dense() if direction.is_sparse else direction
        if decay > 0:
            gradient = gradient.add(parameter, alpha=decay)
        beta1, beta2 = group["betas"]
        state["mean"].mul_(beta1).add_(gradient, alpha=1 - beta1)
        state["square"].mul_(beta2).addcmul_(gradient, gradient, value=1 - beta2)
        root = (state["square"] / (1 - beta2 ** state["step"])).sqrt_().add_(group["eps"])
        if group["decoupled_weight_decay"] > 0:
            parameter.mul_(1 - group["lr"] * group["decoupled_weight_decay"])
        parameter.addcdiv_(state["mean"], root, value=-group["lr"] / (1 - beta1 ** state["step"]))


def shares(weights: Tensor | None, like: Tensor) -> Tensor:
    """The share of each sample in the mean."""
    if weights is None:
        return torch.full_like(like, 1 / like.shape[0])
    if weights.shape != like.shape:
        raise ValueError(f"there are {like.shape[0]} samples, but the weights are {tuple(weights.shape)}")
    weights = weights.to(like)
    total = weights.sum()
    if not bool((weights >= 0).all() & torch.isfinite(total) & (total > 0)):
        raise ValueError("weights must be finite, at least 0, and not all 0")
    return weights / total


def _check_numbers(numbers: dict[str, Any]) -> None:
    for name, value in numbers.items():
        below = 1 if name in ("momentum", "betas") else float("inf")
        for number in value if name == "betas" else [value]:
            if isinstance(number, (int, float)) and not 0 <= number < below:
                raise ValueError(f"{name} is {number}, but must be at least 0 and below {below:g}")
