"""scikit-learn's estimators over the pipeline of `ignd train`."""

from __future__ import annotations

import inspect
import numbers
import os
from collections.abc import Callable, Mapping
from typing import Any, NamedTuple, cast

import numpy as np
from numpy.typing import ArrayLike
from scipy.sparse import issparse
from sklearn.base import BaseEstimator, ClassifierMixin, RegressorMixin
from sklearn.utils import check_array, column_or_1d, compute_class_weight
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import _check_sample_weight, check_is_fitted, validate_data

from ignd import _core
from ignd._frames import add_column, column_names, is_frame, to_frame
from ignd._partial import PartialTraining
from ignd._tables import OPTIONS, Progress, Report, settings_of

# The target and the weights are arguments of fit, and its seed is scikit-learn's random_state.
_ARGUMENTS_OF_FIT = {"target", "weight", "seed", "text", "split_by", "split_time", "bad_rows", "positive"}
# scikit-learn splits test rows off itself.
_OTHER_DEFAULTS: dict[str, Any] = {"test": 0.0}


def _keywords() -> dict[str, Any]:
    known = {name: option for name, option in OPTIONS.items() if option.for_frames and name not in _ARGUMENTS_OF_FIT}
    defaults = {name: _OTHER_DEFAULTS.get(name, option.default) for name, option in known.items()}
    return defaults | {"random_state": None}


_DEFAULTS = _keywords()


def _with_signature(init: Callable[..., None]) -> Callable[..., None]:
    """Gives a constructor of keywords the signature that scikit-learn reads the parameters from."""
    keyword = inspect.Parameter.KEYWORD_ONLY
    parameters = [inspect.Parameter(name, keyword, default=default) for name, default in _DEFAULTS.items()]
    myself = inspect.Parameter("self", inspect.Parameter.POSITIONAL_OR_KEYWORD)
    init.__signature__ = inspect.Signature([myself, *parameters])  # type: ignore[attr-defined]
    return init


class ColumnImportance(NamedTuple):
    """How much worse a model predicts once a column is shuffled among the rows."""

    column: str
    increase: float  # of the measure: the RMSE, or the mean of another loss
    deviation: float | None  # over the shuffles; None of a single one


