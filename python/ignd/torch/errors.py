"""The errors of this package, and the check of numbers that every step makes."""

from __future__ import annotations

import torch
from torch import Tensor


class UnsupportedModel(ValueError):
    """The model has something whose sensitivities cannot be had. Nothing has changed."""


class NonConvexLoss(ValueError):
    """Gauss-Newton needs a loss that is convex in the outputs. Nothing has changed."""


class SingularSystem(ArithmeticError):
    """The linear system of a step is singular to rounding: use a larger damping. Nothing has changed."""


class NotFinite(ArithmeticError):
    """A number of the step is infinite or NaN. The weights are as they were before the step."""


def check_finite(numbers: dict[str, Tensor]) -> None:
    """One look at all of them; only if that fails does it ask which one it was."""
    sums = torch.stack([number.sum(dtype=wide_type(number)) for number in numbers.values()])
    if bool(torch.isfinite(sums.sum())):
        return
    for name, number in numbers.items():
        if not bool(torch.isfinite(number).all()):
            raise NotFinite(f"the {name} of this step is not finite; the weights have not changed")


def wide_type(like: Tensor) -> torch.dtype:
    """Double precision, except on Apple's GPUs, which have none."""
    return torch.float32 if like.device.type == "mps" else torch.float64


def wide(number: Tensor) -> Tensor:
    """The number in double precision where the device has it."""
    return number.to(wide_type(number))
