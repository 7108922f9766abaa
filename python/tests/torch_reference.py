"""Networks of all kinds, and what the tests of ignd.torch compare with: sensitivities of one sample after the other,
differentiated by autograd alone, and dense solves."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass

import torch
from torch import Tensor, nn
from torch.nn import Parameter, functional
from torch.nn.utils import parametrizations

SAMPLES = 5
torch.set_num_threads(1)  # the tensors are tiny


def dense_jacobian(model: nn.Module, inputs: object, parameters: Iterable[Parameter]) -> Tensor:
    """bC x p. Each sample goes through the model alone, so that nothing of a batch can come in."""
    parameters = list(parameters)
    rows = []
    for i in range(_samples(inputs)):
        output = _call(model, _map(lambda t, i=i: t[i : i + 1], inputs)).reshape(-1)
        for value in output:
            gradients = torch.autograd.grad(value, parameters, retain_graph=True, allow_unused=True)
            parts = [torch.zeros_like(p) if g is None else g for p, g in zip(parameters, gradients, strict=True)]
            rows.append(torch.cat([(part.to_dense() if part.is_sparse else part).reshape(-1) for part in parts]))
    return torch.stack(rows)


def loss_derivatives(loss: Callable[[Tensor, Tensor], Tensor], output: Tensor, target: Tensor) -> tuple[Tensor, ...]:
    """Values b, slopes b x C and Hessians b x C x C, sample by sample by autograd."""
    values, slopes, hessians = [], [], []
    for f, y in zip(output.detach(), target, strict=True):
        f = f.clone().requires_grad_()
        value = loss(f, y)
        (slope,) = torch.autograd.grad(value, f, create_graph=True)
        hessian = [
            torch.autograd.grad(s, f, retain_graph=True)[0].reshape(-1) if s.requires_grad else torch.zeros(f.numel())
            for s in slope.reshape(-1)
        ]
        values.append(value.detach())
        slopes.append(slope.detach().reshape(-1))
        hessians.append(torch.stack(hessian))
    return torch.stack(values), torch.stack(slopes), torch.stack(hessians)


def squared(f: Tensor, y: Tensor) -> Tensor:
    return (f - y).square().sum() / 2


def logistic(f: Tensor, y: Tensor) -> Tensor:
    return (torch.log1p(f.exp()) - y * f).sum()


def softmax(f: Tensor, y: Tensor) -> Tensor:
    return f.exp().sum().log() - f[y]


def log_cosh(f: Tensor, y: Tensor) -> Tensor:
    return torch.cosh(f - y).log().sum()


def flat(parameters: Iterable[Tensor]) -> Tensor:
    return torch.cat([p.detach().reshape(-1) for p in parameters])


def close(found: Tensor, expected: Tensor, tolerance: float = 1e-10) -> bool:
    """Relative to the largest number: the roundings of sums are."""
    expected, found = expected.detach(), found.detach()
    scale = max(float(expected.abs().max()), float(found.abs().max()))
    return found.shape == expected.shape and bool(((found - expected).abs() <= tolerance * scale).all())


class Called(nn.Module):
    """Layers, and how a sample goes through them."""

    def __init__(self, forward: Callable[..., Tensor], **layers: nn.Module | Parameter) -> None:
        super().__init__()
        for name, layer in layers.items():
            setattr(self, name, layer)
        self.call = forward

    def forward(self, *args: Tensor, **kwargs: Tensor) -> Tensor:
        return self.call(self, *args, **kwargs)


@dataclass
class Case:
    model: nn.Module
    inputs: object


def _tied() -> nn.Module:
    table, head = nn.Embedding(7, 4), nn.Linear(4, 7, bias=False)
    head.weight = table.weight
    return Called(lambda m, x: m.head(m.table(x).mean(1).tanh())[:, :2], table=table, head=head)


def _weight_and_bias() -> nn.Module:
    one, two = nn.Linear(3, 3), nn.Linear(3, 3)
    two.weight = one.weight
    return Called(lambda m, x: m.two(m.one(x).tanh()), one=one, two=two)


def _frozen(model: nn.Sequential, *names: str) -> nn.Module:
    for name in names:
        model.get_parameter(name).requires_grad_(False)
    return model


def _mlp(*widths: int, bias: bool = True, activation: type[nn.Module] = nn.Tanh) -> nn.Sequential:
    layers: list[nn.Module] = []
    for n, m in zip(widths, widths[1:], strict=False):
        layers += [nn.Linear(n, m, bias=bias), activation()]
    return nn.Sequential(*layers[:-1])


def _image(channels: int = 2) -> Tensor:
    return torch.randn(SAMPLES, channels, 6, 5)


def _tokens() -> Tensor:
    return torch.randint(0, 7, (SAMPLES, 4))


def _convolution(**options: object) -> Case:
    layer = nn.Conv2d(4, 6, 3, **options)  # type: ignore[arg-type]
    return Case(nn.Sequential(layer, nn.Tanh(), nn.Flatten(), nn.LazyLinear(2)), _image(4))


def _dead() -> nn.Module:
    model = _mlp(3, 4, 2, activation=nn.ReLU)
    nn.init.constant_(model[0].bias, -100.0)  # type: ignore[arg-type]
    return model


def _scaled(m: Called, x: Tensor) -> Tensor:
    return m.layer(x) * m.scale + m.shift


CASES: dict[str, Callable[[], Case]] = {
    "linear": lambda: Case(nn.Linear(3, 1), torch.randn(SAMPLES, 3)),
    "output without a dimension": lambda: Case(
        Called(lambda m, x: m.layer(x)[:, 0], layer=nn.Linear(3, 1)), torch.randn(SAMPLES, 3)
    ),
    "mlp": lambda: Case(_mlp(3, 5, 4, 1), torch.randn(SAMPLES, 3)),
    "several outputs": lambda: Case(_mlp(3, 5, 3), torch.randn(SAMPLES, 3)),
    "outputs in a matrix": lambda: Case(nn.Sequential(_mlp(3, 4, 6), nn.Unflatten(1, (2, 3))), torch.randn(SAMPLES, 3)),
    "without biases": lambda: Case(_mlp(3, 5, 2, bias=False), torch.randn(SAMPLES, 3)),
    "relu in place": lambda: Case(
        nn.Sequential(nn.Linear(3, 6), nn.ReLU(inplace=True), nn.Linear(6, 2)), torch.randn(SAMPLES, 3)
    ),
    "dead units": lambda: Case(_dead(), torch.randn(SAMPLES, 3)),
    "frozen weight": lambda: Case(_frozen(_mlp(3, 4, 2), "0.weight"), torch.randn(SAMPLES, 3)),
    "frozen bias": lambda: Case(_frozen(_mlp(3, 4, 2), "0.bias", "2.bias"), torch.randn(SAMPLES, 3)),
    "frozen layer": lambda: Case(_frozen(_mlp(3, 4, 2), "0.weight", "0.bias"), torch.randn(SAMPLES, 3)),
    "frozen last layer": lambda: Case(_frozen(_mlp(3, 4, 2), "2.weight", "2.bias"), torch.randn(SAMPLES, 3)),
    "sequence": lambda: Case(
        Called(lambda m, x: m.head(m.layer(x).tanh().sum(1)), layer=nn.Linear(3, 4), head=nn.Linear(4, 2)),
        torch.randn(SAMPLES, 6, 3),
    ),
    "short sequence of wide vectors": lambda: Case(
        Called(lambda m, x: m.head(m.layer(x).tanh().sum(1)), layer=nn.Linear(20, 30), head=nn.Linear(30, 1)),
        torch.randn(SAMPLES, 2, 20),
    ),
    "rows of samples side by side": lambda: Case(
        Called(lambda m, x: m.layer(x.reshape(-1, 3)).tanh().reshape(len(x), -1, 2).sum(1), layer=nn.Linear(3, 2)),
        torch.randn(SAMPLES, 4, 3),
    ),
    "samples in dimension 1": lambda: Case(
        Called(lambda m, x: m.layer(x.transpose(0, 1)).tanh().sum(0), layer=nn.Linear(3, 2)),
        torch.randn(SAMPLES, 4, 3),
    ),
    "samples in dimension 1 of a square": lambda: Case(
        Called(lambda m, x: m.layer(x.transpose(0, 1)).tanh().sum(0), layer=nn.Linear(3, 2)),
        torch.randn(SAMPLES, SAMPLES, 3),
    ),
    "layer used three times": lambda: Case(
        Called(lambda m, x: m.head(m.layer(m.layer(m.layer(x).tanh()).tanh())), layer=nn.Linear(3, 3),
               head=nn.Linear(3, 2)),
        torch.randn(SAMPLES, 3),
    ),
    "convolution used twice": lambda: Case(
        Called(lambda m, x: m.layer(m.layer(x).tanh()).mean((2, 3)), layer=nn.Conv2d(2, 2, 3, padding=1)), _image()
    ),
    "weight shared by two layers": lambda: Case(_weight_and_bias(), torch.randn(SAMPLES, 3)),
    "table that is also a weight": lambda: Case(_tied(), _tokens()),
    "weight used outside its layer": lambda: Case(
        Called(lambda m, x: m.layer(x) + functional.linear(x.tanh(), m.layer.weight), layer=nn.Linear(3, 2)),
        torch.randn(SAMPLES, 3),
    ),
    "layer of something that is not a sample": lambda: Case(
        Called(lambda m, x: x @ m.layer(m.points).tanh(), layer=nn.Linear(2, 2), points=Parameter(torch.randn(3, 2))),
        torch.randn(SAMPLES, 3),
    ),
    "as many constants as samples": lambda: Case(
        Called(lambda m, x: x @ m.layer(m.points).tanh(), layer=nn.Linear(2, 2),
               points=Parameter(torch.randn(SAMPLES, 2))),
        torch.randn(SAMPLES, SAMPLES),
    ),
    "convolution": lambda: _convolution(padding=1, stride=2),
    "dilated convolution": lambda: _convolution(padding=2, dilation=2, bias=False),
    "convolution in groups": lambda: _convolution(groups=2, padding=1),
    "same padding": lambda: _convolution(padding="same", dilation=(1, 3)),
    "valid padding": lambda: _convolution(padding="valid"),
    "reflected padding": lambda: _convolution(padding=(1, 2), padding_mode="reflect"),
    "circular padding": lambda: _convolution(padding=1, padding_mode="circular"),
    "pointwise convolution": lambda: Case(
        nn.Sequential(nn.Conv2d(2, 3, 1), nn.Tanh(), nn.AvgPool2d(2), nn.Flatten(), nn.LazyLinear(2)), _image()
    ),
    "wide convolution of a small image": lambda: Case(
        nn.Sequential(nn.Conv2d(8, 16, 3), nn.ReLU(inplace=True), nn.Flatten(), nn.LazyLinear(2)),
        torch.randn(SAMPLES, 8, 4, 4),
    ),
    "convolutional network": lambda: Case(
        nn.Sequential(nn.Conv2d(2, 3, 3, padding=1), nn.ReLU(inplace=True), nn.MaxPool2d(2), nn.Conv2d(3, 4, 2),
                      nn.ReLU(inplace=True), nn.Flatten(), nn.LazyLinear(3)),
        _image(),
    ),
    "embedding": lambda: Case(
        Called(lambda m, x: m.head(m.table(x).mean(1).tanh()), table=nn.Embedding(7, 4), head=nn.Linear(4, 2)),
        _tokens(),
    ),
    "embedding of one token": lambda: Case(nn.Sequential(nn.Embedding(7, 4), nn.Linear(4, 1)), _tokens()[:, 0]),
    "embedding with padding": lambda: Case(
        Called(lambda m, x: m.head(m.table(x).sum(1).tanh()), table=nn.Embedding(7, 4, padding_idx=2, sparse=True),
               head=nn.Linear(4, 2)),
        _tokens(),
    ),
    "embedding used twice": lambda: Case(
        Called(lambda m, x: (m.table(x).sum(1) * m.table(x[:, :1]).tanh()[:, 0]).sum(1, keepdim=True),
               table=nn.Embedding(7, 4)),
        _tokens(),
    ),
    "parameters of its own": lambda: Case(
        Called(_scaled, layer=nn.Linear(3, 2), scale=Parameter(torch.randn(2)), shift=Parameter(torch.randn(2))),
        torch.randn(SAMPLES, 3),
    ),
    "layer norm": lambda: Case(
        nn.Sequential(nn.Linear(3, 6), nn.LayerNorm(6), nn.Tanh(), nn.Linear(6, 2)), torch.randn(SAMPLES, 3)
    ),
    "group norm": lambda: Case(
        nn.Sequential(nn.Conv2d(2, 4, 3), nn.GroupNorm(2, 4), nn.Tanh(), nn.Flatten(), nn.LazyLinear(2)), _image()
    ),
    "batch norm in eval mode": lambda: Case(
        nn.Sequential(nn.Linear(3, 4), nn.BatchNorm1d(4), nn.Tanh(), nn.Linear(4, 2)).eval(), torch.randn(SAMPLES, 3)
    ),
    "one-dimensional convolution": lambda: Case(
        nn.Sequential(nn.Conv1d(2, 3, 3), nn.Tanh(), nn.Flatten(), nn.LazyLinear(2)), torch.randn(SAMPLES, 2, 6)
    ),
    "recurrent": lambda: Case(
        Called(lambda m, x: m.head(m.recurrent(x)[0][:, -1]), recurrent=nn.GRU(3, 4, batch_first=True),
               head=nn.Linear(4, 1)),
        torch.randn(SAMPLES, 6, 3),
    ),
    "attention": lambda: Case(
        Called(lambda m, x: m.attention(x, x, x, need_weights=False)[0].mean(1)[:, :2],
               attention=nn.MultiheadAttention(4, 2, batch_first=True)),
        torch.randn(SAMPLES, 3, 4),
    ),
    "weight norm": lambda: Case(
        nn.Sequential(parametrizations.weight_norm(nn.Linear(3, 4)), nn.Tanh(), nn.Linear(4, 2)),
        torch.randn(SAMPLES, 3),
    ),
    "unused layer": lambda: Case(
        Called(lambda m, x: m.layer(x), layer=nn.Linear(3, 2), other=nn.Linear(3, 2)), torch.randn(SAMPLES, 3)
    ),
    "two inputs": lambda: Case(
        Called(lambda m, x, y: m.layer(x).tanh() * m.other(y), layer=nn.Linear(3, 2), other=nn.Linear(4, 2)),
        (torch.randn(SAMPLES, 3), torch.randn(SAMPLES, 4)),
    ),
    "inputs with names": lambda: Case(
        Called(lambda m, *, x, y: m.layer(input=x).tanh() * m.scale * y, layer=nn.Linear(3, 2),
               scale=Parameter(torch.randn(2))),
        {"x": torch.randn(SAMPLES, 3), "y": torch.randn(SAMPLES, 2)},
    ),
}


def make(name: str, seed: int = 0) -> Case:
    """A case in double precision."""
    torch.manual_seed(seed)
    case = CASES[name]()
    case.model.double()
    case.inputs = _map(lambda t: t.double() if t.is_floating_point() else t, case.inputs)
    with torch.no_grad():
        _call(case.model, case.inputs)  # lazy layers
    for p in list(case.model.parameters()):
        assert p.dtype == torch.float64
    return case


def _samples(inputs: object) -> int:
    sizes: list[int] = []
    _map(lambda t: sizes.append(len(t)) or t, inputs)  # type: ignore[func-returns-value]
    return sizes[0]


def _map(change: Callable[[Tensor], Tensor], inputs: object) -> object:
    if isinstance(inputs, dict):
        return {name: change(value) for name, value in inputs.items()}
    return tuple(change(value) for value in inputs) if isinstance(inputs, tuple) else change(inputs)  # type: ignore


def _call(model: nn.Module, inputs: object) -> Tensor:
    if isinstance(inputs, dict):
        return model(**inputs)  # type: ignore[no-any-return]
    return model(*inputs) if isinstance(inputs, tuple) else model(inputs)  # type: ignore[no-any-return]