class _TableEstimator(BaseEstimator):  # type: ignore[misc]
    """What the regressor and the classifier share."""

    @_with_signature
    def __init__(self, **options: Any) -> None:
        unknown = [name for name in options if name not in _DEFAULTS]
        if unknown:
            raise TypeError(f"{type(self).__name__} has no parameter '{unknown[0]}'")
        for name, default in _DEFAULTS.items():
            setattr(self, name, options.get(name, default))

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = True
        tags.input_tags.string = True
        tags.input_tags.categorical = True
        tags.non_deterministic = False
        return tags

    def _settings(self) -> dict[str, str]:
        options = {name: getattr(self, name) for name in _DEFAULTS if name != "random_state"}
        options["class_weight"] = None if isinstance(self.class_weight, Mapping) else self.class_weight
        settings = settings_of(options)
        state = self.random_state
        if isinstance(state, np.random.RandomState):
            state = int(state.randint(1, 2**31 - 1))
        if state is not None:
            if not isinstance(state, numbers.Integral):
                raise ValueError(f"random_state is {state!r}, but must be a whole number, a RandomState or None")
            settings["seed"] = str(int(state))
        return settings

    def _read(self, X: Any, *, reset: bool) -> Any:  # noqa: N803
        """The table as it is, or an array of numbers or texts, checked as scikit-learn wants it."""
        if is_frame(X) and not issparse(X):
            names = column_names(X)
            if names is not None and len(names) == 0:
                raise ValueError("0 feature(s) (shape=(?, 0)) while a minimum of 1 is required.")
            if hasattr(X, "iloc") or hasattr(X, "__dataframe__"):
                validate_data(self, X, skip_check_array=True, reset=reset)
            elif reset and names is not None:  # scikit-learn knows no such tables
                self.n_features_in_ = len(names)
                self.feature_names_in_ = np.array(names, dtype=object)
            return X
        if hasattr(X, "dtype") and getattr(X.dtype, "kind", "") == "O":
            array = check_array(X, dtype=None, ensure_all_finite=False)
            validate_data(self, array, skip_check_array=True, reset=reset)
            return _numbers_or_texts(array)
        return validate_data(self, X, dtype=None, ensure_all_finite=False, reset=reset)

    def _frame(self, X: Any, *, reset: bool) -> _core.Frame:  # noqa: N803
        table = self._read(X, reset=reset)
        return to_frame(table)

    def _train(
        self,
        X: Any,  # noqa: N803
        y: np.ndarray,
        sample_weight: ArrayLike | None,
        eval_set: tuple[Any, Any] | None,
        progress: Progress | None,
        settings: dict[str, str],
        *,
        categories: bool,
    ) -> None:
        table = self._read(X, reset=True)
        weights = None if sample_weight is None else _check_sample_weight(sample_weight, y, dtype=np.float64)
        held_out = 0
        if eval_set is not None:
            table, y, weights, held_out = self._append(table, y, weights, eval_set)
            settings.pop("test", None)
            settings.pop("validation", None)
        frame = to_frame(table)
        if len(frame) != len(y):
            raise ValueError(f"Found input variables with inconsistent numbers of samples: [{len(frame)}, {len(y)}]")
        if len(frame) < 2:
            raise ValueError(f"training needs two rows or more, but n_samples = {len(frame)}")
        target = _free_name("target", frame.columns)
        add_column(frame, target, y, categories=categories)
        settings["target"] = target
        if weights is not None:
            settings["weight"] = _free_name("weight", [*frame.columns])
            add_column(frame, settings["weight"], weights)
        model, report = _core.train_frame(frame, settings, progress, held_out)
        self.__dict__.pop("_partial", None)
        self.model_ = model
        self.report_ = Report(**report)
        self.n_iter_ = self.report_.epochs

    def _train_part(
        self,
        X: Any,  # noqa: N803
        y: np.ndarray,
        sample_weight: ArrayLike | None,
        settings: dict[str, str],
        *,
        categories: bool,
    ) -> None:
        """Learns rows once, in their order. Without `fit`, the first ones decide how columns are read and scaled."""
        first = not hasattr(self, "model_")
        table = self._read(X, reset=first)
        weights = None if sample_weight is None else _check_sample_weight(sample_weight, y, dtype=np.float64)
        frame = to_frame(table)
        target = _free_name("target", frame.columns)
        add_column(frame, target, y, categories=categories)
        options = {name: getattr(self, name) for name in _DEFAULTS}
        if first:
            self._partial = PartialTraining.begin(frame, settings | {"target": target}, options)
            self.n_iter_ = 0
        elif not hasattr(self, "_partial"):
            self._partial = PartialTraining.go_on(self.model_, options)
        self._partial.learn(frame, weights)
        self.model_ = self._partial.model()
        self.n_iter_ += 1

    def _append(
        self, table: Any, y: np.ndarray, weights: np.ndarray | None, eval_set: tuple[Any, Any]
    ) -> tuple[Any, np.ndarray, np.ndarray | None, int]:
        """The table with the validation rows at its end, and how many these are."""
        if len(eval_set) != 2:
            raise ValueError("eval_set must be a pair of rows and their targets")
        X_val = self._read(eval_set[0], reset=False)  # noqa: N806
        y_val = np.asarray(eval_set[1])
        if hasattr(table, "iloc"):
            import pandas as pd

            both: Any = pd.concat([table, X_val], ignore_index=True)
        elif is_frame(table) and hasattr(table, "vstack"):
            both = table.vstack(X_val)
        elif is_frame(table):
            raise TypeError("eval_set needs pandas or Polars tables, or arrays")
        else:
            both = np.concatenate([table, X_val])
        if weights is not None:
            weights = np.concatenate([weights, np.ones(len(y_val))])
        return both, np.concatenate([y, y_val]), weights, len(y_val)

    def _importance(
        self,
        X: Any,  # noqa: N803
        y: np.ndarray,
        repeats: int,
        rows: int,
        random_state: int,
        *,
        categories: bool,
    ) -> list[ColumnImportance]:
        check_is_fitted(self)
        frame = self._frame(X, reset=False)
        add_column(frame, self.model_.target, y, categories=categories)
        columns = self.model_.importance(frame, repeats, rows, random_state)[2]
        return [ColumnImportance(*column) for column in columns]

    def save(self, path: str | os.PathLike[str]) -> None:
        """Writes the model for `ignd predict`, or for `ignd.load`."""
        check_is_fitted(self)
        self.model_.save(os.fspath(path))

    def _predicted(self, X: Any) -> tuple[np.ndarray, np.ndarray]:  # noqa: N803
        check_is_fitted(self)
        return cast("tuple[np.ndarray, np.ndarray]", self.model_.predict_frame(self._frame(X, reset=False)))


