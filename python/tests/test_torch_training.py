"""Training with ignd.torch: resuming, schedules, rejected steps, and what is refused."""

from __future__ import annotations

import copy
import io
import math

import pytest

torch = pytest.importorskip("torch")

from torch import nn  # noqa: E402
from torch_reference import close, flat, make  # noqa: E402

import ignd.torch  # noqa: E402
from ignd.torch import IGND, AdamIGND, ExactGaussNewton  # noqa: E402

OPTIMIZERS = {
    "ignd": lambda model, **more: IGND(model, "squared", lr=0.1, **more),
    "momentum": lambda model, **more: IGND(model, "squared", lr=0.1, momentum=0.5, weight_decay=1e-3, **more),
    "adam": lambda model, **more: AdamIGND(model, "squared", lr=0.01, **more),
    "exact": lambda model, **more: ExactGaussNewton(model, "squared", **more),
    "exact, constant": lambda model, **more: ExactGaussNewton(model, "squared", adaptive=False, **more),
}


def network(dtype=torch.float32):
    torch.manual_seed(0)
    return nn.Sequential(nn.Linear(2, 8), nn.Tanh(), nn.Linear(8, 1)).to(dtype)


def batches(count, dtype=torch.float32):
    draws = torch.Generator().manual_seed(1)
    for _ in range(count):
        x = torch.randn(6, 2, generator=draws, dtype=dtype)
        yield x, x[:, :1] * x[:, 1:] + 0.1 * torch.randn(6, 1, generator=draws, dtype=dtype)


def train(model, optimizer, pairs, scheduler=None):
    infos = []
    for x, y in pairs:
        infos.append(optimizer.step(x, y))
        if scheduler is not None:
            scheduler.step()
    return infos


@pytest.mark.parametrize("name", OPTIMIZERS)
@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
def test_a_resumed_run_has_the_same_bits(name, dtype):
    make_optimizer, pairs = OPTIMIZERS[name], list(batches(12, dtype))
    through = network(dtype)
    optimizer = make_optimizer(through)
    scheduler = torch.optim.lr_scheduler.CosineAnnealingLR(optimizer, 12)
    infos = train(through, optimizer, pairs, scheduler)

    first = network(dtype)
    optimizer = make_optimizer(first)
    scheduler = torch.optim.lr_scheduler.CosineAnnealingLR(optimizer, 12)
    train(first, optimizer, pairs[:7], scheduler)
    file = io.BytesIO()
    torch.save((first.state_dict(), optimizer.state_dict(), scheduler.state_dict()), file)
    file.seek(0)
    of_model, of_optimizer, of_scheduler = torch.load(file, weights_only=True)
    second = network(dtype)
    nn.init.zeros_(second[0].weight)
    second.load_state_dict(of_model)
    optimizer = make_optimizer(second)
    scheduler = torch.optim.lr_scheduler.CosineAnnealingLR(optimizer, 12)
    optimizer.load_state_dict(of_optimizer)
    scheduler.load_state_dict(of_scheduler)
    assert train(second, optimizer, pairs[7:], scheduler) == infos[7:]
    assert all(torch.equal(p, q) for p, q in zip(through.parameters(), second.parameters(), strict=True))


@pytest.mark.parametrize("name", OPTIMIZERS)
def test_the_state_of_another_optimizer_is_refused(name):
    others = [make for key, make in OPTIMIZERS.items() if ("exact" in key) != ("exact" in name)]
    for other in (torch.optim.SGD(network().parameters(), lr=0.1), *(make_other(network()) for make_other in others)):
        with pytest.raises(ValueError, match="not the state of"):
            OPTIMIZERS[name](network()).load_state_dict(other.state_dict())


@pytest.mark.parametrize("name", OPTIMIZERS)
def test_schedules_of_torch_set_the_rate(name):
    model, (x, y) = network(torch.float64), next(batches(1, torch.float64))
    optimizer = OPTIMIZERS[name](model)
    scheduler = torch.optim.lr_scheduler.LambdaLR(optimizer, lambda epoch: 0.5**epoch)
    before = [p.detach().clone() for p in model.parameters()]
    moves = []
    for _ in range(2):
        state = copy.deepcopy(optimizer.state_dict())
        optimizer.step(x, y)
        moves.append(flat(model.parameters()) - flat(before))
        for p, old in zip(model.parameters(), before, strict=True):
            p.data.copy_(old)
        scheduler.step()
        rates = [group["lr"] for group in optimizer.param_groups]
        optimizer.load_state_dict(state)  # its own state too, so that only the rate differs
        for group, rate in zip(optimizer.param_groups, rates, strict=True):
            group["lr"] = rate
    assert close(moves[1], moves[0] / 2)


