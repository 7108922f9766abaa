"""The sensitivities of ignd.torch against autograd, one sample after the other, in networks of all kinds."""

from __future__ import annotations

import pytest

torch = pytest.importorskip("torch")

from torch import nn  # noqa: E402
from torch_reference import CASES, SAMPLES, Called, close, dense_jacobian, make  # noqa: E402

import ignd.torch  # noqa: E402
from ignd.torch.capture import Capture  # noqa: E402

pytestmark = pytest.mark.filterwarnings("ignore:There is a performance drop", "ignore:torch.func cannot vectorise",
                                        "ignore:Lazy modules")
MEMORY = 2**30
FEW_BYTES = 200  # forces tiles of a single sample


def learning(model):
    return [p for p in model.parameters() if p.requires_grad]


def jacobian_of(model, inputs, memory=MEMORY, capture=None):
    """The second pass of a capture: the first one compares, the second one relies on it."""
    capture = capture or Capture(model, memory)
    parameters = set(learning(model))
    first = capture.sensitivities(capture.forward(inputs, parameters), [parameters])
    second = capture.sensitivities(capture.forward(inputs, parameters), [parameters])
    assert torch.equal(first.dense(learning(model)), second.dense(learning(model)))
    return second


def gradient_of(direction, parameters):
    found = [direction[p] if p in direction else torch.zeros_like(p) for p in parameters]
    return torch.cat([(part.to_dense() if part.is_sparse else part).reshape(-1) for part in found])


@pytest.mark.parametrize("name", CASES)
def test_every_product_equals_the_dense_one(name):
    case = make(name)
    parameters = learning(case.model)
    expected = dense_jacobian(case.model, case.inputs, parameters)
    outputs = len(expected) // SAMPLES
    j = jacobian_of(case.model, case.inputs)
    assert close(j.dense(parameters), expected)

    gram = expected @ expected.T
    like = expected
    own = torch.stack([gram[i : i + outputs, i : i + outputs] for i in range(0, len(gram), outputs)])
    assert close(j.own_gram(like), own)
    for memory in (MEMORY, FEW_BYTES):
        assert close(j.gram(set(parameters), like, memory), gram)

    z = torch.randn(SAMPLES, outputs, dtype=torch.float64)
    assert close(gradient_of(j.combine(z), parameters), expected.T @ z.reshape(-1))
    v = {p: torch.randn_like(p) for p in parameters}
    moved = expected @ torch.cat([v[p].reshape(-1) for p in parameters])
    assert close(j.along(v), moved.view(SAMPLES, outputs))


