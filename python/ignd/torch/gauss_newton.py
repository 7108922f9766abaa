"""Exact damped Gauss-Newton steps of whole batches, with an adaptive damping (Levenberg-Marquardt)."""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor, nn
from torch.nn import Parameter

from .blocks import Direction, Jacobian, slices
from .capture import Inputs, batch_size, call, map_tensors
from .errors import NotFinite, SingularSystem, check_finite, wide, wide_type
from .losses import Loss, LossFunction
from .optimizers import Parameters, SampleOptimizer, StepInfo, shares
from .system import Root, solve_batch, solve_parameters


@dataclass(frozen=True)
class GaussNewtonInfo(StepInfo):
    """One exact step."""

    damping: float  # lambda of the step that was accepted, or of the last one tried
    gain: float | None  # actual decrease of the objective over the predicted one; None if it was not measured
    accepted: bool  # if not, the weights are as they were before
    tries: int  # systems solved


@dataclass(frozen=True)
class Group:
    """What a system needs to know of a parameter group."""

    parameters: list[Parameter]
    rate: float
    decay: float


class System(ABC):
    """The Gauss-Newton system of a batch, to be solved with one damping after the other."""

    def __init__(self, groups: list[Group]) -> None:
        self.groups = groups

    @abstractmethod
    def step(self, damping: float) -> tuple[Direction, float]:
        """The change of the weights, and the decrease of the objective that the quadratic model predicts."""

    def _decay_decrease(self, change: Direction) -> float:
        """The part of the decrease that comes from the weight decay."""
        total = 0.0
        for group in self.groups:
            if group.decay > 0:
                moves = [(wide(p), wide(change[p])) for p in group.parameters if p in change]
                total -= group.decay * sum(float(((w + delta / 2) * delta).sum()) for w, delta in moves)
        return total


class GramSystem(System):
    """With a row for each sample and output: the weights come in through products of sensitivities alone."""

    def __init__(self, groups: list[Group], jacobian: Jacobian, root: Root, like: Tensor, memory: int) -> None:
        super().__init__(groups)
        self.jacobian, self.root, self.like = jacobian, root, like
        self.grams = [wide(jacobian.gram(set(group.parameters), like, memory)) for group in groups]
        self.outputs_of_weights = [  # J w, for the weights that decay
            wide(jacobian.along({p: p.detach() for p in group.parameters})) if group.decay > 0 else None
            for group in groups
        ]

    def traces(self) -> float:
        """The trace of C G, which bounds the curvature."""
        diagonal = torch.stack([gram.diagonal() for gram in self.grams]).sum(0).reshape(self.root.y.shape)
        root = self.root.root
        return float((root.square() if root.ndim == 2 else root.square().sum(2)).mul(diagonal).sum())

    def step(self, damping: float) -> tuple[Direction, float]:
        factors = [1 / (damping + group.decay) for group in self.groups]  # of M^-1
        z = self._solve(factors)
        check_finite({"coefficient": z})
        combined = self.jacobian.combine(z.to(self.like.dtype))
        change: Direction = {}
        moved = torch.zeros_like(z)  # what the outputs change by, to first order
        parts = zip(self.groups, self.grams, self.outputs_of_weights, factors, strict=True)
        for group, gram, of_weights, factor in parts:
            moved -= group.rate * factor * (gram @ z.reshape(-1)).view_as(z)
            if of_weights is not None:
                moved -= group.rate * factor * group.decay * of_weights
            for p in group.parameters:
                if p in combined:
                    direction = combined[p]
                    if group.decay > 0:
                        direction = direction.to_dense() if direction.is_sparse else direction
                        direction = direction.add(p, alpha=group.decay)
                    change[p] = direction * (-group.rate * factor)
        promised = -float((self.root.slope() * moved).sum() + self.root.curve(moved) / 2)
        return change, promised + self._decay_decrease(change)

    def _solve(self, factors: list[float]) -> Tensor:
        gram, u = self.grams[0] * factors[0], None
        for other, factor in zip(self.grams[1:], factors[1:], strict=True):
            gram += other * factor
        for group, of_weights, factor in zip(self.groups, self.outputs_of_weights, factors, strict=True):
            if of_weights is not None:
                u = of_weights * (group.decay * factor) + (0 if u is None else u)
        return solve_batch(gram, self.root, u)