@pytest.mark.parametrize("name", OPTIMIZERS)
def test_gradients_and_draws_of_the_user_are_left_alone(name):
    model, (x, y) = network(), next(batches(1))
    optimizer = OPTIMIZERS[name](model)
    drawn = torch.get_rng_state()
    optimizer.step(x, y)
    assert torch.equal(torch.get_rng_state(), drawn)
    assert all(p.grad is None for p in model.parameters())
    assert not any(layer._forward_hooks for layer in model.modules())


@pytest.mark.parametrize("name", OPTIMIZERS)
@pytest.mark.parametrize("bad", [math.nan, math.inf])
def test_numbers_that_are_not_finite_change_nothing(name, bad):
    model, (x, y) = network(), next(batches(1))
    optimizer = OPTIMIZERS[name](model)
    before, state = flat(model.parameters()), copy.deepcopy(optimizer.state_dict())
    for inputs, targets, what in ((x * bad, y, "output"), (x, y * bad, "loss")):
        with pytest.raises(ignd.torch.NotFinite, match=what):
            optimizer.step(inputs, targets)
    assert torch.equal(flat(model.parameters()), before)
    assert str(optimizer.state_dict()) == str(state)


@torch.no_grad()
def objective(model, x, y, decay):
    return float((model(x) - y).square().sum(1).mean() / 2 + decay / 2 * flat(model.parameters()).square().sum())


@pytest.mark.parametrize("decay", [0.0, 1e-3])
@pytest.mark.parametrize("samples", [6, 200])
def test_steps_are_judged_by_their_gain(decay, samples):
    """The gain by its definition: by evaluating the objective, and the quadratic model from a dense Jacobian."""
    torch.manual_seed(2)
    model = network(torch.float64)
    x = torch.randn(samples, 2, dtype=torch.float64)
    y = 10 * torch.sin(3 * x[:, :1] * x[:, 1:])
    optimizer = ExactGaussNewton(model, "squared", damping=1e-4, weight_decay=decay, max_tries=1)
    accepted = []
    for _ in range(40):
        before, state, damping = flat(model.parameters()), copy.deepcopy(model.state_dict()), optimizer.damping
        old = objective(model, x, y, decay)
        if old < 1e-9:
            break  # what is left to gain is rounding
        parameters = list(model.parameters())
        j = torch.stack([torch.cat([g.reshape(-1) for g in torch.autograd.grad(f, parameters, retain_graph=True)])
                         for f in model(x)[:, 0]])
        error = (model(x) - y)[:, 0].detach()
        matrix = j.T @ j / samples + decay * torch.eye(len(before))
        gradient = j.T @ error / samples + decay * before
        step = torch.linalg.solve(matrix + damping * torch.eye(len(before)), -gradient)
        promised = -float(gradient @ step + step @ matrix @ step / 2)
        info = optimizer.step(x, y)
        moved = flat(model.parameters()) - before
        if info.accepted:
            assert close(moved, step, 1e-6)
        else:
            assert not moved.any()
            trial = copy.deepcopy(model)
            nn.utils.vector_to_parameters(before + step, trial.parameters())
        new = objective(model if info.accepted else trial, x, y, decay)
        assert info.gain == pytest.approx((old - new) / promised, rel=1e-4, abs=1e-6)
        assert info.accepted == (new < old)
        assert info.damping == damping
        assert (optimizer.damping > damping) == (info.gain < 0.5)
        if not info.accepted:
            assert all(torch.equal(value, state[key]) for key, value in model.state_dict().items())
        accepted.append(info.accepted)
    assert any(accepted) and not all(accepted)  # both happened


def test_a_rejected_step_is_tried_again_at_once():
    torch.manual_seed(2)
    model = network(torch.float64)
    x = torch.randn(50, 2, dtype=torch.float64)
    y = 10 * torch.sin(3 * x[:, :1] * x[:, 1:])
    optimizer = ExactGaussNewton(model, "squared", damping=1e-9)
    infos = [optimizer.step(x, y) for _ in range(60)]
    losses = [info.loss for info in infos]
    assert all(info.accepted for info in infos)
    assert all(new < old for old, new in zip(losses, losses[1:], strict=False))
    assert max(info.tries for info in infos) > 1


