"""Training that goes on, part by part, at a constant rate."""

from __future__ import annotations

from typing import Any

import numpy as np

from ignd import _core
from ignd._library import BatchTrainer, Trainer

_RATES_OF_ROOTS = 0.001  # of transforms that divide by a root, such as Adam's
_RATE = 0.1


class PartialTraining:
    """Trains the model of a file further. It can be pickled: then it continues bit by bit."""

    def __init__(self, start: _core.ModelFile, options: dict[str, Any]) -> None:
        self._file = start
        self._options = options
        self._trainer = self._make(start.model())

    def _make(self, model: Any) -> Trainer | BatchTrainer:
        options = self._options
        rule, transform = options["rule"], options["step_transform"]
        optimizer: str | tuple[str, str] = options["optimizer"] or "adam"
        if rule or transform:
            optimizer = (rule or "gauss-newton", transform or "plain")
        parts = _core.optimizer_parts(optimizer) if isinstance(optimizer, str) else optimizer
        has_roots = parts[1].split(":")[0] in ("adagrad", "rmsprop", "adam", "adamw")
        rate = options["lr"] if options["lr"] not in (None, "auto") else _RATES_OF_ROOTS if has_roots else _RATE
        common = {"loss": self._file.loss, "optimizer": optimizer, "schedule": float(rate), "l2": options["l2"]}
        batch = options["batch"] or 0
        if batch == 0 and model.outputs == 1:
            return Trainer(model, **common)
        return BatchTrainer(model, **common, size=max(batch, 1), mode=options["batch_mode"],
                            damping=options["damping"], adaptive=options["adaptive_damping"])

    def learn(self, frame: _core.Frame, weights: np.ndarray | None) -> None:
        """Learns the rows of a frame, which has the target's column."""
        x, y = self._file.encode_frame(frame)
        self._trainer.learn(x, y, weights)
        if self._trainer.status != "learned" and self._trainer.status != "zero weight":
            raise _core.LearningEnded(f"{self._trainer.status}; choose a lower lr")

    def model(self) -> _core.ModelFile:
        """The model as it is now."""
        model: Any = self._trainer.snapshot()
        return self._file.with_model(model)

    def __getstate__(self) -> dict[str, Any]:
        return {"file": self._file, "options": self._options, "state": self._trainer._trainer.state()}

    def __setstate__(self, saved: dict[str, Any]) -> None:
        self._file, self._options = saved["file"], saved["options"]
        self._trainer = self._make(self._file.model())
        self._trainer._trainer.restore(saved["state"])
