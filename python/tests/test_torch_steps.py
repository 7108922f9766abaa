"""The steps of ignd.torch against dense solves of their systems, with Jacobians and Hessians by autograd alone."""

from __future__ import annotations

import copy

import pytest

torch = pytest.importorskip("torch")

import torch_reference as reference  # noqa: E402
from torch import nn  # noqa: E402
from torch.nn import functional  # noqa: E402
from torch_reference import close, dense_jacobian, flat, loss_derivatives, make  # noqa: E402

import ignd.torch  # noqa: E402
from ignd.torch import IGND, AdamIGND, ExactGaussNewton  # noqa: E402
from ignd.torch.system import Root  # noqa: E402

pytestmark = pytest.mark.filterwarnings("ignore:There is a performance drop", "ignore:torch.func cannot vectorise",
                                        "ignore:Lazy modules")

# What the optimizer is given, the same loss in one's own words, and targets for outputs f.
LOSSES = {
    "squared": ("squared", reference.squared, torch.randn_like),
    "logistic": ("logistic", reference.logistic, lambda f: torch.bernoulli(torch.full_like(f, 0.5))),
    "softmax": ("softmax", reference.softmax, lambda f: torch.randint(0, f.shape[1], f.shape[:1])),
    "own": (reference.log_cosh, reference.log_cosh, torch.randn_like),
    "of torch": (functional.cross_entropy, reference.softmax, lambda f: torch.randint(0, f.shape[1], f.shape[:1])),
}
NETWORKS = ["linear", "mlp", "several outputs", "convolutional network", "embedding with padding", "dead units",
            "layer used three times", "layer norm", "output without a dimension"]
PAIRS = [(network, loss) for network in NETWORKS for loss in LOSSES
         if loss not in ("softmax", "of torch") or network in ("several outputs", "convolutional network")]


class Problem:
    """A network, a loss and a batch, with everything dense."""

    def __init__(self, network, loss, seed=0):
        case = make(network, seed)
        self.model, self.inputs = case.model, case.inputs
        self.loss, self.in_own_words, targets = LOSSES[loss]
        with torch.no_grad():
            output = self.model(self.inputs)
        self.y = targets(output)
        self.parameters = list(self.model.parameters())
        self.j = dense_jacobian(self.model, self.inputs, self.parameters)
        self.value, self.slope, self.hessian = loss_derivatives(self.in_own_words, output, self.y)
        self.samples, self.outputs = self.slope.shape
        self.before = flat(self.parameters)

    def of_sample(self, i):
        return self.j[i * self.outputs : (i + 1) * self.outputs]

    def averaged(self, eps_c, eps_lm, share=None):
        """The mean of the damped steps of single samples, from one system of size p each."""
        total = torch.zeros_like(self.before)
        for i in range(self.samples):
            j = self.of_sample(i)
            curvature = self.hessian[i] + eps_c * torch.eye(self.outputs)
            matrix = j.T @ curvature @ j + eps_lm * torch.eye(j.shape[1])
            step = torch.linalg.solve(matrix, -j.T @ self.slope[i])
            total += step * (1 / self.samples if share is None else share[i])
        return total

    def exact(self, eps_c, damping, decay=0.0, share=None):
        """The damped step of the whole batch, from one system of size p; decay may be a vector."""
        decay = torch.as_tensor(decay, dtype=torch.float64).expand_as(self.before)
        share = torch.full((self.samples,), 1 / self.samples) if share is None else share
        matrix, gradient = torch.diag(damping + decay), decay * self.before
        for i in range(self.samples):
            j = self.of_sample(i)
            matrix = matrix + share[i] * j.T @ (self.hessian[i] + eps_c * torch.eye(self.outputs)) @ j
            gradient = gradient + share[i] * j.T @ self.slope[i]
        return torch.linalg.solve(matrix, -gradient)

    def moved(self):
        return flat(self.parameters) - self.before


@pytest.fixture(autouse=True)
def in_double():
    torch.set_default_dtype(torch.float64)
    yield
    torch.set_default_dtype(torch.float32)


@pytest.mark.parametrize(("network", "loss"), PAIRS)
def test_averaged_steps(network, loss):
    problem = Problem(network, loss)
    info = IGND(problem.model, problem.loss, lr=0.3, eps_c=0.02, eps_lm=1e-3).step(problem.inputs, problem.y)
    assert close(problem.moved(), 0.3 * problem.averaged(0.02, 1e-3), 1e-8)
    assert info == ignd.torch.StepInfo(1, problem.samples, pytest.approx(float(problem.value.mean()), rel=1e-10))


