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
settings = { scales = "one" }

[[method]]
name = "IGNDQ"
optimizer = "ignd"
rates = [1]

[[method]]
name = "QL"
optimizer = "sgd"
rates = [0.5]
"""


def test_episodes_on_frozen_lake_are_those_of_the_study(tmp_path):
    (tmp_path / "episodes.toml").write_text(STUDY)
    runs = experiments.read(experiments.run(tmp_path / "episodes.toml", out=tmp_path / "out", quiet=True))
    assert len(runs) == 6
    for _, run in runs.iterrows():
        lake = gymnasium.make("FrozenLake-v1", map_name="4x4", is_slippery=False)
        learner = QLearner(lake, optimizer=(run["rule"], run["transform"]), rate=float(run["rate"]), seed=run["seed"])
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


@pytest.mark.parametrize(("hidden", "rate"), [((), 0.02), ((32,), 0.05)])
def test_a_pole_is_balanced_longer(hidden, rate):
    learner = QLearner(gymnasium.make("CartPole-v1"), hidden=hidden, rate=rate, epsilon_episodes=60, seed=1)
    returns = [learner.run_episode() for _ in range(150)]
    assert not learner.diverged
    assert np.mean(returns[-40:]) > 1.3 * np.mean(returns[:20])


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