@pytest.mark.parametrize("name", CASES)
def test_a_fresh_jacobian_combines_the_same_without_norms(name):
    """Norms may write rows out, which later products use: both ways give the same."""
    case = make(name, seed=1)
    parameters = learning(case.model)
    expected = dense_jacobian(case.model, case.inputs, parameters)
    z = torch.randn(SAMPLES, len(expected) // SAMPLES, dtype=torch.float64)
    found = gradient_of(jacobian_of(case.model, case.inputs).combine(z), parameters)
    assert close(found, expected.T @ z.reshape(-1))


@pytest.mark.parametrize("name", ["mlp", "convolutional network", "embedding with padding", "layer norm"])
def test_parts_of_a_batch_join(name):
    case = make(name)
    parameters = learning(case.model)
    capture = Capture(case.model, MEMORY)
    parts = [jacobian_of(case.model, case.inputs[part], capture=capture) for part in (slice(2), slice(2, None))]
    j = type(parts[0]).joined(parts)
    expected = dense_jacobian(case.model, case.inputs, parameters)
    assert close(j.gram(set(parameters), expected, MEMORY), expected @ expected.T)


@pytest.mark.parametrize("name", ["mlp", "convolution", "convolution in groups", "weight shared by two layers"])
def test_weights_and_biases_in_groups_of_their_own(name):
    case = make(name)
    parameters = learning(case.model)
    groups = [{p for p in parameters if p.ndim > 1}, {p for p in parameters if p.ndim == 1}]
    capture = Capture(case.model, MEMORY)
    j = capture.sensitivities(capture.forward(case.inputs, set(parameters)), groups)
    for group in groups:
        expected = dense_jacobian(case.model, case.inputs, group)
        assert close(j.gram(group, expected, MEMORY), expected @ expected.T)


# Parameters that hooks cannot give the sensitivities of. All others must not need torch.func, which would run the model
# again, and would also hide a mistake in what the hooks compute.
BY_FUNCTIONS = {
    "samples in dimension 1": {"layer.weight", "layer.bias"},
    "samples in dimension 1 of a square": {"layer.weight", "layer.bias"},
    "table that is also a weight": {"table.weight"},
    "weight used outside its layer": {"layer.weight", "layer.bias"},
    "layer of something that is not a sample": {"layer.weight", "layer.bias", "points"},
    "as many constants as samples": {"layer.weight", "layer.bias", "points"},
    "parameters of its own": {"scale", "shift"},
    "layer norm": {"1.weight", "1.bias"},
    "group norm": {"1.weight", "1.bias"},
    "batch norm in eval mode": {"1.weight", "1.bias"},
    "one-dimensional convolution": {"0.weight", "0.bias"},
    "recurrent": {f"recurrent.{kind}_{of}_l0" for kind in ("weight", "bias") for of in ("ih", "hh")},
    "attention": {"attention.in_proj_weight", "attention.in_proj_bias", "attention.out_proj.weight",
                  "attention.out_proj.bias"},
    "weight norm": {"0.parametrizations.weight.original0", "0.parametrizations.weight.original1"},
    "inputs with names": {"scale"},
}


@pytest.mark.parametrize("name", CASES)
def test_only_what_hooks_cannot_do_is_left_to_function_transforms(name):
    case = make(name)
    capture = Capture(case.model, MEMORY)
    jacobian_of(case.model, case.inputs, capture=capture)
    (left,) = capture._left.values()
    assert {capture.names[p] for p in left} == BY_FUNCTIONS.get(name, set())


def test_a_layer_that_joins_in_later_is_noticed():
    model = Called(lambda m, x: m.layer(x) * (m.scale if m.late else 1), layer=nn.Linear(3, 2),
                   scale=nn.Parameter(torch.randn(2))).double()
    x = torch.randn(SAMPLES, 3).double()
    capture = Capture(model, MEMORY)
    for late in (False, True, False):
        model.late = late
        expected = dense_jacobian(model, x, learning(model))
        assert close(jacobian_of(model, x, capture=capture).dense(learning(model)), expected)


def test_longer_sequences_are_compared_anew():
    """With one step per sample its rows are the samples; with two they are out of order."""
    def forward(m, x):
        return m.layer(x.transpose(0, 1).reshape(-1, 3)).tanh().reshape(x.shape[1], len(x), 2).sum(0)

    model = Called(forward, layer=nn.Linear(3, 2)).double()
    capture = Capture(model, MEMORY)
    for length in (1, 2, 1, 3):
        x = torch.randn(SAMPLES, length, 3).double()
        found = jacobian_of(model, x, capture=capture).dense(learning(model))
        assert close(found, dense_jacobian(model, x, learning(model)))


def test_zero_sensitivities_prove_nothing():
    """A last layer of zeros hides a normalisation by the batch at first."""
    model = Called(lambda m, x: m.head(m.layer(x) - m.layer(x).mean(0)), layer=nn.Linear(3, 2), head=nn.Linear(2, 1))
    nn.init.zeros_(model.head.weight)
    optimizer = ignd.torch.IGND(model.double(), "squared", params=[model.layer.weight])
    x, y = torch.randn(SAMPLES, 3).double(), torch.randn(SAMPLES, 1).double()
    optimizer.step(x, y)
    nn.init.ones_(model.head.weight)
    with pytest.raises(ignd.torch.UnsupportedModel, match="depends on other samples"):
        optimizer.step(x, y)


def test_parameters_can_be_frozen_and_freed_on_the_way():
    case = make("mlp")
    capture = Capture(case.model, MEMORY)
    for frozen in ([], ["0.weight"], ["0.weight", "2.bias"], []):
        for name, p in case.model.named_parameters():
            p.requires_grad_(name not in frozen)
        expected = dense_jacobian(case.model, case.inputs, learning(case.model))
        assert close(jacobian_of(case.model, case.inputs, capture=capture).dense(learning(case.model)), expected)


REFUSED = {
    "batch norm": (
        lambda: nn.Sequential(nn.Linear(3, 4), nn.BatchNorm1d(4), nn.Linear(4, 1)), "'1' normalises each sample"),
    "mean over the batch": (
        lambda: Called(lambda m, x: m.layer(x - x.mean(0)) - m.layer(x).mean(0), layer=nn.Linear(3, 1)),
        "depends on other samples"),
    "running sum over the batch": (
        lambda: Called(lambda m, x: m.layer(x).cumsum(0), layer=nn.Linear(3, 1)), "depends on other samples"),
    "rows in the wrong order": (
        lambda: Called(lambda m, x: m.layer(x).flip(0), layer=nn.Linear(3, 1)), "depends on other samples"),
    "chance outside the layers": (
        lambda: Called(lambda m, x: m.layer(x) * m.scale * torch.rand(len(x), 1, dtype=x.dtype),
                       layer=nn.Linear(3, 1), scale=nn.Parameter(torch.ones(1))),
        "or on chance"),
    "input changed in place": (
        lambda: Called(lambda m, x: m.two(h := m.one(x)) + h.mul_(2), one=nn.Linear(3, 1), two=nn.Linear(1, 1)),
        "the input of 'two' is changed in place"),
    "no effect": (lambda: Called(lambda m, x: x[:, :1], layer=nn.Linear(3, 1)), "no parameter that learns"),
    "one row for all": (lambda: Called(lambda m, x: m.layer(x).sum(0), layer=nn.Linear(3, 1)), "a row for each"),
    "two outputs": (lambda: Called(lambda m, x: (m.layer(x), x), layer=nn.Linear(3, 1)), "must return one tensor"),
}


@pytest.mark.parametrize("name", REFUSED)
def test_refused(name):
    make_model, message = REFUSED[name]
    torch.manual_seed(0)
    model = make_model().double()
    before = [p.detach().clone() for p in model.parameters()]
    optimizer = ignd.torch.IGND(model, "squared")
    with pytest.raises(ignd.torch.UnsupportedModel, match=message):
        optimizer.step(torch.randn(SAMPLES, 3).double(), torch.randn(SAMPLES, 1).double())
    assert all(torch.equal(p, old) for p, old in zip(model.parameters(), before, strict=True))


def test_tables_that_are_not_functions_are_refused():
    for options, message in (({"max_norm": 1.0}, "max_norm"), ({"scale_grad_by_freq": True}, "scale_grad_by_freq")):
        with pytest.raises(ignd.torch.UnsupportedModel, match=message):
            ignd.torch.IGND(nn.Embedding(4, 2, **options), "squared")


def test_autocast_is_refused():
    model = nn.Linear(3, 1)
    optimizer = ignd.torch.IGND(model, "squared")
    with torch.autocast("cpu", dtype=torch.bfloat16), pytest.raises(ignd.torch.UnsupportedModel, match="autocast"):
        optimizer.step(torch.randn(4, 3), torch.randn(4, 1))


def test_a_change_in_place_of_a_result_is_right_or_refused():
    """A dense layer of sequences may return a view, whose place in the graph a change in place moves."""
    for layer, x in ((nn.Linear(3, 2), torch.randn(SAMPLES, 4, 3)),
                     (nn.Linear(3, 2, bias=False), torch.randn(SAMPLES, 4, 3)),
                     (nn.Linear(3, 2), torch.randn(SAMPLES, 3)), (nn.Conv2d(2, 3, 2), torch.randn(SAMPLES, 2, 4, 4))):
        model = Called(lambda m, x: m.layer(x).tanh_().flatten(1)[:, :2], layer=layer).double()
        try:
            found = jacobian_of(model, x.double()).dense(learning(model))
        except ignd.torch.UnsupportedModel as error:
            assert "in place" in str(error)
        else:
            assert close(found, dense_jacobian(model, x.double(), learning(model)))
