"""A surrogate of a smooth function, fitted far beyond what first-order methods reach:

    scripts/in_torch.sh examples/python/torch_surrogate.py [SECONDS]

A surrogate is a small network in place of an expensive computation. It has few samples without noise, and its error
should be as small as the computation's own. That is where Gauss-Newton steps pay: the same network, from the same
initial weights, learns with ExactGaussNewton, with torch's LBFGS and with Adam, for the same processor time each.
The script prints a table for docs/torch.md.
"""

# %% The computation that is to be replaced: two inputs, one output, smooth.
import math
import sys
import time
from collections.abc import Callable

import torch
from torch import Tensor, nn

import ignd.torch

torch.set_default_dtype(torch.float64)  # single precision ends at an error of about 1e-6
torch.set_num_threads(1)
SECONDS = float(sys.argv[1]) if len(sys.argv) > 1 else 20.0


def computation(x: Tensor) -> Tensor:
    a, b = x[:, :1], x[:, 1:]
    return torch.exp(-(a**2)) * torch.sin(2 * b) + 0.3 * a * b


# %% Samples: 500 points that cover the square evenly to learn from, 2,000 random ones to measure by. The target is
# scaled to mean zero and deviation one, so that an error of 1 is that of the best constant.
x = 2 * torch.quasirandom.SobolEngine(2, scramble=True, seed=0).draw(500).double() - 1
x_test = 2 * torch.rand(2000, 2, generator=torch.Generator().manual_seed(1)) - 1
mean, deviation = computation(x).mean(), computation(x).std()
y, y_test = ((computation(points) - mean) / deviation for points in (x, x_test))


def network() -> nn.Module:
    torch.manual_seed(0)
    return nn.Sequential(nn.Linear(2, 40), nn.Tanh(), nn.Linear(40, 40), nn.Tanh(), nn.Linear(40, 1))


def squared_error(model: nn.Module, points: Tensor, targets: Tensor) -> float:
    with torch.no_grad():
        return float((model(points) - targets).square().mean())


# %% One function per method: it returns the model and a step, which sees all samples.
def gauss_newton() -> tuple[nn.Module, Callable[[], object]]:
    model = network()
    optimizer = ignd.torch.ExactGaussNewton(model, "squared")
    return model, lambda: optimizer.step(x, y)


def lbfgs() -> tuple[nn.Module, Callable[[], object]]:
    model = network()
    # A long history, and no tolerance that would stop it, got further than torch's defaults.
    optimizer = torch.optim.LBFGS(model.parameters(), history_size=200, max_iter=200, line_search_fn="strong_wolfe",
                                  tolerance_grad=0, tolerance_change=0)

    def closure() -> Tensor:
        optimizer.zero_grad()
        loss = nn.functional.mse_loss(model(x), y)
        loss.backward()
        return loss

    return model, lambda: optimizer.step(closure)


def adam(rate: float) -> tuple[nn.Module, Callable[[], object]]:
    """With a cosine schedule over the time there is."""
    model = network()
    optimizer = torch.optim.Adam(model.parameters(), lr=rate)
    start = time.process_time()

    def step() -> None:
        used = min(1.0, (time.process_time() - start) / SECONDS)
        optimizer.param_groups[0]["lr"] = rate * (1 + math.cos(math.pi * used)) / 2
        optimizer.zero_grad()
        nn.functional.mse_loss(model(x), y).backward()
        optimizer.step()

    return model, step


# %% The race: when the mean squared error of the samples falls below each goal, and how far it gets.
METHODS: dict[str, Callable[[], tuple[nn.Module, Callable[[], object]]]] = {
    "ExactGaussNewton": gauss_newton,
    "LBFGS": lbfgs,
    "Adam, rate .01": lambda: adam(0.01),
    "Adam, rate .003": lambda: adam(0.003),
    "Adam, rate .001": lambda: adam(0.001),
}
GOALS = [1e-2, 1e-4, 1e-6, 1e-8, 1e-10]


def race(name: str) -> list[str]:
    model, step = METHODS[name]()
    reached: dict[float, str] = {}
    steps, start = 0, time.process_time()
    while (used := time.process_time() - start) < SECONDS:
        error = squared_error(model, x, y)
        for goal in GOALS:
            if error < goal:
                reached.setdefault(goal, f"{used:.2f} s")
        step()
        steps += 1
    cells = [reached.get(goal, "never") for goal in GOALS]
    in_the_end = [f"{squared_error(model, *points):.1e}" for points in ((x, y), (x_test, y_test))]
    return [name, *cells, *in_the_end, f"{steps:,}"]


header = [f"{SECONDS:.0f} s each", *(f"{goal:.0e}" for goal in GOALS), "in the end", "new points", "steps"]
print("| " + " | ".join(header) + " |")
print("|" + "---|" * (len(GOALS) + 4))
for method in METHODS:
    print("| " + " | ".join(race(method)) + " |", flush=True)