class ParameterSystem(System):
    """With a row for each parameter: sums over the samples, however many there are."""

    def __init__(self, groups: list[Group]) -> None:
        super().__init__(groups)
        self.parameters = [p for group in groups for p in group.parameters]
        self.like = wide(self.parameters[0].detach())
        self.rates = self._spread([group.rate for group in groups])
        self.decays = self._spread([group.decay for group in groups])
        size = len(self.decays)
        self.matrix = self.like.new_zeros(size, size)
        self.gradient = self.like.new_zeros(size)

    def add(self, jacobian: Jacobian, root: Root, memory: int) -> None:
        """Adds some samples, as many at once as the memory holds rows of."""
        for part in slices(jacobian.samples, max(1, memory // (24 * jacobian.outputs * len(self.decays)))):
            some = root.of_part(part)
            rows = jacobian.dense(self.parameters, part)
            self.gradient += some.slope().reshape(-1) @ rows
            rows = some.times_rows(rows)
            self.matrix += rows.mT @ rows

    def step(self, damping: float) -> tuple[Direction, float]:
        weights = torch.cat([wide(p.detach()).flatten() for p in self.parameters])
        d = solve_parameters(self.matrix, self.gradient + self.decays * weights, self.decays + damping)
        moved = self.rates * d
        check_finite({"step": moved})
        promised = -float(self.gradient @ moved + moved @ self.matrix @ moved / 2)
        parts = torch.split(moved, [p.numel() for p in self.parameters])
        change = {p: part.view_as(p).to(p.dtype) for p, part in zip(self.parameters, parts, strict=True)}
        return change, promised + self._decay_decrease(change)

    def _spread(self, values: list[float]) -> Tensor:
        sizes = [sum(p.numel() for p in group.parameters) for group in self.groups]
        return torch.cat([self.like.new_full((size,), value) for size, value in zip(sizes, values, strict=True)])


class ExactGaussNewton(SampleOptimizer):
    """The damped Gauss-Newton step of the whole batch, exactly: Levenberg-Marquardt for any convex loss.

    The step d minimises the quadratic model of the mean loss plus damping / 2 ||d||^2, and the weights move by lr * d.
    The linear system has a row per sample and output, or per parameter, whichever is smaller; J is not written out in
    the first case. With adaptive=True, a step that does not lower the batch's objective is undone and tried again with
    a larger damping, up to max_tries times, and the damping follows how well the model predicted the decrease.
    weight_decay is part of the objective: weight_decay / 2 ||w||^2.

    >>> model = torch.nn.Linear(1, 1).double()
    >>> optimizer = ExactGaussNewton(model, "squared", damping=1e-9)
    >>> x = torch.tensor([[0.0], [1.0], [2.0]], dtype=torch.float64)
    >>> info = optimizer.step(x, 3 * x + 1)  # a linear model is fitted by one step
    >>> round(model.weight.item(), 6), round(model.bias.item(), 6), info.accepted
    (3.0, 1.0, True)
    """

    def __init__(
        self, model: nn.Module, loss: str | Loss | LossFunction, lr: float = 1.0, *, params: Parameters | None = None,
        damping: float = 1e-3, adaptive: bool = True, max_tries: int = 10, weight_decay: float = 0.0,
        eps_c: float | None = None, chunk_size: int | None = None, memory: int = 2**32,
    ) -> None:
        if max_tries < 1 or (chunk_size is not None and chunk_size < 1):
            raise ValueError("max_tries and chunk_size must be at least 1")
        if not 0 < damping < math.inf:
            raise ValueError(f"damping is {damping}, but must be positive and finite")
        self.damping, self.adaptive, self.max_tries, self.chunk_size = damping, adaptive, max_tries, chunk_size
        self.growth = 2.0  # of the damping when a step is rejected; doubles with each one in a row
        super().__init__(model, loss, params, {"lr": lr, "weight_decay": weight_decay}, eps_c, memory)

    def _numbers(self) -> dict[str, Any]:
        return {**super()._numbers(), "damping": self.damping, "growth": self.growth}

    @torch.no_grad()
    def step(  # type: ignore[override]
        self, inputs: Inputs, targets: Tensor, weights: Tensor | None = None
    ) -> GaussNewtonInfo:
        """Learns from a batch: inputs with the samples along dimension 0 (a tensor, a tuple or a dict of them).

        A sample of weight 2 counts as two. Raises before anything has changed.
        """
        if self.adaptive:
            self._refuse_dropout()
        share = self._shares(inputs, targets, weights)
        system, loss, floor = self._system(inputs, targets, share)
        info = self._search(system, inputs, targets, share, loss, floor)
        self.steps += 1
        return info

    def _search(
        self, system: System, inputs: Inputs, targets: Tensor, share: Tensor, loss: float, floor: float
    ) -> GaussNewtonInfo:
        """Solves with the damping as it is, then with larger ones until a step is accepted."""
        before = [(p, p.detach().clone()) for group in system.groups for p in group.parameters]
        objective = loss + self._penalty(system.groups)
        rounding = torch.finfo(before[0][1].dtype).eps * abs(objective)
        step, samples = self.steps + 1, share.shape[0]
        gain = None
        for tries in range(1, self.max_tries + 1):
            used = max(self.damping, floor)
            try:
                change, promised = system.step(used)
            except (SingularSystem, NotFinite):
                if not self.adaptive:
                    raise
                self._grow(used)
                continue
            for p, delta in change.items():
                p.add_(delta)
            if not self.adaptive:
                return GaussNewtonInfo(step, samples, loss, used, None, True, tries)
            kept = False
            try:
                decrease = objective - self._objective(system.groups, inputs, targets, share)
                measured = promised > rounding  # what is left to gain can be told from rounding
                kept = decrease > 0 or (decrease == 0 and not measured)
            finally:
                if not kept:
                    for p, value in before:
                        p.copy_(value)
            gain = decrease / promised if measured else None
            if kept and gain is not None:
                self._follow(used, gain)
            if kept or not measured:
                return GaussNewtonInfo(step, samples, loss, used, gain, kept, tries)
            self._grow(used)
        return GaussNewtonInfo(step, samples, loss, used, gain, False, tries)

    def _grow(self, used: float) -> None:
        self.damping = min(used * self.growth, 1e12)
        self.growth = min(2 * self.growth, 1e6)

    def _follow(self, used: float, gain: float) -> None:
        """Nielsen's rule: a third for a perfect prediction, the same at a gain of one half, twice at zero."""
        self.damping = min(max(used * max(1 / 3, 1 - (2 * gain - 1) ** 3), 1e-12), 1e12)
        self.growth = 2.0

    def _system(self, inputs: Inputs, targets: Tensor, share: Tensor) -> tuple[System, float, float]:
        """The system on its smaller side, the mean loss, and the least damping that rounding allows."""
        groups = [
            Group([p for p in group["params"] if p.requires_grad], group["lr"], group["weight_decay"])
            for group in self.param_groups
        ]
        groups = [group for group in groups if group.parameters]
        samples, size = share.shape[0], sum(p.numel() for group in groups for p in group.parameters)
        by_samples: ParameterSystem | None = None
        parts: list[Jacobian] = []
        roots, loss = [], 0.0
        for part in slices(samples, self._chunk(samples, size)):
            done, at, jacobian = self._sensitivities(map_tensors(lambda t: t[part], inputs), targets[part])
            if part.start == 0:
                rows, like = samples * jacobian.outputs, done.flat.detach()
                self._check_memory(groups, rows, size)
                by_samples = ParameterSystem(groups) if size < rows else None
            root = Root.of(at.curvature, at.slope, self.eps_c).of_shares(share[part])
            loss += float((share[part] * at.value).sum())
            if by_samples is not None:
                by_samples.add(jacobian, root, self.memory // 4)
            else:
                parts.append(jacobian)
                roots.append(root)
        if by_samples is not None:
            check_finite({"sensitivity": by_samples.matrix.diagonal()})
            return by_samples, loss, 0.0
        system = GramSystem(groups, Jacobian.joined(parts), Root.joined(roots), like, self.memory // 4)
        check_finite({"sensitivity": torch.stack([gram.diagonal() for gram in system.grams])})
        # A damping below the rounding of the Gram matrix would be lost in it.
        return system, loss, 4 * torch.finfo(like.dtype).eps * system.traces() if self.adaptive else 0.0

    def _chunk(self, samples: int, size: int) -> int:
        """How many samples go through the model at once. Those of a Gram matrix stay together unless asked."""
        if self.chunk_size is not None:
            return self.chunk_size
        return max(1, min(samples, self.memory // (32 * size))) if size < samples else samples

    def _check_memory(self, groups: list[Group], rows: int, size: int) -> None:
        needed = min((len(groups) + 3) * rows * rows, 3 * size * size) * 8
        if needed > self.memory:
            raise ValueError(
                f"a step with {rows} outputs in the batch and {size} parameters takes {needed / 1e6:.3g} MB, more "
                f"than the {self.memory / 1e6:.3g} MB allowed; use smaller batches or a larger memory"
            )

    def _shares(self, inputs: Inputs, targets: Tensor, weights: Tensor | None) -> Tensor:
        samples = batch_size(inputs)
        if targets.shape[:1] != (samples,):
            raise ValueError(f"there are {samples} samples, but the targets are {tuple(targets.shape)}")
        return shares(weights, torch.zeros(samples, dtype=wide_type(targets), device=targets.device))

    def _objective(self, groups: list[Group], inputs: Inputs, targets: Tensor, share: Tensor) -> float:
        total = self._penalty(groups)
        for part in slices(share.shape[0], self.chunk_size or share.shape[0]):
            output = call(self.model, map_tensors(lambda t: t[part], inputs))
            total += float((share[part] * self.loss.values(output, targets[part])).sum())
        return total if math.isfinite(total) else math.inf

    def _penalty(self, groups: list[Group]) -> float:
        return sum(
            group.decay / 2 * float(wide(p).square().sum()) for group in groups if group.decay for p in group.parameters
        )

    def _refuse_dropout(self) -> None:
        for name, layer in self.model.named_modules():
            if isinstance(layer, nn.modules.dropout._DropoutNd) and layer.training and layer.p > 0:
                raise ValueError(
                    f"'{name}' draws another network at each evaluation, so that a step cannot be judged; put it into "
                    "eval() mode or use adaptive=False"
                )
