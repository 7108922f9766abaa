"""Q-learning in Gymnasium's environments, by Gauss-Newton steps (IGNDQ) or by any other optimizer."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Protocol

import numpy as np

from ignd import _core
from ignd._library import Model, Trainer, hashed_linear, linear, mlp


class Environment(Protocol):
    """What is used of a Gymnasium environment; see gymnasium.Env."""

    observation_space: Any
    action_space: Any

    def reset(
        self, *, seed: int | None = None, options: dict[str, Any] | None = None
    ) -> tuple[Any, dict[str, Any]]: ...

    def step(self, action: Any) -> tuple[Any, Any, bool, bool, dict[str, Any]]: ...


class _TableValues:
    """A value for each state and action: linear in one-hot features, each with a scale of its own."""

    def __init__(self, states: int, actions: int, scales: Sequence[float] | None, initial: float) -> None:
        pairs = states * actions
        self._actions = actions
        self._scales = np.ones(pairs) if scales is None else np.asarray(scales, dtype=np.float64)
        if self._scales.shape != (pairs,) or not np.all(np.isfinite(self._scales) & (self._scales != 0)):
            raise _core.InvalidArgument(f"there must be a finite scale other than 0 for each of {pairs} pairs")
        self.model: Model = hashed_linear(max(1, (pairs - 1).bit_length()), bias=False, dtype=np.float64)
        self.model.parameters[:pairs] = initial / self._scales

    def of(self, state: Any) -> np.ndarray:
        """The values of all actions."""
        first = int(state) * self._actions
        part = slice(first, first + self._actions)
        values: np.ndarray = self._scales[part] * self.model.parameters[part]
        return values

    def learn(self, trainer: Trainer, state: Any, action: int, target: float) -> _core.StepInfo:
        """A step of one value towards a target."""
        feature = int(state) * self._actions + action
        return trainer.step(self._scales[feature : feature + 1], target, index=[feature])


class _FunctionValues:
    """Values from the numbers of an observation: a linear function for each action, or one network."""

    def __init__(self, size: int, actions: int, hidden: Sequence[int], seed: int) -> None:
        self._size, self._actions, self._linear = size, actions, not hidden
        width = actions * (size + 1) if self._linear else size + actions
        self._inputs = np.zeros((actions, width))
        self.model: Model = (linear(width, bias=False, dtype=np.float64) if self._linear
                             else mlp([width, *hidden], seed=seed, dtype=np.float64))

    def _features(self, observation: Any) -> np.ndarray:
        numbers = np.ravel(np.asarray(observation, dtype=np.float64))
        if len(numbers) != self._size:
            raise _core.InvalidArgument(f"an observation has {len(numbers)} numbers, but the space says {self._size}")
        self._inputs[:] = 0
        for action in range(self._actions):
            if self._linear:
                first = action * (len(numbers) + 1)
                self._inputs[action, first : first + len(numbers)] = numbers
                self._inputs[action, first + len(numbers)] = 1
            else:
                self._inputs[action, : len(numbers)] = numbers
                self._inputs[action, len(numbers) + action] = 1
        return self._inputs

    def of(self, observation: Any) -> np.ndarray:
        """The values of all actions."""
        values: Any = self.model.predict(self._features(observation))
        return np.asarray(values)

    def learn(self, trainer: Trainer, observation: Any, action: int, target: float) -> _core.StepInfo:
        """A step of one value towards a target."""
        return trainer.step(self._features(observation)[action], target)


class QLearner:
    """Learns the values of actions: IGNDQ with the optimizer 'ignd', Q-learning with 'sgd'.

    Values are a table for discrete observations. For numbers, they are a linear function for each action or, with
    `hidden` layers, one network; observations of other kinds (tuples, dicts, several choices) are flattened to numbers
    as gymnasium.spaces.flatten does. Actions are those of a Discrete space; of any other, `actions` lists some to choose
    among. The share of random actions falls linearly from `epsilon_from` to `epsilon_to` over `epsilon_episodes`
    episodes. In a deterministic environment, runs of a seed are those of the study `frozen-lake`, step by step.
    """

    def __init__(
        self,
        environment: Environment,
        *,
        actions: Sequence[Any] | None = None,
        optimizer: str | tuple[str, str] = "ignd",
        rate: float = 1.0,
        gamma: float = 0.99,
        hidden: Sequence[int] = (),
        scales: Sequence[float] | None = None,
        epsilon_from: float = 1.0,
        epsilon_to: float = 0.05,
        epsilon_episodes: int = 300,
        initial_value: float = 0.0,
        tie_tolerance: float = 1e-3,
        seed: int = 1,
    ) -> None:
        self.environment = environment
        self._choices = _actions_of(environment.action_space, actions)
        self.actions = len(self._choices)
        self._space = environment.observation_space
        states = _states_of(self._space)
        self._values: _TableValues | _FunctionValues
        if states is not None and not hidden:
            self._values = _TableValues(states, self.actions, scales, initial_value)
        elif states is None:
            if scales is not None or initial_value != 0:
                raise _core.InvalidArgument("scales and an initial value need states, not observations of numbers")
            self._values = _FunctionValues(_flat_size(self._space), self.actions, hidden, seed)
        else:
            raise _core.InvalidArgument("hidden layers need observations that are numbers, not states")
        self.trainer = Trainer(self._values.model, optimizer=optimizer, schedule=rate)
        self.gamma, self.tie_tolerance = gamma, tie_tolerance
        self._epsilon = (epsilon_from, epsilon_to, epsilon_episodes)
        self._random = _core.RandomStream(seed, "agent")
        self._seed = seed
        self.episodes = 0
        self.diverged = False

    @property
    def model(self) -> Model:
        """The function whose values are learned."""
        return self._values.model

    @property
    def epsilon(self) -> float:
        """The share of random actions in the next episode."""
        first, last, episodes = self._epsilon
        return last if self.episodes >= episodes else first + self.episodes / episodes * (last - first)

    def values(self, observation: Any) -> np.ndarray:
        """The values of all actions."""
        return self._values.of(self._seen(observation))

    def _seen(self, observation: Any) -> Any:
        if isinstance(self._values, _TableValues):
            return int(observation) - int(getattr(self._space, "start", 0))
        return observation if _is_box(self._space) else _flat(self._space, observation)

    def act(self, observation: Any, epsilon: float = 0.0) -> int:
        """The number of one of the best actions, from 0; with the probability epsilon, of any."""
        if self._random.uniform() >= epsilon:
            values = self.values(observation)
            best = values.max()
            ties = np.flatnonzero(values >= best - self.tie_tolerance * abs(best))
            if len(ties) == 1:
                return int(ties[0])
            if len(ties) > 1:
                return int(ties[self._random.below(len(ties))])
        return int(self._random.below(self.actions))

    def learn(self, observation: Any, action: int, reward: float, after: Any, *, terminated: bool) -> _core.StepInfo:
        """Moves a value towards the reward and, unless the episode has ended there, the best value after it."""
        target = float(reward) + (0.0 if terminated else self.gamma * float(self.values(after).max()))
        if not np.isfinite(target):
            self.diverged = True
            raise _core.LearningEnded("the values have diverged; choose a lower rate")
        info = self._values.learn(self.trainer, self._seen(observation), action, target)
        self.diverged = info.status != "learned"
        return info

    def run_episode(self) -> float:
        """Plays and learns an episode; returns the sum of its rewards, and 0 once the values have diverged."""
        epsilon, total = self.epsilon, 0.0
        first = self.episodes == 0
        self.episodes += 1
        if self.diverged:
            return 0.0
        observation, _ = self.environment.reset(seed=self._seed if first else None)
        over = False
        while not over:
            action = self.act(observation, epsilon)
            after, reward, terminated, truncated, _ = self.environment.step(self._choices[action])
            try:
                self.learn(observation, action, float(reward), after, terminated=terminated)
            except _core.LearningEnded:
                return 0.0
            if self.diverged:
                return 0.0
            total += float(reward)
            observation, over = after, terminated or truncated
        return total


def _is_box(space: Any) -> bool:
    return hasattr(space, "low") and hasattr(space, "high")


def _states_of(space: Any) -> int | None:
    """How many states a Discrete space has; None for one of numbers. A MultiBinary space has an n, too, and a shape."""
    return int(space.n) if hasattr(space, "n") and not getattr(space, "shape", ()) else None


def _actions_of(space: Any, given: Sequence[Any] | None) -> list[Any]:
    if given is not None:
        kind = getattr(space, "dtype", None) if _is_box(space) else None
        choices = [np.asarray(action, dtype=kind).reshape(space.shape) if kind is not None else action
                   for action in given]
        if not choices or not all(space.contains(choice) for choice in choices):
            raise _core.InvalidArgument(f"`actions` must be some of {space}")
        return choices
    count = _states_of(space)
    if count is None:
        raise _core.InvalidArgument(f"the actions are {space}; give a list of some of them as `actions`"
                                    + (", or use ignd.control.PolicyLearner" if _is_box(space) else ""))
    first = int(getattr(space, "start", 0))
    return list(range(first, first + count))


def _flat_size(space: Any) -> int:
    if _is_box(space):
        return int(np.prod(space.shape))
    from gymnasium.spaces import flatdim

    try:
        return int(flatdim(space))
    except (ValueError, NotImplementedError) as fault:
        raise _core.InvalidArgument(f"observations of {space} cannot be flattened to numbers") from fault


def _flat(space: Any, observation: Any) -> np.ndarray:
    from gymnasium.spaces import flatten

    return np.asarray(flatten(space, observation), dtype=np.float64)
