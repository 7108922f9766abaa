"""Q-learning in Gymnasium's environments, beside the C++ study on its own lake."""

import gymnasium
import ignd
import numpy as np
import pytest
from ignd import experiments
from ignd.rl import QLearner

STUDY = """\
title = "Episodes"
task = "frozen-lake"
seeds = 3
x-label = "episode"
question = "Are they those of Gymnasium?"
description = "For a test."
metric = { label = "return", better = "higher", scale = "linear" }

[settings]
map = "4x4"
slippery = false
gamma = 0.99
episodes = 200
initial-value = 0
window = 1

[[panel]]
name = "original"
title = "Original features"
settings = { scales = "one" }

[[method]]
name = "IGNDQ"
optimizer = "ignd"
rate = 1

[[method]]
name = "QL"
optimizer = "sgd"
rate = 0.5
"""


def test_episodes_on_frozen_lake_are_those_of_the_study(tmp_path):
    (tmp_path / "episodes.toml").write_text(STUDY)
    runs = experiments.read(experiments.run(tmp_path / "episodes.toml", out=tmp_path / "out", quiet=True))
    assert len(runs) == 6
    for _, run in runs.iterrows():
        lake = gymnasium.make("FrozenLake-v1", map_name="4x4", is_slippery=False)
        learner = QLearner(lake, optimizer=(run["rule"], run["transform"]), rate=float(run["rate"]), seed=run["seed"],
                           epsilon_episodes=100)  # half of the episodes
        ours = [learner.run_episode() for _ in range(200)]
        returns = run["y"][-200:]
        np.testing.assert_array_equal(ours, returns)
        assert 0 < sum(ours)


def test_scales_do_not_matter_to_ignd():
    returns = []
    for scales in (None, np.random.default_rng(1).uniform(1, 1e4, 64)):
        lake = gymnasium.make("FrozenLake-v1", map_name="4x4", is_slippery=False)
        learner = QLearner(lake, scales=scales, seed=2)
        returns.append([learner.run_episode() for _ in range(400)])
    assert returns[0] == returns[1]
    assert np.mean(returns[0][-50:]) > 0.7


@pytest.mark.parametrize(("name", "options"), [
    ("FrozenLake-v1", {}), ("Taxi-v4", {}), ("CliffWalking-v1", {}), ("Blackjack-v1", {}), ("CartPole-v1", {}),
    ("CartPole-v1", {"hidden": [8]}), ("Acrobot-v1", {"hidden": [8]}), ("Blackjack-v1", {"hidden": [8]}),
    ("MountainCarContinuous-v0", {"actions": [-1, 0, 1]}), ("Pendulum-v1", {"actions": [[-2], [0], [2]], "hidden": [8]}),
])
def test_gymnasiums_own_environments(name, options):
    environment = gymnasium.make(name, max_episode_steps=60)
    learner = QLearner(environment, rate=0.1, **options)
    for _ in range(3):
        assert np.isfinite(learner.run_episode())
    assert not learner.diverged
    assert learner.trainer.steps > 0
    assert np.isfinite(learner.values(environment.reset()[0])).all()


def test_states_and_actions_that_do_not_start_at_zero():
    class Shifted(gymnasium.Env):
        observation_space = gymnasium.spaces.Discrete(2, start=5)
        action_space = gymnasium.spaces.Discrete(2, start=-1)

        def reset(self, *, seed=None, options=None):
            return 5, {}

        def step(self, action):
            assert action in (-1, 0)
            return 6, float(action), True, False, {}

    learner = QLearner(Shifted(), rate=0.5)
    for _ in range(60):
        learner.run_episode()
    np.testing.assert_allclose(learner.values(5), [-1, 0], atol=0.01)


class Corridor(gymnasium.Env):
    """Six cells; the door at the right end is worth 1. The observation is a vector with a 1 at the cell."""

    def __init__(self):
        self.observation_space = gymnasium.spaces.Box(0, 1, (6,))
        self.action_space = gymnasium.spaces.Discrete(2)
        self.cell = 0

    def observation(self):
        return np.eye(6)[self.cell]

    def reset(self, *, seed=None, options=None):
        self.cell = 0
        return self.observation(), {}

    def step(self, action):
        self.cell = max(0, self.cell + (1 if action == 1 else -1))
        done = self.cell == 6
        return np.zeros(6) if done else self.observation(), float(done), done, False, {}


@pytest.mark.parametrize(("hidden", "rate", "within"), [((), 0.5, 1e-3), ((32,), 0.3, 0.05)])
def test_values_are_discounted_by_the_distance(hidden, rate, within):
    environment = Corridor()
    learner = QLearner(environment, hidden=hidden, rate=rate, gamma=0.9, epsilon_to=0.3, seed=1)
    for _ in range(600):
        learner.run_episode()
    # Going right from cell k, the door is 6 - k steps away; going left costs a step more to come back, or two.
    for cell in range(6):
        right, left = 0.9 ** (5 - cell), 0.9 ** (7 - max(cell, 1))
        np.testing.assert_allclose(learner.values(np.eye(6)[cell]), [left, right], atol=within)


def test_divergence_is_told():
    lake = gymnasium.make("FrozenLake-v1", map_name="4x4", is_slippery=False)
    learner = QLearner(lake, optimizer="sgd", rate=1.0, scales=[1e4] * 64, seed=1)
    returns = [learner.run_episode() for _ in range(600)]
    assert learner.diverged
    assert returns[-1] == 0


def test_bad_arguments():
    lake = gymnasium.make("FrozenLake-v1")
    with pytest.raises(ignd.InvalidArgument, match="64 pairs"):
        QLearner(lake, scales=[1.0])
    with pytest.raises(ignd.InvalidArgument, match="hidden layers"):
        QLearner(lake, hidden=[8])
    with pytest.raises(ignd.InvalidArgument, match="as `actions`"):
        QLearner(gymnasium.make("Pendulum-v1"))
    with pytest.raises(ignd.InvalidArgument, match="some of"):
        QLearner(gymnasium.make("Pendulum-v1"), actions=[[3.0]])
    with pytest.raises(ignd.InvalidArgument, match="need states"):
        QLearner(gymnasium.make("CartPole-v1"), scales=[1.0])