def _numbers_or_texts(array: np.ndarray) -> np.ndarray:
    try:
        return array.astype(np.float64)
    except (TypeError, ValueError):
        for cell in array.ravel():
            if isinstance(cell, dict | list | set):
                raise TypeError("a cell's argument must be a string or a number, "
                                f"not '{type(cell).__name__}'") from None
        return array


def _free_name(name: str, taken: list[str]) -> str:
    while name in taken:
        name += "_"
    return name


class IgndRegressor(RegressorMixin, _TableEstimator):  # type: ignore[misc]
    """Predicts numbers from the rows of a table, which may hold numbers, texts, dates and missing values.

    The parameters are the options of `ignd train`; `ignd.option_table()` lists them. `random_state` is its seed.

    >>> import numpy as np
    >>> x = np.linspace(-1, 1, 300).reshape(-1, 1)
    >>> model = IgndRegressor(model="linear", optimizer="ignd", lr=0.1).fit(x, 3 * x[:, 0])
    >>> bool(abs(model.predict([[0.5]])[0] - 1.5) < 0.05)
    True
    """

    def fit(
        self,
        X: Any,  # noqa: N803
        y: Any,
        sample_weight: ArrayLike | None = None,
        *,
        eval_set: tuple[Any, Any] | None = None,
        progress: Progress | None = None,
    ) -> IgndRegressor:
        """Trains on the rows of a table; those of `eval_set` choose the iterate instead of a share of them."""
        if y is None:
            raise ValueError("This IgndRegressor estimator requires y to be passed, but the target y is None.")
        targets = _numeric_target(y)
        settings = {"loss": "squared"} | self._settings()
        self._train(X, targets, sample_weight, _numeric_eval_set(eval_set), progress, settings, categories=False)
        return self

    def partial_fit(self, X: Any, y: Any, sample_weight: ArrayLike | None = None) -> IgndRegressor:  # noqa: N803
        """Learns rows once, in their order, at a constant rate: `lr`, or else 0.1, and 0.001 for Adam and the like.

        A fitted model learns on. Otherwise it begins with the model that `fit` would train, where each network of an
        ensemble learns all rows; the first rows decide how columns are read and how numbers are scaled, so give as many
        as is practical. To learn one row at a time from the first on, use OnlineRegressor.

        >>> import numpy as np
        >>> x = np.linspace(-1, 1, 300).reshape(-1, 1)
        >>> model = IgndRegressor(ensemble=2)
        >>> for _ in range(20):
        ...     model = model.partial_fit(x, x[:, 0] ** 2)
        >>> bool(abs(model.predict([[0.5]])[0] - 0.25) < 0.1)
        True
        """
        settings = {"loss": "squared"} | self._settings()
        self._train_part(X, _numeric_target(y), sample_weight, settings, categories=False)
        return self

    def predict(self, X: Any) -> np.ndarray:  # noqa: N803
        """The predicted numbers, in the target's units."""
        return self._predicted(X)[0]

    def importance(
        self, X: Any, y: Any, *, repeats: int = 5, rows: int = 10_000, random_state: int = 1  # noqa: N803
    ) -> list[ColumnImportance]:
        """The permutation importance of each column for rows with known targets, most important first.

        It is what the RMSE, or the mean of another loss than the squared one, rises by if the column is shuffled
        among at most `rows` of the rows. Take rows that were not trained on.
        """
        return self._importance(X, _numeric_target(y), repeats, rows, random_state, categories=False)

    def predict_interval(self, X: Any, level: float = 0.9) -> np.ndarray:  # noqa: N803
        """Intervals that hold the true numbers of a share of `level` of the rows: an array of low and high.

        They come from residuals of rows that `fit` did not learn from (split-conformal prediction). A model that was
        fitted without validation rows, or by `partial_fit`, has none.

        >>> import numpy as np
        >>> x = np.linspace(-1, 1, 300).reshape(-1, 1)
        >>> model = IgndRegressor(model="linear", optimizer="ignd", lr=0.1).fit(x, 3 * x[:, 0])
        >>> low, high = model.predict_interval([[0.5]], level=0.8)[0]
        >>> bool(low < 1.5 + 0.05 and high > 1.5 - 0.05)
        True
        """
        return cast("np.ndarray", self.model_.intervals(self.predict(X), level))