@pytest.mark.parametrize(("network", "loss"), PAIRS)
@pytest.mark.parametrize("copies", [1, 40])
def test_exact_steps_on_either_side(network, loss, copies):
    """Copies of the samples change nothing, but make the parameters the smaller side."""
    problem = Problem(network, loss)
    inputs, y = (torch.cat([t] * copies) for t in (problem.inputs, problem.y))
    optimizer = ExactGaussNewton(problem.model, problem.loss, lr=0.5, damping=1e-2, adaptive=False, eps_c=0.02,
                                 weight_decay=0.03)
    info = optimizer.step(inputs, y)
    assert close(problem.moved(), 0.5 * problem.exact(0.02, 1e-2, 0.03), 1e-8)
    assert (info.damping, info.gain, info.accepted, info.tries) == (1e-2, None, True, 1)


@pytest.mark.parametrize("loss", ["own", "of torch", "softmax"])
def test_losses_without_curvature_in_some_directions(loss):
    """Softmax has none along all logits together; eps_c = 0 keeps it so."""
    problem = Problem("several outputs", loss)
    optimizer = ExactGaussNewton(problem.model, problem.loss, damping=1e-2, adaptive=False, eps_c=0.0)
    optimizer.step(problem.inputs, problem.y)
    assert close(problem.moved(), problem.exact(0.0, 1e-2), 1e-8)


def test_a_slope_without_any_curvature():
    """The pinball loss has none at all: the step is a gradient step, -l_f j / damping."""
    def pinball(f, y):
        return torch.maximum(0.3 * (y - f), -0.7 * (y - f)).sum()

    for make_optimizer, scale in ((lambda m: IGND(m, pinball, lr=1, eps_lm=0.1), 1 / 0.1),
                                  (lambda m: ExactGaussNewton(m, pinball, damping=0.1, adaptive=False), 1 / 0.1)):
        problem = Problem("several outputs", "squared")
        _, slope, _ = loss_derivatives(pinball, problem.model(problem.inputs), problem.y)
        make_optimizer(problem.model).step(problem.inputs, problem.y)
        assert close(problem.moved(), -scale * problem.j.T @ slope.reshape(-1) / problem.samples)


@pytest.mark.parametrize("network", ["mlp", "convolutional network", "layer norm"])
@pytest.mark.parametrize("copies", [1, 40])
def test_groups_have_rates_and_decays_of_their_own(network, copies):
    problem = Problem(network, "squared")
    weights = [p for p in problem.parameters if p.ndim > 1]
    others = [p for p in problem.parameters if p.ndim == 1]
    groups = [{"params": weights, "weight_decay": 0.1, "lr": 0.5}, {"params": others}]
    inputs, y = (torch.cat([t] * copies) for t in (problem.inputs, problem.y))
    ExactGaussNewton(problem.model, "squared", params=groups, lr=0.25, damping=1e-2, adaptive=False).step(inputs, y)
    rates = torch.cat([torch.full((p.numel(),), 0.5 if p.ndim > 1 else 0.25) for p in problem.parameters])
    decays = torch.cat([torch.full((p.numel(),), 0.1 if p.ndim > 1 else 0.0) for p in problem.parameters])
    assert close(problem.moved(), rates * problem.exact(0.0, 1e-2, decays), 1e-8)


@pytest.mark.parametrize("copies", [1, 40])
def test_weights_count_copies(copies):
    problem = Problem("several outputs", "softmax")
    weights = torch.tensor([2.0, 0.0, 1.0, 0.5, 3.0])
    inputs, y, all_weights = (torch.cat([t] * copies) for t in (problem.inputs, problem.y, weights))
    share = weights / weights.sum()
    initial = copy.deepcopy(problem.model.state_dict())
    IGND(problem.model, "softmax", lr=1, eps_lm=1e-2).step(inputs, y, all_weights)
    assert close(problem.moved(), problem.averaged(0.01, 1e-2, share), 1e-8)
    problem.model.load_state_dict(initial)
    info = ExactGaussNewton(problem.model, "softmax", damping=1e-2, adaptive=False).step(inputs, y, all_weights)
    assert close(problem.moved(), problem.exact(0.01, 1e-2, share=share), 1e-8)
    assert info.loss == pytest.approx(float(share @ problem.value), rel=1e-10)


