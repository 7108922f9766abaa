"""Training on tables and files, as `ignd train` does."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

from ignd import _core
from ignd._frames import add_column, is_frame, to_frame

Progress = Callable[[float], object]

# What Python reserves, and what scikit-learn takes for a method or for a fitted attribute.
_PYTHON_NAMES = {"lambda": "damping", "adaptive-lambda": "adaptive_damping", "transform": "step_transform"}


class Option(NamedTuple):
    """An option of training: a keyword of `train` and of the estimators."""

    keyword: str
    name: str
    kind: str
    default: Any
    choices: list[str]
    help: str
    for_frames: bool


def _options() -> dict[str, Option]:
    found = {}
    for key in _core.train_options():
        keyword = _PYTHON_NAMES.get(key["name"], key["name"].replace("-", "_"))
        found[keyword] = Option(keyword, key["name"], key["kind"], key["default"], key["choices"], key["help"],
                                key["for_frames"])
    return found


OPTIONS = _options()


def option_table() -> str:
    """The keywords of `train` and of the estimators as a table in Markdown.

    >>> print(option_table().splitlines()[0])
    | keyword | default | meaning |
    """
    lines = ["| keyword | default | meaning |", "|---|---|---|"]
    for option in OPTIONS.values():
        default = "" if option.default is None else f"`{option.default!r}`"
        meaning = option.help if not option.choices else f"{option.help} ({', '.join(c for c in option.choices if c)})"
        lines.append(f"| `{option.keyword}` | {default} | {meaning} |".replace("|  |", "| |"))
    return "\n".join(lines)


def settings_of(options: Mapping[str, Any]) -> dict[str, str]:
    """The library's settings for keywords; those that have their default are left out."""
    settings = {}
    for keyword, value in options.items():
        option = OPTIONS.get(keyword)
        name = option.name if option is not None else keyword.replace("_", "-")
        if value is None or (option is not None and type(value) is type(option.default) and value == option.default):
            continue
        settings[name] = _text_of(value)
    return settings


def _text_of(value: Any) -> str:
    """A value as the tool takes it: names of columns are separated by commas."""
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, list | tuple):
        return ",".join('"' + str(name).replace('"', '""') + '"' for name in value)
    return str(value)


class Report(NamedTuple):
    """What became of a training run."""

    status: str
    rate: float
    epochs: int
    kept_epoch: int
    validation: dict[str, float]
    test: dict[str, float]
    test_intervals: dict[str, tuple[float, float]]


def train(
    data: Any, target: str | None = None, *, progress: Progress | None = None, **options: Any
) -> tuple[_core.ModelFile, Report]:
    """Trains a model on a table in memory, or on a file or a folder, as `ignd train` does with the same options.

    Returns the model and a report. `progress` is called now and then with the share of the run that is done, and ends
    the run if it returns False; Ctrl-C does the same.

    >>> import numpy as np
    >>> x = np.linspace(-1, 1, 200)
    >>> model, report = train({"x": x, "y": 2 * x}, "y", model="linear", lr=0.1, optimizer="ignd")
    >>> report.test["r2"] > 0.99
    True
    >>> float(model.predict_row({"x": "0.5"})["value"]) > 0.9
    True
    """
    if target is not None:
        options["target"] = target
    settings = settings_of(options)
    if is_frame(data):
        model, report = _core.train_frame(to_frame(data), settings, progress)
    elif isinstance(data, str | os.PathLike):
        model, report = _core.train_file(os.fspath(data), settings, progress)
    else:
        raise TypeError(f"data must be a table with named columns or a path, not a {type(data).__name__}")
    return model, Report(**report)


def load(path: str | os.PathLike[str]) -> _core.ModelFile:
    """Loads a model of a table, of images or of texts, which the tool or Python saved."""
    return _core.ModelFile.load(os.fspath(path))


__all__ = ["OPTIONS", "Option", "Progress", "Report", "add_column", "load", "option_table", "settings_of", "train"]
