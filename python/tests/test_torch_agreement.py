"""ignd.torch and the C++ library, from the same weights through the same samples: they stay together."""

from __future__ import annotations

import numpy as np
import pytest

torch = pytest.importorskip("torch")
pytest.importorskip("ignd._core", reason="the C++ library is not built")

import torch_reference  # noqa: E402, F401
from torch import nn  # noqa: E402

import ignd  # noqa: E402
import ignd.torch  # noqa: E402

WIDTHS = [4, 12, 8]
STEPS = 200


def twins(dtype, activation, outputs):
    """A network of the library, and one of torch with the same weights."""
    model = ignd.mlp(WIDTHS, activation=activation, outputs=outputs, seed=3, dtype=dtype)
    unit = {"tanh": nn.Tanh, "relu": nn.ReLU}[activation]
    layers = []
    for n, m in zip([*WIDTHS], [*WIDTHS[1:], outputs], strict=True):
        layers += [nn.Linear(n, m), unit()]
    twin = nn.Sequential(*layers[:-1]).to(torch.float64 if dtype == np.float64 else torch.float32)
    load(twin, model.parameters)
    return model, twin


def load(twin, parameters):
    """The library keeps a layer as one matrix by input unit, with the bias as its last row."""
    at = 0
    with torch.no_grad():
        for layer in twin:
            if isinstance(layer, nn.Linear):
                m, n = layer.weight.shape
                matrix = torch.tensor(np.array(parameters[at : at + (n + 1) * m])).view(n + 1, m)
                layer.weight.copy_(matrix[:n].T)
                layer.bias.copy_(matrix[n])
                at += (n + 1) * m


def difference(model, twin):
    """The largest one of a weight, relative to the largest weight."""
    rows = [torch.cat([layer.weight.T, layer.bias[None]]).detach() for layer in twin if isinstance(layer, nn.Linear)]
    found = np.concatenate([row.numpy().reshape(-1) for row in rows])
    return np.abs(found - np.array(model.parameters)).max() / np.abs(found).max()


def samples(dtype, loss, outputs, count):
    random = np.random.default_rng(5)
    x = random.normal(size=(count, WIDTHS[0])).astype(dtype)
    score = np.stack([x[:, 0] * x[:, 1], np.sin(2 * x[:, 2]), x[:, 3] - x[:, 0]], 1)[:, :outputs]
    if loss == "softmax":
        return x, score.argmax(1)
    return x, (score > 0).astype(dtype) if loss == "logistic" else score.astype(dtype)


SINGLE = {
    "ignd": ({"optimizer": "ignd"}, lambda m, loss: ignd.torch.IGND(m, loss, lr=0.1)),
    "damped": ({"optimizer": ("gauss-newton:eps_c=0.05,eps_lm=0.1", "plain")},
               lambda m, loss: ignd.torch.IGND(m, loss, lr=0.1, eps_c=0.05, eps_lm=0.1)),
    "momentum": ({"optimizer": ("gauss-newton:eps_lm=0.1", "momentum:beta=0.8")},
                 lambda m, loss: ignd.torch.IGND(m, loss, lr=0.1, eps_lm=0.1, momentum=0.8)),
    "l2": ({"optimizer": ("gauss-newton:eps_lm=0.1", "plain"), "l2": 0.01},
           lambda m, loss: ignd.torch.IGND(m, loss, lr=0.1, eps_lm=0.1, weight_decay=0.01)),
    "adam-ignd": ({"optimizer": "adam-ignd", "schedule": 0.003},
                  lambda m, loss: ignd.torch.AdamIGND(m, loss, lr=0.003)),
}


@pytest.mark.parametrize("method", SINGLE)
@pytest.mark.parametrize("loss", ["squared", "logistic"])
@pytest.mark.parametrize("activation", ["tanh", "relu"])
def test_one_sample_at_a_time(method, loss, activation):
    options, make_optimizer = SINGLE[method]
    model, twin = twins(np.float64, activation, 1)
    trainer = ignd.Trainer(model, loss=loss, **{"schedule": 0.1, **options})
    optimizer = make_optimizer(twin, loss)
    x, y = samples(np.float64, loss, 1, STEPS)
    for i in range(STEPS):
        trainer.step(x[i], y[i, 0])
        optimizer.step(torch.tensor(x[i : i + 1]), torch.tensor(y[i : i + 1]))
    assert difference(trainer.snapshot(), twin) < 1e-10


