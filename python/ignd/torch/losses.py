"""Losses: how wrong an output is, and the first two derivatives in that output, together."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass

import torch
from torch import Tensor
from torch.nn import functional

from .errors import wide

LossFunction = Callable[[Tensor, Tensor], Tensor]


@dataclass(frozen=True)
class LossAt:
    """The losses of b samples with C outputs each, in double precision."""

    value: Tensor  # b
    slope: Tensor  # b x C: l_f
    curvature: Tensor  # l_ff: b x C x C, or b x C where the Hessians are diagonal


class Loss(ABC):
    """A loss of the outputs of one sample, convex in them."""

    #: The default of eps_c, which is added to the Hessian's diagonal.
    curvature_floor: float = 0.0

    @abstractmethod
    def at(self, output: Tensor, target: Tensor) -> LossAt:
        """The losses of a batch; refuses targets that do not fit the outputs."""

    def values(self, output: Tensor, target: Tensor) -> Tensor:
        """The values alone, one per sample."""
        return self.at(output, target).value


class SquaredLoss(Loss):
    """||f - y||^2 / 2."""

    def at(self, output: Tensor, target: Tensor) -> LossAt:
        error = rows(output) - rows(as_output(target, output))
        return LossAt((error * error).sum(1) / 2, error, torch.ones_like(error))


class LogisticLoss(Loss):
    """Binary cross-entropy with logits, for each output on its own. Targets are 0 or 1."""

    curvature_floor = 1e-2

    def at(self, output: Tensor, target: Tensor) -> LossAt:
        f, y = rows(output), rows(as_output(target, output))
        if not bool(((y == 0) | (y == 1)).all()):
            raise ValueError("a target is neither 0 nor 1, as the logistic loss needs")
        sign = 2 * y - 1
        value = -functional.logsigmoid(sign * f).sum(1)
        return LossAt(value, -sign * torch.sigmoid(-sign * f), torch.sigmoid(f) * torch.sigmoid(-f))


class SoftmaxLoss(Loss):
    """Cross-entropy of C classes with logits. Targets are the numbers of classes."""

    curvature_floor = 1e-2

    def at(self, output: Tensor, target: Tensor) -> LossAt:
        if output.ndim != 2 or output.shape[1] < 2:
            raise ValueError(f"softmax needs one output per class, at least two; the output is {shape(output)}")
        if target.is_floating_point() or target.shape != output.shape[:1]:
            raise ValueError(f"softmax needs {output.shape[0]} integers as targets, not {shape(target)} {target.dtype}")
        if not bool(((target >= 0) & (target < output.shape[1])).all()):
            raise ValueError(f"a target is not a class from 0 to {output.shape[1] - 1}")
        logarithms = torch.log_softmax(rows(output), 1)
        p = logarithms.exp()
        label = functional.one_hot(target.long(), output.shape[1]).to(p.dtype)
        return LossAt(-(label * logarithms).sum(1), p - label, torch.diag_embed(p) - p[:, :, None] * p[:, None, :])


class FunctionLoss(Loss):
    """A function of the output and the target of one sample; torch differentiates it twice."""

    def __init__(self, function: LossFunction, curvature_floor: float = 0.0) -> None:
        averages = getattr(function, "reduction", "sum") == "mean"
        if averages and isinstance(function, (torch.nn.CrossEntropyLoss, torch.nn.NLLLoss)):
            if function.weight is not None:
                raise ValueError("the mean over one sample undoes its class weight; give the loss reduction='sum'")
        self.function = function
        self.curvature_floor = curvature_floor

    def at(self, output: Tensor, target: Tensor) -> LossAt:
        each, f, y = self._of_rows(output, target)
        value_and_slope = torch.func.grad_and_value(each)
        slope, value = torch.func.vmap(value_and_slope)(f, y)
        curvature = torch.func.vmap(torch.func.jacrev(torch.func.grad(each)))(f, y)
        return LossAt(value, slope, curvature[:, :, 0] if f.shape[1] == 1 else curvature)

    def values(self, output: Tensor, target: Tensor) -> Tensor:
        each, f, y = self._of_rows(output, target)
        return torch.func.vmap(each)(f, y)

    def _of_rows(self, output: Tensor, target: Tensor) -> tuple[LossFunction, Tensor, Tensor]:
        of_one = output.shape[1:]

        def each(f: Tensor, y: Tensor) -> Tensor:
            value = self.function(f.reshape(of_one), y)
            if value.ndim != 0:
                raise ValueError(f"the loss of one sample must be a single number, not {shape(value)}")
            return value

        if target.shape[:1] != output.shape[:1]:
            raise ValueError(f"there are {output.shape[0]} outputs, but the targets are {shape(target)}")
        return each, rows(output), wide(target) if target.is_floating_point() else target


NAMED: dict[str, type[Loss]] = {"squared": SquaredLoss, "logistic": LogisticLoss, "softmax": SoftmaxLoss}


def find_loss(loss: str | Loss | LossFunction) -> Loss:
    """A loss by its name, a loss as it is, or a function of one sample's output and target."""
    if isinstance(loss, Loss):
        return loss
    if isinstance(loss, str):
        if loss not in NAMED:
            raise ValueError(f"there is no loss '{loss}'; known: {', '.join(NAMED)}, or give a function")
        return NAMED[loss]()
    if not callable(loss):
        raise TypeError(f"the loss must be a name or a function of one output and its target, not {loss!r}")
    return FunctionLoss(loss)


def rows(output: Tensor) -> Tensor:
    """The outputs of each sample as one row, in double precision."""
    return wide(output).reshape(output.shape[0], -1)


def as_output(target: Tensor, output: Tensor) -> Tensor:
    """The target in the shape of the output. Broadcasting would pair outputs with targets of other samples."""
    one_each = output[0].numel() == 1 and target.ndim >= 1 and target.numel() == output.shape[0] == target.shape[0]
    if target.shape != output.shape and not one_each:
        raise ValueError(f"the targets are {shape(target)}, but the outputs are {shape(output)}")
    return target.reshape(output.shape)


def shape(tensor: Tensor) -> str:
    """The shape, as messages say it."""
    return " x ".join(str(size) for size in tensor.shape) or "a single number"