@pytest.mark.parametrize("network", ["mlp", "convolutional network", "embedding with padding", "layer norm"])
@pytest.mark.parametrize("copies", [1, 40])
def test_chunks_and_little_memory_change_nothing_but_roundings(network, copies):
    problem = Problem(network, "squared")
    inputs, y = (torch.cat([t] * copies) for t in (problem.inputs, problem.y))
    initial = copy.deepcopy(problem.model.state_dict())
    size = 24 * problem.before.numel() ** 2  # the least that is allowed on the side of the parameters
    for more in ({"chunk_size": 3}, {"memory": size if copies > 1 else 2**32}):
        problem.model.load_state_dict(initial)
        ExactGaussNewton(problem.model, "squared", damping=1e-2, adaptive=False, **more).step(inputs, y)
        assert close(problem.moved(), problem.exact(0.0, 1e-2), 1e-8)


def test_a_system_beyond_the_memory_is_refused_with_its_size():
    problem = Problem("mlp", "squared")
    optimizer = ExactGaussNewton(problem.model, "squared", memory=500)
    with pytest.raises(ValueError, match="takes 0.0008 MB, more than the 0.0005 MB allowed"):
        optimizer.step(problem.inputs, problem.y)
    assert not problem.moved().any()


@pytest.mark.parametrize("network", ["linear", "mlp", "output without a dimension", "embedding of one token",
                                     "embedding used twice", "short sequence of wide vectors"])
def test_a_batch_of_one_is_the_step_of_the_paper(network):
    """Averaged and exact, they are w -= lr l_f / ((l_ff + eps_c) ||j||^2 + eps_lm) j for one output."""
    problem = Problem(network, "squared")
    x, y = problem.inputs[:1], problem.y[:1]
    j = problem.j[0]
    expected = -0.4 * problem.slope[0, 0] / (j @ j + 1e-3) * j
    initial = copy.deepcopy(problem.model.state_dict())
    IGND(problem.model, "squared", lr=0.4, eps_lm=1e-3).step(x, y)
    assert close(problem.moved(), expected)
    problem.model.load_state_dict(initial)
    ExactGaussNewton(problem.model, "squared", lr=0.4, damping=1e-3, adaptive=False).step(x, y)
    assert close(problem.moved(), expected)


@pytest.mark.parametrize("eps_lm", [0.0, 1e-5])
def test_a_sample_without_sensitivity_moves_nothing(eps_lm):
    model = nn.Linear(3, 1, bias=False)
    before = flat(model.parameters())
    IGND(model, "squared", eps_lm=eps_lm).step(torch.zeros(1, 3), torch.ones(1, 1))
    assert torch.equal(flat(model.parameters()), before)
    info = ExactGaussNewton(model, "squared").step(torch.zeros(1, 3), torch.ones(1, 1))
    assert torch.equal(flat(model.parameters()), before)
    assert info.gain is None


def test_the_overall_scale_of_the_features_cancels():
    """The point of the method: undamped steps of a linear model predict the same, whatever the unit."""
    torch.manual_seed(3)
    x, y = torch.randn(30, 3), torch.randn(30, 1)
    predictions = []
    for scale in (1.0, 1e3):
        model = nn.Linear(3, 1, bias=False)
        nn.init.zeros_(model.weight)
        optimizer = IGND(model, "squared", lr=0.5, eps_lm=0.0)
        for i in range(30):
            optimizer.step(scale * x[i : i + 1], y[i : i + 1])
        predictions.append(model(scale * x))
    assert close(*predictions, 1e-12)


@pytest.mark.parametrize("outputs", [1, 3])
def test_weight_decay_of_averaged_steps(outputs):
    """d = -xi (l_f j + decay w) with xi the inverse of the largest eigenvalue of the damped matrix: docs/math.md."""
    problem = Problem("linear" if outputs == 1 else "several outputs", "squared")
    IGND(problem.model, "squared", lr=0.2, weight_decay=0.05, eps_lm=1e-2).step(problem.inputs, problem.y)
    xi = 0.0
    for i in range(problem.samples):
        j = problem.of_sample(i)
        largest = torch.linalg.eigvalsh(j.T @ problem.hessian[i] @ j)[-1]
        xi += 1 / (problem.samples * (largest + 1e-2 + 0.05))
    expected = 0.2 * (problem.averaged(0.0, 1e-2 + 0.05) - xi * 0.05 * problem.before)
    assert close(problem.moved(), expected, 1e-8)


