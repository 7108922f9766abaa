"""Training that goes on, part by part, at a constant rate."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from ignd import _core
from ignd._library import BatchTrainer, Model, Trainer, blend, make_model

_RATES_OF_ROOTS = 0.001  # of transforms that divide by a root, such as Adam's
_RATE = 0.1
_USUAL_BATCH = 16  # of a fitted ensemble


class PartialTraining:
    """Trains the model of a file further. It can be pickled: then it continues bit by bit.

    Several networks learn the same rows, each by itself, and the model is their mean. A fitted ensemble is one model
    and is trained as such, because what it has been blended from is no longer known.
    """

    def __init__(
        self, file: _core.ModelFile, networks: Sequence[Model], batch: int, options: Mapping[str, Any]
    ) -> None:
        self._file, self._batch, self._options = file, batch, dict(options)
        self._trainers = [self._make(network) for network in networks]

    @classmethod
    def begin(cls, frame: _core.Frame, settings: dict[str, str], options: Mapping[str, Any]) -> PartialTraining:
        """With the networks that `fit` would train, and columns read and scaled by these rows."""
        file, networks, batch = _core.begin_training(frame, settings)
        return cls(file, networks, batch, options)

    @classmethod
    def go_on(cls, fitted: _core.ModelFile, options: Mapping[str, Any]) -> PartialTraining:
        """With a fitted model."""
        model = fitted.model()
        return cls(fitted, [model], options["batch"] or (_USUAL_BATCH if model.members > 1 else 0), options)

    def _make(self, model: Model) -> Trainer | BatchTrainer:
        options = self._options
        rule, transform = options["rule"], options["step_transform"]
        optimizer: str | tuple[str, str] = options["optimizer"] or "adam"
        if rule or transform:
            optimizer = (rule or "gauss-newton", transform or "plain")
        parts = _core.optimizer_parts(optimizer) if isinstance(optimizer, str) else optimizer
        has_roots = parts[1].split(":")[0] in ("adagrad", "rmsprop", "adam", "adamw")
        rate = options["lr"] if options["lr"] not in (None, "auto") else _RATES_OF_ROOTS if has_roots else _RATE
        common: dict[str, Any] = {
            "loss": self._file.loss, "optimizer": optimizer, "schedule": float(rate), "l2": options["l2"]}
        if self._batch == 0 and model.reads_single_samples:
            return Trainer(model, **common)
        return BatchTrainer(model, **common, size=self._batch or 1, mode=options["batch_mode"],
                            damping=options["damping"], adaptive=options["adaptive_damping"])

    def learn(self, frame: _core.Frame, weights: np.ndarray | None) -> None:
        """Learns the rows of a frame, which has the target's column."""
        if weights is not None and any(trainer.model.outputs > 1 for trainer in self._trainers) and self._batch < 2:
            raise _core.InvalidArgument("weights of samples and classes have no effect on more than two classes learned "
                                        "one sample at a time; learn in batches, batch=32 for example")
        x, y = self._file.encode_frame(frame)
        for trainer in self._trainers:
            trainer.learn(x, y, weights)
            if trainer.status not in ("learned", "zero weight"):
                raise _core.LearningEnded(f"{trainer.status}; choose a lower lr")

    def model(self) -> _core.ModelFile:
        """The model as it is now."""
        networks = [trainer.snapshot() for trainer in self._trainers]
        made: Any = networks[0] if len(networks) == 1 else blend(networks)
        return self._file.with_model(made)

    def __getstate__(self) -> dict[str, Any]:
        return {"file": self._file, "options": self._options, "batch": self._batch,
                "networks": [(trainer.model.spec, trainer._trainer.state()) for trainer in self._trainers]}

    def __setstate__(self, saved: dict[str, Any]) -> None:
        specs = [spec for spec, _ in saved["networks"]]
        PartialTraining.__init__(self, saved["file"], [make_model(spec) for spec in specs], saved["batch"],
                                 saved["options"])
        for trainer, (_, state) in zip(self._trainers, saved["networks"], strict=True):
            trainer._trainer.restore(state)
