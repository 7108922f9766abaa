"""Linear policies in Gymnasium's environments, beside the C++ study."""

import math
import warnings

import gymnasium
import ignd
import numpy as np
import pytest
from gymnasium.utils.env_checker import check_env
from ignd import _core, experiments
from ignd.control import LinearQuadraticEnv, LinearSystem, PolicyLearner, system_names

STUDY = """\
title = "Improvements"
task = "lqr"
seeds = 2
x-label = "improvement"
question = "Are they those of Gymnasium?"
description = "For a test."
metric = {{ label = "policy error", better = "lower", scale = "log" }}

[settings]
system = "{system}"
updates = {updates}
improvements = 6
noise = {noise}
evaluation = "{evaluation}"
horizon = {horizon}

[[panel]]
name = "panel"
title = "Panel"

[[method]]
name = "IGNDQ"
optimizer = "nlms"
rate = 1
"""


class StudyDraws(np.random.Generator):
    """The streams of random numbers that the study draws from, in its order."""

    def __init__(self, seed, name):
        super().__init__(np.random.PCG64(0))
        self.stream, self.scales = _core.RandomStream(seed, name), _core.RandomStream(seed, "exploration scale")
        self.ready = []

    def uniform(self, low, high):
        return low + (high - low) * self.scales.uniform()

    def standard_normal(self, size):
        return np.array([self.normal_number() for _ in range(size)])

    def normal_number(self):  # Marsaglia's polar method, in pairs
        while not self.ready:
            u, v = (2 * self.stream.uniform() - 1 for _ in range(2))
            square = u * u + v * v
            if 0 < square < 1:
                stretch = math.sqrt(-2 * math.log(square) / square)
                self.ready = [stretch * v, stretch * u]
        return self.ready.pop()


class StudyEnvironment(LinearQuadraticEnv):
    """Draws its states from the learner's stream, and noise from its own, as the study does."""

    def __init__(self, draws, noises, **options):
        super().__init__(**options)
        self.draws, self.noises = draws, noises

    def reset(self, *, seed=None, options=None):
        self.state = options["scale"] * self.draws.standard_normal(len(self.state))
        return self.state.copy(), {}

    def step(self, action):
        self._np_random = self.noises
        return super().step(action)


@pytest.mark.parametrize(("system", "evaluation", "noise", "horizon", "updates"), [
    ("uav", "td", 0, 0, 2000), ("he1", "held-targets", 0, 0, 2000), ("he2", "rls-td", 0, 0, 500),
    ("he2", "held-targets", 0.01, 3000, 2000), ("ac5", "held-targets", 0, 500, 1000),
])
def test_improvements_are_those_of_the_study(tmp_path, system, evaluation, noise, horizon, updates):
    study = STUDY.format(system=system, evaluation=evaluation, noise=noise, horizon=horizon, updates=updates)
    (tmp_path / "study.toml").write_text(study)
    runs = experiments.read(experiments.run(tmp_path / "study.toml", out=tmp_path / "out", quiet=True))
    assert len(runs) == 2
    for _, run in runs.iterrows():
        draws, noises = StudyDraws(run["seed"], "states and actions"), StudyDraws(run["seed"], "process noise")
        environment = StudyEnvironment(draws, noises, system=system, noise=noise)
        learner = PolicyLearner(environment, evaluation=evaluation, horizon=horizon, constant=noise > 0, seed=draws)
        best = environment.system.best_policy(0.9)
        errors = [np.linalg.norm(best)]
        while learner.improvements + learner.rejections < 6:
            learner.evaluate(updates)
            if learner.improve():
                errors.append(np.linalg.norm(best - learner.policy))
                if learner.last_change <= 1e-10:
                    break
        assert run["status"] == "finished"
        # Two ways to add up the same numbers: the last digits differ.
        np.testing.assert_allclose(errors[: len(run["y"])], run["y"], rtol=1e-6, atol=1e-11)


def test_default_settings_solve_systems_that_nobody_tuned():
    for name in ("ac3", "he1", "he2"):
        environment = LinearQuadraticEnv(name)
        learner = PolicyLearner(environment)
        learner.run()
        np.testing.assert_allclose(learner.policy, environment.system.best_policy(0.9), atol=1e-6)


def test_a_system_of_ones_own():
    cart = LinearSystem.continuous([[0, 1], [0, -0.1]], [[0], [1]], q=[[4, 0], [0, 1]], r=[[0.5]])
    start = [[-1, -1]]
    assert cart.radius(start, 0.98) < 1 <= cart.radius([[1, 1]], 1.0)
    learner = PolicyLearner(LinearQuadraticEnv(cart, noise=0.0), gamma=0.98, policy=start, evaluation="rls-td")
    learner.run()
    best = cart.best_policy(0.98)
    np.testing.assert_allclose(learner.policy, best, atol=1e-8)
    # No policy beside it is better: the learned values say so, too.
    state = np.array([1.0, -2.0])
    values = [learner.value(state, best @ state + change) for change in (-0.1, 0.0, 0.1)]
    assert values[1] > max(values[0], values[2])
    z = np.concatenate([state, best @ state])
    assert z @ learner.matrix @ z == pytest.approx(values[1])