def test_momentum_adds_up_earlier_directions():
    problem = Problem("embedding with padding", "squared")
    optimizer = IGND(problem.model, "squared", lr=0.1, momentum=0.9, eps_lm=1e-3)
    velocity, expected = torch.zeros_like(problem.before), problem.before
    for _ in range(3):
        problem.slope = loss_derivatives(problem.in_own_words, problem.model(problem.inputs), problem.y)[1]
        problem.j = dense_jacobian(problem.model, problem.inputs, problem.parameters)
        velocity = 0.9 * velocity - problem.averaged(0.0, 1e-3)
        expected = expected - 0.1 * velocity
        optimizer.step(problem.inputs, problem.y)
    assert close(flat(problem.parameters), expected, 1e-8)


@pytest.mark.parametrize("decoupled", [0.0, 0.1])
def test_adam_ignd_is_adam_with_other_gradients(decoupled):
    """The direction of IGND, handed to torch's own Adam as a gradient."""
    problem = Problem("several outputs", "squared")
    twin = copy.deepcopy(problem.model)
    adam = torch.optim.AdamW(twin.parameters(), lr=0.02, betas=(0.8, 0.95), eps=1e-6, weight_decay=decoupled)
    optimizer = AdamIGND(problem.model, "squared", lr=0.02, betas=(0.8, 0.95), eps=1e-6, eps_lm=1e-3,
                         decoupled_weight_decay=decoupled)
    for _ in range(4):
        problem.slope = loss_derivatives(problem.in_own_words, problem.model(problem.inputs), problem.y)[1]
        problem.j = dense_jacobian(problem.model, problem.inputs, problem.parameters)
        gradient = -problem.averaged(0.0, 1e-3)
        for p, part in zip(twin.parameters(), gradient.split([p.numel() for p in twin.parameters()]), strict=True):
            p.grad = part.view_as(p)
        adam.step()
        optimizer.step(problem.inputs, problem.y)
    assert close(flat(problem.parameters), flat(twin.parameters()), 1e-8)


def test_single_precision_follows_double():
    problem = Problem("convolutional network", "softmax")
    single = copy.deepcopy(problem.model).float()
    IGND(single, "softmax", lr=0.3, eps_lm=1e-3).step(problem.inputs.float(), problem.y)
    assert close(flat(single.parameters()).double() - problem.before, 0.3 * problem.averaged(0.01, 1e-3), 1e-4)


@pytest.mark.parametrize("outputs", [2, 5])
@pytest.mark.parametrize("eps_c", [0.0, 0.3])
def test_roots_of_semidefinite_curvatures(outputs, eps_c):
    torch.manual_seed(outputs)
    half = torch.randn(7, outputs, outputs - 1)
    curvature, slope = half @ half.mT, torch.randn(7, outputs)
    root = Root.of(curvature, slope, eps_c)
    assert close(root.root @ root.root.mT, curvature + eps_c * torch.eye(outputs), 1e-10)
    assert close(root.slope(), slope)
    assert bool(root.rest.any()) == (eps_c == 0)


NOT_CONVEX = {
    "one output": (lambda f, y: -(f - y).square().sum(), 1),
    "all outputs": (lambda f, y: -(f - y).square().sum(), 3),
    "across the outputs": (lambda f, y: (f - y).square().sum() / 2 + 3 * f[0] * f[1], 2),
}


@pytest.mark.parametrize("name", NOT_CONVEX)
@pytest.mark.parametrize("optimizer", [IGND, ExactGaussNewton])
def test_losses_that_are_not_convex_are_refused(name, optimizer):
    loss, outputs = NOT_CONVEX[name]
    model = nn.Linear(2, outputs)
    before = flat(model.parameters())
    with pytest.raises(ignd.torch.NonConvexLoss, match="negative second derivative"):
        optimizer(model, loss, eps_c=0.1).step(torch.randn(4, 2), torch.randn(4, outputs))
    assert torch.equal(flat(model.parameters()), before)
