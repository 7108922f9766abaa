"""Tables of any kind as the library's frames: views of their memory wherever their types allow."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from ignd import _core

_UNITS = {"s": 1, "ms": 10**3, "us": 10**6, "ns": 10**9}


def column_names(table: Any) -> list[str] | None:
    """The names of a table's columns; None if it has none, as an array has none."""
    if isinstance(table, Mapping):
        return [str(name) for name in table]
    names = getattr(table, "columns", None)
    if names is None:
        names = getattr(table, "column_names", None)
    return None if names is None or callable(names) else [str(name) for name in names]


def is_frame(table: Any) -> bool:
    """Whether a table has columns of its own names and types."""
    return isinstance(table, Mapping) or hasattr(table, "__arrow_c_stream__") or hasattr(table, "iloc")


def to_frame(table: Any, names: Sequence[str] | None = None) -> _core.Frame:
    """A frame of a pandas, Polars or Arrow table, a dict of columns, or a matrix.

    >>> frame = to_frame({"size": [80.0, 70.0], "town": ["Ulm", None]})
    >>> len(frame), frame.columns
    (2, ['size', 'town'])
    """
    frame = _core.Frame()
    if hasattr(table, "iloc"):  # pandas, whose own way to Arrow needs pyarrow
        for k, name in enumerate(table.columns):
            add_column(frame, str(name), table.iloc[:, k])
    elif hasattr(table, "__arrow_c_stream__"):
        frame.add_arrow(table.__arrow_c_stream__())
    elif isinstance(table, Mapping):
        for name, column in table.items():
            add_column(frame, str(name), column)
    else:
        _add_matrix(frame, np.asarray(table), names)
    return frame


def _add_matrix(frame: _core.Frame, matrix: np.ndarray, names: Sequence[str] | None) -> None:
    if matrix.ndim != 2:
        raise _core.InvalidArgument(f"a table must have two dimensions, but this array has {matrix.ndim}")
    for k in range(matrix.shape[1]):
        add_column(frame, names[k] if names is not None else f"x{k}", matrix[:, k])


def add_column(frame: _core.Frame, name: str, column: Any, *, categories: bool = False) -> None:
    """Appends a column of numbers, texts, truth values or dates."""
    if hasattr(column, "cat") and hasattr(column.cat, "codes"):
        codes = np.ascontiguousarray(column.cat.codes, dtype=np.int64)
        frame.add_codes(name, codes, list(column.cat.categories))
        return
    values = _array(column)
    if values.ndim != 1:
        raise _core.InvalidArgument(f"the column '{name}' has {values.ndim} dimensions instead of one")
    kind = values.dtype.kind
    if categories or kind in "OUST":
        frame.add_texts(name, np.strings.decode(values).tolist() if kind == "S" else values.tolist(), categories)
    elif kind == "b":
        frame.add_codes(name, values.astype(np.int64), ["False", "True"])
    elif kind == "M":
        _add_times(frame, name, values)
    elif kind == "c":
        raise _core.InvalidArgument(f"the column '{name}' holds complex numbers. Complex data not supported")
    elif kind in "fiu":
        frame.add_numbers(name, _readable(values))
    elif kind == "m":
        frame.add_numbers(name, _seconds(values))
    else:
        raise _core.InvalidArgument(f"the column '{name}' has the type {values.dtype}, which is neither of numbers, "
                                    "texts nor dates")


def _array(column: Any) -> np.ndarray:
    dtype = getattr(column, "dtype", None)
    if hasattr(column, "to_numpy") and dtype is not None and not isinstance(dtype, np.dtype):
        numeric = getattr(dtype, "kind", "O")
        zone = getattr(dtype, "tz", None)
        if zone is not None:
            return np.asarray(column.dt.tz_convert("UTC").dt.tz_localize(None))
        if numeric in "fiu" and hasattr(column, "isna"):
            return np.asarray(column.to_numpy(dtype=np.float64, na_value=np.nan))
        return np.asarray(column, dtype=object)
    return np.asarray(column)


def _readable(values: np.ndarray) -> np.ndarray:
    """Itself, unless the library does not know its type or byte order."""
    known = values.dtype.isnative and (values.dtype.kind != "f" or values.dtype.itemsize in (4, 8))
    aligned = values.strides[0] % values.dtype.itemsize == 0 and values.flags.aligned
    return values if known and aligned else values.astype(np.float64)


def _seconds(values: np.ndarray) -> np.ndarray:
    seconds = values.astype("timedelta64[ns]").astype(np.int64) / 1e9
    return np.where(np.isnat(values), np.nan, seconds)


def _add_times(frame: _core.Frame, name: str, values: np.ndarray) -> None:
    unit, count = np.datetime_data(values.dtype)
    if unit not in _UNITS or count != 1:
        values, unit = values.astype("datetime64[s]"), "s"
    frame.add_times(name, values.view(np.int64), _UNITS[unit])
