"""Models and trainers of samples: the library's own level."""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import ArrayLike

from ignd import _core

Model: TypeAlias = "_core.Model32 | _core.Model64"


def _is_double(dtype: Any) -> bool:
    kind = np.dtype(dtype)
    if kind == np.float64:
        return True
    if kind == np.float32:
        return False
    raise _core.InvalidArgument(f"weights can be float32 or float64, not {kind}")


def linear(features: int, *, bias: bool = True, dtype: Any = np.float32) -> Model:
    """f = w.x + b over dense features, which starts at zero."""
    return (_core.linear64 if _is_double(dtype) else _core.linear32)(features, bias)


def hashed_linear(bits: int, *, bias: bool = True, dtype: Any = np.float32) -> Model:
    """f = sum_k w[index[k] mod 2^bits] x_k + b over sparse features."""
    return (_core.hashed_linear64 if _is_double(dtype) else _core.hashed_linear32)(bits, bias)


def mlp(
    widths: Sequence[int], *, activation: str = "relu", outputs: int = 1, seed: int = 0, dtype: Any = np.float32
) -> Model:
    """A feedforward network: widths are the inputs and the hidden layers.

    >>> model = mlp([3, 8, 8])
    >>> model.predict(np.zeros((2, 3), np.float32))
    array([0., 0.])
    """
    return (_core.mlp64 if _is_double(dtype) else _core.mlp32)(list(widths), activation, outputs, seed)


def network(text: str, *, seed: int = 0, dtype: Any = np.float32) -> Model:
    """A network from its layers, such as 'values 8; dense 32; tanh; dense 1' (docs/networks.md)."""
    return (_core.network64 if _is_double(dtype) else _core.network32)(text, seed)


def make_model(spec: str, *, seed: int = 0, dtype: Any = np.float32) -> Model:
    """A model from its `spec`."""
    return (_core.make_model64 if _is_double(dtype) else _core.make_model32)(spec, seed)


def blend(networks: Sequence[Model], shares: Sequence[float] | None = None) -> Model:
    """The weighted sum of networks of equal widths as one model; their mean if no shares are given.

    >>> networks = [mlp([1, 4], seed=seed) for seed in (1, 2)]
    >>> x = np.ones((1, 1), np.float32)
    >>> mean = (networks[0].predict(x) + networks[1].predict(x)) / 2
    >>> bool(np.isclose(blend(networks).predict(x), mean)[0])
    True
    """
    makers: dict[type, Any] = {_core.Model32: _core.blend32, _core.Model64: _core.blend64}
    kinds = {type(network) for network in networks}
    if len(kinds) != 1:
        raise _core.InvalidArgument("a blend needs networks, all of them of float32 or all of float64")
    return makers[kinds.pop()](list(networks), shares or [1 / len(networks)] * len(networks))  # type: ignore[no-any-return]


def load_model(path: str | os.PathLike[str], *, dtype: Any = np.float32) -> Model:
    """A model that `Model.save`, or the C++ library's save_model, wrote."""
    return (_core.load_model64 if _is_double(dtype) else _core.load_model32)(os.fspath(path))


def _parts(optimizer: str | tuple[str, str]) -> tuple[str, str]:
    return _core.optimizer_parts(optimizer) if isinstance(optimizer, str) else optimizer


class _Trained:
    """What both trainers share."""

    _model: Model
    _trainer: Any

    def __init__(self, model: Model) -> None:
        self._model = model
        self._dtype = np.float64 if isinstance(model, _core.Model64) else np.float32

    def _inputs(self, x: ArrayLike) -> np.ndarray:
        return np.ascontiguousarray(x, dtype=self._dtype)

    def _arrays(self, x: ArrayLike, y: ArrayLike, weights: ArrayLike | None) -> tuple[np.ndarray | None, ...]:
        counts = None if weights is None else np.ascontiguousarray(weights, dtype=np.float64)
        return self._inputs(x), np.ascontiguousarray(y, dtype=np.float64), counts

    @property
    def model(self) -> Model:
        """The model that is trained; `snapshot` copies it with all weights up to date."""
        return self._model

    @property
    def steps(self) -> int:
        """Steps taken."""
        return int(self._trainer.steps)

    @property
    def status(self) -> str:
        """'learned', or what ended the run."""
        return str(self._trainer.status)

    def snapshot(self, *, averaged: bool = False) -> Model:
        """A copy of the model as it is now, or of the averaged iterate."""
        return self._trainer.snapshot(averaged)  # type: ignore[no-any-return]

    def save(self, path: str | os.PathLike[str]) -> None:
        """Writes all it takes to continue bit by bit."""
        Path(path).write_bytes(self._trainer.state())

    def restore(self, path: str | os.PathLike[str]) -> None:
        """Continues where `save` left off; needs the same model and options."""
        self._trainer.restore(Path(path).read_bytes())


