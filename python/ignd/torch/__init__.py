"""Gauss-Newton optimizers for torch models.

    import torch
    import ignd.torch

    model = torch.nn.Sequential(torch.nn.Linear(8, 32), torch.nn.Tanh(), torch.nn.Linear(32, 1))
    optimizer = ignd.torch.ExactGaussNewton(model, "squared")
    for epoch in range(100):
        for x, y in batches:
            info = optimizer.step(x, y)  # runs the model, takes the step
        print(epoch, info.loss, info.damping)

`IGND` and `AdamIGND` are used in the same way. The loss is "squared", "logistic", "softmax", or a function of the
output and the target of one sample, such as torch.nn.functional.cross_entropy, which torch differentiates twice.
"""

from .errors import NonConvexLoss, NotFinite, SingularSystem, UnsupportedModel
from .gauss_newton import ExactGaussNewton, GaussNewtonInfo
from .losses import Loss, LossAt
from .optimizers import IGND, AdamIGND, StepInfo

__all__ = [
    "IGND",
    "AdamIGND",
    "ExactGaussNewton",
    "GaussNewtonInfo",
    "Loss",
    "LossAt",
    "NonConvexLoss",
    "NotFinite",
    "SingularSystem",
    "StepInfo",
    "UnsupportedModel",
]
