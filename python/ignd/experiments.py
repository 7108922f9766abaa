"""Studies: run them, read their results into pandas, and draw them.

A study is a TOML file (docs/experiments.md), and its results are one SQLite file. `run` is `ignd reproduce`.
"""

from __future__ import annotations

import json
import os
import sqlite3
from collections.abc import Iterable
from contextlib import closing
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from ignd._tool import run_tool

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.axes import Axes

STORE = "results.sqlite"


def run(
    *studies: str | os.PathLike[str],
    out: str | os.PathLike[str] = "results",
    quick: bool = False,
    seeds: int | None = None,
    jobs: int | None = None,
    quiet: bool = False,
) -> Path:
    """Makes the runs of studies, by name or by file, that the folder lacks; returns the folder."""
    arguments = ["reproduce", *[os.fspath(study) for study in studies], "--out", os.fspath(out)]
    if quick:
        arguments.append("--quick")
    if seeds is not None:
        arguments += ["--seeds", str(seeds)]
    if jobs is not None:
        arguments += ["--jobs", str(jobs)]
    run_tool(arguments, quiet=quiet)
    return Path(out)


def _values(blob: bytes) -> np.ndarray:
    return np.frombuffer(blob, dtype="<f8")


def _settings(config: str) -> dict[str, str]:
    return dict(line.partition("=")[::2] for line in config.splitlines() if "=" in line)


def _extras(text: str) -> dict[str, Any]:
    """What a run has recorded besides its score: numbers, and matrices as arrays."""
    found: dict[str, Any] = {}
    for name, value in _settings(text).items():
        found[name] = _matrix(value) if value.startswith("[") else float(value)
    return found


def _matrix(text: str) -> np.ndarray:
    """Rows as the store has them; a run that has diverged may have numbers that are not finite."""
    return np.array(json.loads(text.replace("-nan", "nan").replace("nan", "NaN").replace("inf", "Infinity")))


def read(folder: str | os.PathLike[str] = "results") -> pd.DataFrame:
    """The runs of a results folder, a row each: its configuration's keys, status, scores and curves.

    `x`, `y` and `validation_y` are the curves, as arrays. What else a kind of run records has columns of its own, such
    as `log-loss`, or the matrix `K` of linear-quadratic control; `recorded_improvements` is one that a setting is called
    by, too.
    """
    import pandas as pd

    path = Path(folder) / STORE
    if not path.exists():
        raise FileNotFoundError(f"there is no {path}; run a study first, or name the folder of one")
    with closing(sqlite3.connect(f"{path.resolve().as_uri()}?mode=ro", uri=True)) as store:
        rows = store.execute("SELECT config, status, failed_at, score, validation, x, y, validation_y, seconds, "
                             "version, host, extras FROM run").fetchall()
    runs: list[dict[str, Any]] = []
    for config, status, failed_at, score, validation, x, y, validation_y, seconds, version, host, extras in rows:
        keys = _settings(config)
        recorded = {f"recorded_{name}" if name in keys else name: value for name, value in _extras(extras).items()}
        runs.append(recorded | keys | {
            "status": status, "failed_at": failed_at, "score": score, "validation_score": validation,
            "x": _values(x), "y": _values(y), "validation_y": _values(validation_y), "seconds": seconds,
            "version": version, "host": host})
    table = pd.DataFrame(runs)
    for name in set(table.columns) - {"x", "y", "validation_y"}:
        table[name] = _numeric(table[name])
    return table


def _numeric(column: pd.Series[Any]) -> pd.Series[Any]:
    import pandas as pd

    try:
        return pd.to_numeric(column)
    except (TypeError, ValueError):
        return column


def curves(runs: pd.DataFrame, by: str | Iterable[str] = "optimizer") -> pd.DataFrame:
    """Mean and deviation of the curves over the runs of each group, at the points that all of them have."""
    import pandas as pd

    names = [by] if isinstance(by, str) else list(by)
    parts = []
    for group, members in runs[runs["status"] == "finished"].groupby(names):
        length = min(len(y) for y in members["y"])
        y = np.stack([y[:length] for y in members["y"]])
        x = members["x"].iloc[0][:length]
        deviation = y.std(axis=0, ddof=1) if len(y) > 1 else np.zeros(length)
        part = pd.DataFrame({"x": x, "mean": y.mean(axis=0), "deviation": deviation, "runs": len(y)})
        values: dict[str, Any] = dict(zip(names, group, strict=True))
        part = part.assign(**values)
        parts.append(part)
    return pd.concat(parts, ignore_index=True) if parts else pd.DataFrame(columns=[*names, "x", "mean", "deviation"])


def plot(runs: pd.DataFrame, by: str | Iterable[str] = "optimizer", *, ax: Axes | None = None) -> Axes:
    """Draws the mean curve of each group, with one standard deviation."""
    import matplotlib.pyplot as plt

    axes = plt.gca() if ax is None else ax
    names = [by] if isinstance(by, str) else list(by)
    for group, curve in curves(runs, names).groupby(names):
        label = ", ".join(str(part) for part in group)
        axes.plot(curve["x"], curve["mean"], label=label)
        axes.fill_between(curve["x"], curve["mean"] - curve["deviation"], curve["mean"] + curve["deviation"], alpha=0.2)
    axes.legend()
    return axes