def test_learned_values_are_discounted_sums_of_rewards():
    system = LinearSystem.named("nn4")
    environment = LinearQuadraticEnv(system)
    learner = PolicyLearner(environment, evaluation="rls-td")
    learner.evaluate(3000)
    environment.reset(seed=3)
    state = environment.state.copy()
    total, action = 0.0, np.full(system.b.shape[1], 0.3)
    expected = learner.value(state, action)
    for k in range(400):
        state, reward, *_ = environment.step(action)
        total += 0.9**k * reward
        action = learner.act(state)
    assert total == pytest.approx(expected, rel=1e-6)


def test_any_environment_of_numbers():
    for name in ("Pendulum-v1", "MountainCarContinuous-v0"):
        environment = gymnasium.make(name)
        learner = PolicyLearner(environment, evaluation="rls-td", constant=True, accept="actions", gamma=0.9)
        learner.evaluate(300)
        learner.improve()
        observation, _ = environment.reset(seed=1)
        for _ in range(20):
            action = learner.act(observation)
            assert environment.action_space.contains(action)
            observation, *_ = environment.step(action)


def test_the_end_of_a_task_is_worth_nothing():
    class Once(gymnasium.Env):
        """One step with the reward -(s - a)^2: the best action is s."""

        observation_space = gymnasium.spaces.Box(-np.inf, np.inf, (1,), np.float64)
        action_space = gymnasium.spaces.Box(-np.inf, np.inf, (1,), np.float64)

        def reset(self, *, seed=None, options=None):
            super().reset(seed=seed)
            self.state = self.np_random.normal(size=1)
            return self.state, {}

        def step(self, action):
            return self.state, -float(self.state[0] - action[0]) ** 2, True, False, {}

    learner = PolicyLearner(Once(), evaluation="rls-td", gamma=0.99, accept="actions")
    learner.run(improvements=3, updates=500)
    np.testing.assert_allclose(learner.policy, [[1.0]], atol=1e-6)
    np.testing.assert_allclose(learner.matrix, [[-1, 1], [1, -1]], atol=1e-6)


def test_the_environment_keeps_gymnasiums_rules():
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of spaces without bounds
        check_env(LinearQuadraticEnv("he1", noise=0.1), skip_render_check=True)
    limited = gymnasium.wrappers.TimeLimit(LinearQuadraticEnv("bdt"), 5)
    limited.reset(seed=1)
    assert [limited.step(np.zeros(3))[3] for _ in range(5)] == [False] * 4 + [True]


def test_names():
    assert {"uav", "bdt", "he1"} <= set(system_names())
    for name in system_names():
        system = LinearSystem.named(name)
        assert system.a.shape[0] == system.a.shape[1] == system.b.shape[0]


@pytest.mark.parametrize(("make", "message"), [
    (lambda: LinearSystem.named("uvw"), "no system 'uvw'"),
    (lambda: LinearSystem.discrete([[1, 0]], [[1]]), "2|square|rows"),
    (lambda: LinearSystem.discrete([[1]], [[1]], q=[[-1]]), "Q|positive"),
    (lambda: LinearSystem.continuous([[1]], [[1]], period=0), "period"),
    (lambda: LinearQuadraticEnv("he1", noise=-1), "noise"),
    (lambda: PolicyLearner(gymnasium.make("CartPole-v1")), "QLearner"),
    (lambda: PolicyLearner(LinearQuadraticEnv("he1"), policy=[[1, 2]]), "1 x 2, but must be 2 x 4"),
    (lambda: PolicyLearner(LinearQuadraticEnv("he1"), evaluation="ql"), "held-targets"),
    (lambda: PolicyLearner(LinearQuadraticEnv("he1"), accept="all"), "accepted"),
    (lambda: PolicyLearner(LinearQuadraticEnv("he1"), gamma=2), "gamma"),
    (lambda: PolicyLearner(LinearQuadraticEnv("he1"), hold=0), "held"),
    (lambda: PolicyLearner(LinearQuadraticEnv("he1"), episode_steps=0), "step"),
    (lambda: PolicyLearner(LinearQuadraticEnv("he1"), exploration=(1, 0)), "exploration"),
    (lambda: PolicyLearner(LinearQuadraticEnv("he1"), policy=[[float("nan")] * 4] * 2), "finite"),
])
def test_bad_arguments(make, message):
    with pytest.raises(ignd.IgndError, match=message):
        make()


def test_divergence_is_told():
    learner = PolicyLearner(LinearQuadraticEnv("ac3"), evaluation="td")
    with pytest.raises(ignd.LearningEnded, match="diverged"):
        learner.run(improvements=50)
    with pytest.raises(ignd.InvalidArgument, match="1 states"):
        PolicyLearner(LinearQuadraticEnv("he1")).learn([1.0], [1.0, 0.0], 0.0, [1.0] * 4)
