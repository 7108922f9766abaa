"""Incremental Gauss-Newton Descent: tables, streams and models of one's own.

>>> import ignd
>>> model = ignd.mlp([2, 16])
>>> trainer = ignd.Trainer(model, schedule=0.1)
>>> trainer.step([1.0, 2.0], 3.0).step
1
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

from ignd._core import (
    BadSample,
    FileError,
    IgndError,
    InvalidArgument,
    LearningEnded,
    Loss,
    LossAt,
    ModelFile,
    NonConvexLoss,
    SingularSystem,
    StepInfo,
    check_loss,
    cpu_path,
    loss_names,
    make_loss,
    optimizer_names,
)
from ignd._core import version as _version
from ignd._library import BatchTrainer, Trainer, blend, hashed_linear, linear, load_model, make_model, mlp, network
from ignd._online import OnlineClassifier, OnlineRegressor
from ignd._tables import load, option_table, train

if TYPE_CHECKING:
    from ignd._estimators import IgndClassifier, IgndRegressor

__version__ = _version()

__all__ = [
    "BadSample",
    "BatchTrainer",
    "FileError",
    "IgndClassifier",
    "IgndError",
    "IgndRegressor",
    "InvalidArgument",
    "LearningEnded",
    "Loss",
    "LossAt",
    "ModelFile",
    "NonConvexLoss",
    "OnlineClassifier",
    "OnlineRegressor",
    "SingularSystem",
    "StepInfo",
    "Trainer",
    "blend",
    "check_loss",
    "cpu_path",
    "hashed_linear",
    "linear",
    "load",
    "load_model",
    "loss_names",
    "make_loss",
    "make_model",
    "mlp",
    "network",
    "optimizer_names",
    "option_table",
    "train",
]

_ESTIMATORS = ("IgndClassifier", "IgndRegressor")


def __getattr__(name: str) -> Any:
    """Imports what needs scikit-learn only when it is asked for."""
    if name not in _ESTIMATORS:
        raise AttributeError(f"module 'ignd' has no attribute '{name}'")
    try:
        return getattr(import_module("ignd._estimators"), name)
    except ModuleNotFoundError as fault:
        if fault.name != "sklearn":
            raise
        raise ImportError(f"ignd.{name} needs scikit-learn: pip install scikit-learn") from fault
