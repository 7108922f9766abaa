"""Learning from one example at a time, in river's habit."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from ignd import _core
from ignd._frames import add_column, to_frame


def _settings(options: Mapping[str, Any]) -> dict[str, str]:
    given = {name: value for name, value in options.items() if value is not None}
    return {name: str(value).lower() if isinstance(value, bool) else str(value) for name, value in given.items()}


_UNSEEN = "?"  # a class that the stream has not shown yet


class _Online:
    """What both online learners share."""

    _learner: _core.OnlineLearner

    def __init__(
        self,
        target: str = "target",
        *,
        bits: int = 18,
        loss: str | None = None,
        optimizer: str | None = None,
        schedule: str | float | None = None,
        l2: float | None = None,
        centre: bool = True,
    ) -> None:
        options = {"bits": bits, "loss": loss, "optimizer": optimizer, "schedule": schedule, "l2": l2,
                   "centre": centre}
        self._learner = _core.OnlineLearner.make(target, _settings(options))

    def learn_one(self, x: dict[str, Any], y: Any, w: float = 1) -> None:
        """Learns an example: a dict of numbers, texts and None, its label, and its importance.

        The keys of the first example are the columns. In later ones, a key that is not there is a missing value, and
        one that the first had not is ignored, with a warning for the first of them.
        """
        self._learner.learn(x, y, w)

    def learn_many(self, X: Any, y: Any, w: ArrayLike | None = None) -> None:  # noqa: N803
        """Learns the rows of a table in their order, exactly like a loop of `learn_one`."""
        labels = _core.Frame()
        add_column(labels, "label", _labels(y))
        weights = None if w is None else np.ascontiguousarray(w, dtype=np.float64)
        self._learner.learn_many(to_frame(X), labels, weights)

    def learn_file(self, path: str | os.PathLike[str]) -> int:
        """Learns a file as `ignd train --stream` does; returns the number of bad rows that were skipped."""
        return int(self._learner.learn_file(os.fspath(path)))

    def save(self, path: str | os.PathLike[str]) -> None:
        """Writes the model for `load`, `ignd predict` and `ignd train --stream --resume`."""
        self._learner.save(os.fspath(path))

    @classmethod
    def load(cls, path: str | os.PathLike[str]) -> Any:
        """Continues bit by bit where a model was saved, by Python or by the tool."""
        made = cls.__new__(cls)
        made._learner = _core.OnlineLearner.load(os.fspath(path))
        return made

    def __getstate__(self) -> bytes:
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder) / "model.ignd"
            self.save(path)
            return path.read_bytes()

    def __setstate__(self, state: bytes) -> None:
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder) / "model.ignd"
            path.write_bytes(state)
            self._learner = _core.OnlineLearner.load(str(path))

    @property
    def progressive(self) -> dict[str, Any]:
        """Scores so far; every example was predicted before it was learned from."""
        return dict(self._learner.statistics)

    @property
    def columns(self) -> list[str]:
        """The columns; empty before the first example."""
        return list(self._learner.columns)

    @property
    def loss(self) -> str:
        """The loss in use."""
        return str(self._learner.loss)


def _labels(y: Any) -> Any:
    values = np.asarray(y)
    return values.astype(np.int64) if values.dtype.kind == "b" else values


class OnlineRegressor(_Online):
    """Predicts numbers from a stream of examples, whose features may have any scale.

    >>> model = OnlineRegressor()
    >>> for k in range(500):
    ...     model.learn_one({"size": 30 + k % 100, "town": "Ulm"}, 12 * (30 + k % 100) + 100)
    >>> round(model.predict_one({"size": 50, "town": "Ulm"}))
    700
    >>> model.progressive["examples"]
    500
    """

    def __init__(self, target: str = "target", *, loss: str = "squared", **options: Any) -> None:
        super().__init__(target, loss=loss, **options)

    def predict_one(self, x: dict[str, Any]) -> float:
        """Predicts without learning."""
        return float(self._learner.predict(x)[0])

    def predict_many(self, X: Any) -> np.ndarray:  # noqa: N803
        """Predicts the rows of a table."""
        return np.array([made[0] for made in self._learner.predict_many(to_frame(X))])


class OnlineClassifier(_Online):
    """Tells classes apart in a stream of examples. The classes may be truth values, numbers or texts.

    There are two of them; with `loss="softmax"` any number, which may turn up at any time.

    >>> model = OnlineClassifier()
    >>> for k in range(200):
    ...     model.learn_one({"x": k % 7, "y": k % 2}, "odd" if k % 2 else "even")
    >>> model.predict_one({"x": 3, "y": 1})
    'odd'
    >>> model.predict_proba_one({"x": 3, "y": 1})["odd"] > 0.8
    True
    """

    def __init__(self, target: str = "target", *, loss: str = "logistic", **options: Any) -> None:
        super().__init__(target, loss=loss, **options)
        self._names: dict[str, Any] = {}

    def learn_one(self, x: dict[str, Any], y: Any, w: float = 1) -> None:
        """Learns an example, its class and its importance."""
        if isinstance(y, bool | np.bool_):
            y = int(y)
        super().learn_one(x, y, w)

    def predict_one(self, x: dict[str, Any]) -> Any:
        """The more likely class; None before there are two."""
        _, label, _ = self._learner.predict(x)
        return _class_named(label)

    def predict_proba_one(self, x: dict[str, Any]) -> dict[Any, float]:
        """The probabilities of the classes."""
        return self._probabilities(self._learner.predict(x)[2])

    def predict_many(self, X: Any) -> np.ndarray:  # noqa: N803
        """The more likely class of each row of a table."""
        return np.array([_class_named(made[1]) for made in self._learner.predict_many(to_frame(X))])

    def predict_proba_many(self, X: Any) -> np.ndarray:  # noqa: N803
        """The probabilities of the classes of each row, in the order of `classes`; NaN before there are any."""
        made = [of_row[2] for of_row in self._learner.predict_many(to_frame(X))]
        return np.array([of_row or [np.nan, np.nan] for of_row in made])

    @property
    def classes(self) -> list[Any]:
        """Those seen so far in increasing order, of two the negative one first."""
        return [_class_named(name) for name in self._learner.classes if name != _UNSEEN]

    def _probabilities(self, made: list[float]) -> dict[Any, float]:
        classes = self.classes
        if len(classes) < 2:
            return dict.fromkeys(classes, 1.0)
        return dict(zip(classes, made, strict=True))


def _class_named(label: str) -> Any:
    """A class as it was given: a number, or a text that is not a number."""
    if label in ("", _UNSEEN):
        return None
    try:
        number = float(label)
    except ValueError:
        return label
    return int(number) if number.is_integer() else number