def _numeric_target(y: Any) -> np.ndarray:
    targets: np.ndarray = column_or_1d(np.asarray(y), warn=True)
    if targets.dtype.kind == "c":
        raise ValueError("Complex data not supported")
    if targets.dtype.kind in "OUST":
        targets = targets.astype(np.float64)
    check_array(targets.reshape(-1, 1), ensure_min_samples=0, input_name="y")
    return targets


def _numeric_eval_set(eval_set: tuple[Any, Any] | None) -> tuple[Any, Any] | None:
    return None if eval_set is None else (eval_set[0], _numeric_target(eval_set[1]))


class IgndClassifier(ClassifierMixin, _TableEstimator):  # type: ignore[misc]
    """Tells two or more classes apart by the rows of a table, as IgndRegressor predicts numbers.

    `class_weight` is None, 'balanced', or a dict of weights by class.

    >>> import numpy as np
    >>> x = np.linspace(-1, 1, 300).reshape(-1, 1)
    >>> model = IgndClassifier(model="linear", lr=0.1).fit(x, np.where(x[:, 0] > 0, "yes", "no"))
    >>> model.predict([[0.8], [-0.8]]).tolist()
    ['yes', 'no']
    """

    def fit(
        self,
        X: Any,  # noqa: N803
        y: Any,
        sample_weight: ArrayLike | None = None,
        *,
        eval_set: tuple[Any, Any] | None = None,
        progress: Progress | None = None,
    ) -> IgndClassifier:
        """Trains on the rows of a table; those of `eval_set` choose the iterate instead of a share of them."""
        if y is None:
            raise ValueError("This IgndClassifier estimator requires y to be passed, but the target y is None.")
        check_classification_targets(y)
        labels = column_or_1d(np.asarray(y), warn=True)
        self.classes_ = np.unique(labels)
        if len(self.classes_) < 2:
            raise ValueError("IgndClassifier needs two classes or more, but the target has only one class: "
                             f"{self.classes_[:1].tolist()}")
        settings = self._settings()
        if len(self.classes_) > 2:  # which might be numbers, or texts that are
            settings.setdefault("loss", "softmax")
        weights = self._weights(labels, sample_weight)
        self._train(X, labels, weights, eval_set, progress, settings, categories=_needs_categories(self.classes_))
        self._order = self._order_of_classes()
        return self

    def partial_fit(
        self,
        X: Any,  # noqa: N803
        y: Any,
        classes: ArrayLike | None = None,
        sample_weight: ArrayLike | None = None,
    ) -> IgndClassifier:
        """Learns rows once, in their order, as IgndRegressor does; without `fit`, the first ones must have all classes."""
        check_classification_targets(y)
        if self.class_weight == "balanced":
            raise ValueError("class_weight='balanced' needs all rows at once; give partial_fit a dict of weights")
        labels = column_or_1d(np.asarray(y), warn=True)
        if not hasattr(self, "model_"):
            seen = np.unique(labels)
            self.classes_ = seen if classes is None else np.unique(np.asarray(classes))
            if len(self.classes_) < 2 or len(seen) < len(self.classes_):
                raise ValueError("the first rows of partial_fit must have two classes or more, and all of `classes`")
        if not np.isin(labels, self.classes_).all():
            raise ValueError(f"a label is not one of the classes {self.classes_.tolist()}")
        settings = self._settings()
        if len(self.classes_) > 2:
            settings.setdefault("loss", "softmax")
        weights = self._weights(labels, sample_weight)
        self._train_part(X, labels, weights, settings, categories=_needs_categories(self.classes_))
        self._order = self._order_of_classes()
        return self

    def _weights(self, labels: np.ndarray, given: ArrayLike | None) -> ArrayLike | None:
        if not isinstance(self.class_weight, Mapping):
            return given
        of_class = compute_class_weight(self.class_weight, classes=self.classes_, y=labels)
        weights: np.ndarray = of_class[np.searchsorted(self.classes_, labels)]
        if given is not None:
            weights = weights * _check_sample_weight(given, labels, dtype=np.float64)
        return weights

    def _order_of_classes(self) -> np.ndarray:
        """Where the model has each of `classes_`."""
        names = self.model_.classes
        if self.classes_.dtype.kind in "fiu":
            values = [float(name) for name in names]
            return np.array([values.index(float(label)) for label in self.classes_])
        known = {name: k for k, name in enumerate(names)}
        name_of = str if _needs_categories(self.classes_) else _name_of
        try:
            return np.array([known[name_of(label)] for label in self.classes_])
        except KeyError:  # texts that are numbers, in the library's way of writing them
            values = [float(name) for name in names]
            return np.array([values.index(float(label)) for label in self.classes_])

    def predict_proba(self, X: Any) -> np.ndarray:  # noqa: N803
        """The probabilities of all classes, in the order of `classes_`."""
        return self._predicted(X)[1][:, self._order]

    def importance(
        self, X: Any, y: Any, *, repeats: int = 5, rows: int = 10_000, random_state: int = 1  # noqa: N803
    ) -> list[ColumnImportance]:
        """The permutation importance of each column, as that of IgndRegressor: what the log loss rises by."""
        check_is_fitted(self)
        labels = column_or_1d(np.asarray(y), warn=True)
        if not np.isin(labels, self.classes_).all():
            raise ValueError(f"a label is not one of the classes {self.classes_.tolist()}")
        return self._importance(X, labels, repeats, rows, random_state, categories=_needs_categories(self.classes_))

    def predict(self, X: Any) -> np.ndarray:  # noqa: N803
        """The most probable classes."""
        values = self._predicted(X)[0].astype(np.int64)
        place = np.empty(len(self._order), np.int64)
        place[self._order] = np.arange(len(self._order))
        return self.classes_[place[values]]


def _name_of(label: Any) -> str:
    return str(label).strip(" \t\r") if isinstance(label, str) else str(label)


def _needs_categories(classes: np.ndarray) -> bool:
    """Whether texts would be taken for missing values, for numbers of which some are equal, or for each other."""
    if classes.dtype.kind in "fiub":
        return False
    names = [_name_of(label) for label in classes]
    missing = {"", "na", "n/a", "nan", "null", "none", "?"}
    values: set[float | str] = set()
    for name in names:
        try:
            values.add(float(name))
        except ValueError:
            values.add(name)
    return len(values) < len(names) or any(name.lower() in missing for name in names)