class Trainer(_Trained):
    """Trains a model on one sample at a time: predicts first, then steps.

    `optimizer` is a name, or a pair of a step rule and a transform. `loss` is a name with options, or a `Loss` of your
    own. `schedule` is a rate, or a text such as 'cosine:rate=0.1,steps=5000'.

    >>> trainer = Trainer(linear(2), loss="squared", optimizer="ignd", schedule=1)
    >>> info = trainer.step([1, 0], 2)
    >>> info.prediction, round(info.loss.value, 3), info.status
    (0.0, 2.0, 'learned')
    >>> trainer.learn([[1, 0], [0, 1]], [2, 4]).step
    3
    """

    def __init__(
        self,
        model: Model,
        *,
        loss: str | _core.Loss = "squared",
        optimizer: str | tuple[str, str] = "ignd",
        schedule: str | float = 0.1,
        l2: float = 0,
        preconditioner: str = "identity",
        average_from: int = 0,
    ) -> None:
        super().__init__(model)
        kind: Any = _core.Trainer64 if isinstance(model, _core.Model64) else _core.Trainer32
        made = _core.make_loss(loss) if isinstance(loss, str) else loss
        self._loss = made  # which a loss in Python must not outlive
        self._trainer = kind(model, made, *_parts(optimizer), str(schedule), l2, preconditioner, average_from)

    def step(
        self, x: ArrayLike, y: float, weight: float = 1, *, index: ArrayLike | None = None
    ) -> _core.StepInfo:
        """Learns one sample; `index` names the features of a sparse one."""
        places = None if index is None else np.ascontiguousarray(index, dtype=np.uint32)
        return self._trainer.step(self._inputs(x), y, weight, places)  # type: ignore[no-any-return]

    def learn(self, x: ArrayLike, y: ArrayLike, weights: ArrayLike | None = None) -> _core.StepInfo:
        """Learns the rows of a matrix in their order, exactly like a loop of `step`; returns the last step."""
        return self._trainer.learn(*self._arrays(x, y, weights))  # type: ignore[no-any-return]


class BatchTrainer(_Trained):
    """Trains a model of one or several outputs on mini-batches.

    `mode` is 'average', of the samples' own steps, or 'exact': the damped Gauss-Newton step of the batch.

    >>> trainer = BatchTrainer(linear(1), mode="exact", damping=1e-6, schedule=1)
    >>> trainer.step([[1], [2]], [3, 5]).samples
    2
    >>> [round(float(w), 3) for w in trainer.snapshot().parameters]
    [2.0, 1.0]
    """

    def __init__(
        self,
        model: Model,
        *,
        loss: str | _core.Loss = "squared",
        optimizer: str | tuple[str, str] = "ignd",
        schedule: str | float = 0.1,
        l2: float = 0,
        preconditioner: str = "identity",
        average_from: int = 0,
        size: int = 32,
        mode: str = "average",
        damping: float = 1,
        adaptive: bool = False,
    ) -> None:
        super().__init__(model)
        kind: Any = _core.BatchTrainer64 if isinstance(model, _core.Model64) else _core.BatchTrainer32
        self._loss = loss
        self._trainer = kind(model, loss, *_parts(optimizer), str(schedule), l2, preconditioner, average_from, size,
                             mode, damping, adaptive)

    def step(self, x: ArrayLike, y: ArrayLike, weights: ArrayLike | None = None) -> _core.BatchStepInfo:
        """Takes one step with the rows of a matrix, at most `size` of them."""
        return self._trainer.step(*self._arrays(x, y, weights))  # type: ignore[no-any-return]

    def learn(self, x: ArrayLike, y: ArrayLike, weights: ArrayLike | None = None) -> _core.BatchStepInfo:
        """Learns the rows of a matrix in their order, `size` of them at a time; returns the last step."""
        return self._trainer.learn(*self._arrays(x, y, weights))  # type: ignore[no-any-return]

    @property
    def damping(self) -> float:
        """Of the next step."""
        return float(self._trainer.damping)