BATCHES = {
    "average": ({"mode": "average"}, lambda m, loss: ignd.torch.IGND(m, loss, lr=0.5, eps_lm=0.1)),
    "exact": ({"mode": "exact", "damping": 0.1},
              lambda m, loss: ignd.torch.ExactGaussNewton(m, loss, lr=0.5, damping=0.1, adaptive=False)),
    "exact, little damping": (
        {"mode": "exact", "damping": 1e-4},
        lambda m, loss: ignd.torch.ExactGaussNewton(m, loss, lr=0.5, damping=1e-4, adaptive=False),
    ),
}


@pytest.mark.parametrize("method", BATCHES)
@pytest.mark.parametrize(("loss", "outputs"), [("squared", 1), ("squared", 3), ("logistic", 1), ("softmax", 3)])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_batches(method, loss, outputs, dtype):
    """Batches of eight. Both round in an order of their own. Steps that are damped little enlarge the roundings of
    earlier ones (tenfold each, here), so that only a few are compared."""
    options, make_optimizer = BATCHES[method]
    steps, bound = (60, 1e-9) if dtype == np.float64 else (10, 1e-5)
    if "little" in method:
        steps, bound = 3, 1e-9 if dtype == np.float64 else 1e-3
    model, twin = twins(dtype, "tanh", outputs)
    trainer = ignd.BatchTrainer(model, loss=loss, optimizer=("gauss-newton:eps_lm=0.1", "plain"), schedule=0.5, size=8,
                                **options)
    optimizer = make_optimizer(twin, loss)
    x, y = samples(dtype, loss, outputs, 8 * steps)
    weights = np.random.default_rng(6).uniform(0.5, 2, 8 * steps)
    for first in range(0, 8 * steps, 8):
        part = slice(first, first + 8)
        target = y[part, 0] if outputs == 1 else y[part]
        trainer.step(x[part], target, weights[part])
        optimizer.step(torch.tensor(x[part]), torch.tensor(y[part]), torch.tensor(weights[part]))
    assert difference(trainer.snapshot(), twin) < bound


def test_a_convolutional_network():
    model = make_network("image 2 6 5; convolution 3; relu; max-pool; flatten; dense 8; tanh; dense 1")
    twin = nn.Sequential(nn.Conv2d(2, 3, 3, padding=1), nn.ReLU(inplace=True), nn.MaxPool2d(2), nn.Flatten(),
                         nn.Linear(18, 8), nn.Tanh(), nn.Linear(8, 1))
    weights = torch.tensor(np.array(model.parameters))
    with torch.no_grad():
        twin[0].weight.copy_(weights[:54].view(3, 2, 3, 3))
        twin[0].bias.copy_(weights[54:57])
    load(twin, weights[57:].numpy())
    random = np.random.default_rng(1)
    x = random.normal(size=(20, 2, 6, 5)).astype(np.float32)
    y = x[:, 0, 1:3].mean((1, 2), keepdims=True)[:, 0]
    trainer, optimizer = ignd.Trainer(model, schedule=0.1), ignd.torch.IGND(twin, "squared", lr=0.1)
    for i in range(20):
        trainer.step(x[i].reshape(-1), y[i, 0])
        optimizer.step(torch.tensor(x[i : i + 1]), torch.tensor(y[i : i + 1]))
    found = trainer.snapshot().predict(x.reshape(20, -1))
    assert np.abs(found - twin(torch.tensor(x))[:, 0].detach().numpy()).max() < 1e-5


def make_network(text):
    try:
        return ignd.network(text, seed=2)
    except ignd.InvalidArgument as error:
        pytest.skip(str(error))  # built without oneDNN