def test_an_interrupted_step_is_undone():
    """The model fails when the step is judged: the weights go back."""
    model, (x, y) = network(), next(batches(1))
    optimizer = ExactGaussNewton(model, "squared")
    before, passes = flat(model.parameters()), []

    def interrupt(*_):
        passes.append(None)
        if len(passes) > 1:
            raise KeyboardInterrupt

    model.register_forward_hook(interrupt)
    with pytest.raises(KeyboardInterrupt):
        optimizer.step(x, y)
    assert torch.equal(flat(model.parameters()), before)


def test_a_step_whose_systems_are_all_singular_is_not_taken(monkeypatch):
    def singular(*_):
        raise ignd.torch.SingularSystem

    model, (x, y) = network(), next(batches(1))
    monkeypatch.setattr(ignd.torch.gauss_newton, "solve_batch", singular)
    before = flat(model.parameters())
    info = ExactGaussNewton(model, "squared", max_tries=3).step(x, y)
    assert torch.equal(flat(model.parameters()), before)
    assert (info.accepted, info.gain, info.tries) == (False, None, 3)
    with pytest.raises(ignd.torch.SingularSystem):
        ExactGaussNewton(model, "squared", adaptive=False).step(x, y)


@pytest.mark.parametrize("samples", [5, 100])
def test_a_linear_model_is_fitted_by_one_step(samples):
    torch.manual_seed(0)
    x, y = torch.randn(samples, 10).double(), torch.randn(samples, 1).double()
    model = nn.Linear(10, 1).double()
    info = ExactGaussNewton(model, "squared", damping=1e-11).step(x, y)
    ones = torch.cat([x, torch.ones(samples, 1)], 1)
    expected = torch.linalg.lstsq(ones, y, driver="gelsd").solution
    assert close(model(x), ones @ expected, 1e-7)
    assert info.gain == pytest.approx(1, abs=1e-6)


def test_logistic_regression_settles_where_the_gradient_vanishes():
    torch.manual_seed(0)
    x = torch.randn(300, 4).double()
    y = torch.bernoulli(torch.sigmoid(x @ torch.tensor([[1.0], [-2.0], [0.5], [0.0]]).double()))
    model = nn.Linear(4, 1).double()
    optimizer = ExactGaussNewton(model, "logistic", eps_c=0.0)
    for _ in range(20):
        optimizer.step(x, y)
    loss = nn.functional.binary_cross_entropy_with_logits(model(x), y)
    assert max(float(g.abs().max()) for g in torch.autograd.grad(loss, list(model.parameters()))) < 1e-9


def test_batches_of_any_size_follow_each_other():
    """Each kind of pass is compared anew; what one left to torch.func, another may not."""
    case = make("as many constants as samples")
    model = case.model
    optimizer = IGND(model, lambda f, y: (f - y).square().sum() / 2, eps_lm=1e-2)
    torch.manual_seed(0)
    for size in (5, 1, 3, 10, 5, 1):
        x, y = torch.randn(size, 5).double(), torch.randn(size, 2).double()
        before, expected = flat(model.parameters()), 0
        for i in range(size):
            twin = copy.deepcopy(model)
            IGND(twin, "squared", eps_lm=1e-2).step(x[i : i + 1], y[i : i + 1])
            expected = expected + (flat(twin.parameters()) - before) / size
        optimizer.step(x, y)
        assert close(flat(model.parameters()) - before, expected, 1e-8)


def test_dropout_learns_through_the_units_that_are_on():
    torch.manual_seed(0)
    model = nn.Sequential(nn.Linear(3, 8), nn.Dropout(0.5), nn.Linear(8, 1)).double()
    x, y = torch.randn(4, 3).double(), torch.randn(4, 1).double()
    twin = copy.deepcopy(model)
    torch.manual_seed(7)
    IGND(model, "squared", lr=0.1, eps_lm=1.0).step(x, y)
    torch.manual_seed(7)
    f = twin(x)
    expected = 0
    for i in range(4):
        j = torch.cat([g.reshape(-1) for g in torch.autograd.grad(f[i, 0], list(twin.parameters()), retain_graph=True)])
        expected = expected - 0.1 / 4 * (f[i, 0] - y[i, 0]).detach() / (j @ j + 1) * j
    assert close(flat(model.parameters()) - flat(twin.parameters()), expected)
    with pytest.raises(ValueError, match="'1' draws another network"):
        ExactGaussNewton(model, "squared").step(x, y)


