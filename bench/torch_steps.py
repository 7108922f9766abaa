#!/usr/bin/env python3
"""What a step of ignd.torch costs beside torch's own optimizers, on one thread:

    scripts/in_torch.sh bench/torch_steps.py [--quick]

prints a table for docs/torch.md: processor time per step, and how many times SGD's that is. The optimizers take turns,
and the fastest of all rounds counts, since others use the machine too.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable

import torch
from torch import Tensor, nn

import ignd.torch

torch.set_num_threads(1)
Step = Callable[[], object]


def mlp() -> nn.Module:
    widths = [8, 32, 64, 32]
    layers = [layer for n, m in zip(widths, widths[1:], strict=False) for layer in (nn.Linear(n, m), nn.ReLU())]
    return nn.Sequential(*layers, nn.Linear(32, 1))


def cnn(outputs: int) -> nn.Module:
    return nn.Sequential(
        nn.Conv2d(1, 8, 3, padding=1), nn.ReLU(inplace=True), nn.MaxPool2d(2),
        nn.Conv2d(8, 16, 3, padding=1), nn.ReLU(inplace=True), nn.MaxPool2d(2),
        nn.Flatten(), nn.Linear(16 * 7 * 7, 64), nn.ReLU(), nn.Linear(64, outputs),
    )


def squared(f: Tensor, y: Tensor) -> Tensor:
    return nn.functional.mse_loss(f, y) / 2


PROBLEMS = {
    "MLP 8-32-64-32-1": (mlp, (8,), "squared", squared),
    "CNN 28 x 28, one output": (lambda: cnn(1), (1, 28, 28), "squared", squared),
    "CNN 28 x 28, ten classes": (lambda: cnn(10), (1, 28, 28), "softmax", nn.functional.cross_entropy),
}


def step_of_torch(
    optimizer: torch.optim.Optimizer, model: nn.Module, loss: Callable[[Tensor, Tensor], Tensor], x: Tensor, y: Tensor
) -> Step:
    def step() -> None:
        optimizer.zero_grad()
        loss(model(x), y).backward()
        optimizer.step()

    return step


def steps(problem: str, samples: int) -> dict[str, Step]:
    """A step of each optimizer, each with a model of its own. Rates are tiny: the weights stay where they are."""
    make_model, shape, name, loss = PROBLEMS[problem]
    torch.manual_seed(0)
    x = torch.randn(samples, *shape)
    y = torch.randint(0, 10, (samples,)) if name == "softmax" else torch.randn(samples, 1)
    found: dict[str, Step] = {}
    for kind, make in {"SGD": torch.optim.SGD, "Adam": torch.optim.Adam}.items():
        model = make_model()
        found[kind] = step_of_torch(make(model.parameters(), lr=1e-9), model, loss, x, y)
    for kind, make in {
        "IGND": lambda m: ignd.torch.IGND(m, name, lr=1e-9),
        "AdamIGND": lambda m: ignd.torch.AdamIGND(m, name, lr=1e-9),
        "exact": lambda m: ignd.torch.ExactGaussNewton(m, name, lr=1e-9, adaptive=False),
        "exact, adaptive": lambda m: ignd.torch.ExactGaussNewton(m, name, lr=1e-9),
    }.items():
        optimizer = make(make_model())
        found[kind] = lambda optimizer=optimizer: optimizer.step(x, y)
    return found


def fastest(of: dict[str, Step], seconds: float) -> dict[str, float]:
    """Microseconds of each, the best round of many; a round is a few steps."""
    best = dict.fromkeys(of, float("inf"))
    for step in of.values():
        step()
        step()
    end = time.perf_counter() + seconds
    while time.perf_counter() < end:
        for name, step in of.items():
            start = time.process_time()
            step()
            best[name] = min(best[name], (time.process_time() - start) * 1e6)
    return best


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--quick", action="store_true", help="one second for each line instead of ten")
    arguments = parser.parse_args()
    first = True
    for problem in PROBLEMS:
        for samples in (1, 32, 256):
            found = fastest(steps(problem, samples), 1 if arguments.quick else 10)
            if first:
                print("| us per step (times SGD's) | b | " + " | ".join(found) + " |")
                print("|" + "---|" * (len(found) + 2))
                first = False
            cells = [f"{us:.0f} us ({us / found['SGD']:.1f})" for us in found.values()]
            print(f"| {problem} | {samples} | " + " | ".join(cells) + " |", flush=True)


if __name__ == "__main__":
    main()