WRONG = {
    "a closure": (lambda o, x, y: o.step(lambda: 0, y), TypeError, "not a closure"),
    "targets that would broadcast": (lambda o, x, y: o.step(x, y.expand(6, 6)), ValueError, "targets are 6 x 6"),
    "too few targets": (lambda o, x, y: o.step(x, y[:5]), ValueError, "targets are"),
    "no samples": (lambda o, x, y: o.step(x[:0], y[:0]), ValueError, "0 samples"),
    "inputs of two sizes": (lambda o, x, y: o.step((x, x[:2]), y), ValueError, "2 and 6 samples"),
    "inputs that are no tensor": (lambda o, x, y: o.step([[1, 2]], y), TypeError, "inputs must be a tensor"),
    "weights of zero": (lambda o, x, y: o.step(x, y, torch.zeros(6)), ValueError, "not all 0"),
    "weights below zero": (lambda o, x, y: o.step(x, y, -torch.ones(6)), ValueError, "at least 0"),
    "too few weights": (lambda o, x, y: o.step(x, y, torch.ones(2)), ValueError, "there are 6 samples"),
}


@pytest.mark.parametrize("what", WRONG)
@pytest.mark.parametrize("name", ["ignd", "exact"])
def test_wrong_batches_are_refused(what, name):
    model, (x, y) = network(), next(batches(1))
    optimizer, before = OPTIMIZERS[name](model), flat(model.parameters())
    step, error, message = WRONG[what]
    with pytest.raises(error, match=message):
        step(optimizer, x, y)
    assert torch.equal(flat(model.parameters()), before)


def test_wrong_options_are_refused():
    model = network()
    for make_optimizer, message in (
        (lambda: IGND(model, "squred"), "there is no loss 'squred'; known: squared, logistic, softmax"),
        (lambda: IGND(model, 3), "must be a name or a function"),
        (lambda: IGND(model, "squared", lr=-1), "lr is -1"),
        (lambda: IGND(model, "squared", momentum=1.0), "momentum is 1.0"),
        (lambda: IGND(model, "squared", eps_lm=math.nan), "eps_lm is nan"),
        (lambda: AdamIGND(model, "squared", betas=(0.9, 1.0)), "betas is 1.0"),
        (lambda: ExactGaussNewton(model, "squared", damping=0), "damping is 0"),
        (lambda: ExactGaussNewton(model, "squared", max_tries=0), "at least 1"),
        (lambda: IGND(model, "squared", params=nn.Linear(1, 1).parameters()), "not one of the model's"),
        (lambda: IGND(network(torch.bfloat16), "squared"), "'0.weight' is torch.bfloat16"),
        (lambda: IGND(model, nn.CrossEntropyLoss(weight=torch.ones(2))), "reduction='sum'"),
    ):
        with pytest.raises((ValueError, TypeError), match=message):
            make_optimizer()


@pytest.mark.parametrize(("loss", "outputs", "y", "message"), [
    ("logistic", 1, torch.tensor([[0.0], [2.0]]), "neither 0 nor 1"),
    ("softmax", 3, torch.tensor([0, 3]), "not a class from 0 to 2"),
    ("softmax", 3, torch.tensor([0.0, 1.0]), "integers as targets"),
    ("softmax", 1, torch.tensor([0, 0]), "at least two"),
    (lambda f, y: f - y, 1, torch.zeros(2, 1), "must be a single number"),
])
def test_targets_that_the_loss_cannot_take_are_refused(loss, outputs, y, message):
    with pytest.raises(ValueError, match=message):
        IGND(nn.Linear(2, outputs), loss).step(torch.randn(2, 2), y)


def test_several_outputs_need_a_damping():
    with pytest.raises(ValueError, match="eps_lm must be positive"):
        IGND(nn.Linear(2, 3), "squared", eps_lm=0.0).step(torch.randn(2, 2), torch.randn(2, 3))


def test_a_rate_that_would_erase_the_weights_is_refused():
    with pytest.raises(ValueError, match="shrink all weights"):
        IGND(nn.Linear(2, 1), "squared", lr=2, weight_decay=1e6).step(torch.randn(1, 2), torch.randn(1, 1))


def test_the_docstrings_are_true():
    import doctest

    for module in (ignd.torch.optimizers, ignd.torch.gauss_newton):
        assert doctest.testmod(module).failed == 0
        assert doctest.testmod(module).attempted > 0
