"""Linear policies in Gymnasium's environments with continuous actions: the policy iteration of the study `lqr`.

>>> system = LinearSystem.named("he1")
>>> [round(float(gain), 2) for gain in system.best_policy(0.9)[0]]
[-0.25, 0.07, 0.6, 0.5]
"""

from __future__ import annotations

from collections.abc import Sequence
from importlib import import_module
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from ignd import _core
from ignd.rl import Environment

if TYPE_CHECKING:
    from ignd._environments import LinearQuadraticEnv


def system_names() -> dict[str, str]:
    """The systems that are known by name, and what they are.

    >>> "uav" in system_names()
    True
    """
    return _core.system_names()


def _matrix(values: ArrayLike) -> np.ndarray:
    return np.atleast_2d(np.asarray(values, dtype=np.float64))


class LinearSystem(NamedTuple):
    """s' = A s + B a, where every step has the reward -(s'Qs + a'Ra)."""

    a: np.ndarray
    b: np.ndarray
    q: np.ndarray
    r: np.ndarray

    @classmethod
    def named(cls, name: str, *, period: float = 0.1) -> LinearSystem:
        """A system of `system_names()`, with each action held for a period if it is in continuous time."""
        return cls(*_core.named_system(name, period))

    @classmethod
    def discrete(
        cls, a: ArrayLike, b: ArrayLike, q: ArrayLike | None = None, r: ArrayLike | None = None
    ) -> LinearSystem:
        """s' = A s + B a; Q and R are identities if they are not given."""
        return cls(*_core.check_system(*_with_weights(a, b, q, r)))

    @classmethod
    def continuous(
        cls, a: ArrayLike, b: ArrayLike, q: ArrayLike | None = None, r: ArrayLike | None = None, *, period: float = 0.1
    ) -> LinearSystem:
        """ds/dt = A s + B a with each action held for a period."""
        states, actions, of_states, of_actions = _with_weights(a, b, q, r)
        return cls(*_core.held_system(states, actions, of_states, of_actions, period))

    def best_policy(self, gamma: float) -> np.ndarray:
        """The K of the policy a = K s with the largest discounted sum of rewards."""
        return _core.optimal_policy(*self, gamma)

    def radius(self, policy: ArrayLike, gamma: float) -> float:
        """sqrt(gamma) times the spectral radius of A + B K. From 1 on, the policy has no finite cost, and no values."""
        closed = self.a + self.b @ _matrix(policy)
        return float(np.sqrt(gamma) * np.abs(np.linalg.eigvals(closed)).max())


def _with_weights(a: ArrayLike, b: ArrayLike, q: ArrayLike | None,
                  r: ArrayLike | None) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
    states, actions = _matrix(a), _matrix(b)
    return (states, actions, np.eye(states.shape[0]) if q is None else _matrix(q),
            np.eye(actions.shape[1]) if r is None else _matrix(r))


class PolicyLearner:
    """Learns a policy a = K s: the values z'Mz of the present one, with z = (s, a), then the K that is best for them.

    The environment's observations s and actions a are vectors of numbers; whatever else it is, values are fitted as if
    it were linear with quadratic rewards. Evaluation 'td' makes semi-gradient steps: IGNDQ with the optimizer 'nlms'
    or 'ignd', Q-learning with 'sgd'. 'held-targets' makes the same steps towards targets that are held for `hold`
    updates, and converges for every policy of finite cost; 'rls-td' has no rate. With a `horizon`, the rate is
    rate / (1 + t / horizon) after t updates. `policy` is the K to begin with; 0 if it is not given. `constant` adds a
    constant to the values, which noise in the environment needs.

    An episode lasts `episode_steps` at most. It draws a scale, log-uniform between two powers of ten, `exploration`. Its
    actions have normal noise of that size, and `reset` is given options={"scale": ...}, by which the environment may
    multiply its initial state.

    >>> from ignd.control import LinearQuadraticEnv
    >>> environment = LinearQuadraticEnv("he1")
    >>> learner = PolicyLearner(environment)
    >>> learner.run()
    >>> bool(np.abs(learner.policy - environment.system.best_policy(0.9)).max() < 1e-4)
    True
    """

    def __init__(
        self,
        environment: Environment,
        *,
        optimizer: str | tuple[str, str] = "nlms",
        rate: float = 1.0,
        gamma: float = 0.9,
        evaluation: str = "held-targets",
        hold: int = 100,
        horizon: float = 0.0,
        policy: ArrayLike | None = None,
        accept: str = "whole",
        constant: bool = False,
        episode_steps: int = 10,
        exploration: Sequence[float] = (-0.5, 0.5),
        seed: int | np.random.Generator = 1,
    ) -> None:
        self.environment = environment
        states, actions = (_size(environment, name) for name in ("observation_space", "action_space"))
        start = np.zeros((actions, states)) if policy is None else _matrix(policy)
        if start.shape != (actions, states):
            raise _core.InvalidArgument(f"the policy is {' x '.join(map(str, start.shape))}, but must be {actions} x "
                                        f"{states}: a row for each action and a column for each observed number")
        low, high = exploration
        if not (abs(low) <= 20 and abs(high) <= 20 and low <= high):
            raise _core.InvalidArgument("exploration must be two powers of ten, the smaller one first")
        if episode_steps < 1:
            raise _core.InvalidArgument("an episode needs at least one step")
        rule, transform = _core.optimizer_parts(optimizer) if isinstance(optimizer, str) else optimizer
        schedule = f"robbins-monro:rate={rate!r},horizon={horizon!r}" if horizon > 0 else repr(float(rate))
        self._values = _core.PolicyValues(start, constant, gamma, evaluation, rule, transform, schedule, hold, accept)
        self._policy = start
        space = environment.action_space
        self._shape, self._type = space.shape, space.dtype
        self._low, self._high = (np.ravel(np.asarray(bound, dtype=np.float64)) for bound in (space.low, space.high))
        self._exploration, self._episode_steps = (low, high), episode_steps
        self._random = np.random.default_rng(seed)
        self._seed = None if isinstance(seed, np.random.Generator) else seed
        self._state: np.ndarray | None = None  # of an episode that goes on
        self._action = np.zeros(actions)  # of the policy, in that state
        self._scale = 1.0
        self._steps_left = 0

    @property
    def policy(self) -> np.ndarray:
        """K: a row for each action."""
        return self._policy.copy()

    @property
    def matrix(self) -> np.ndarray:
        """M of the learned values z'Mz, with z = (s, a), the constant aside."""
        return self._values.matrix

    @property
    def improvements(self) -> int:
        """Improvements of the policy that were accepted."""
        return self._values.improvements

    @property
    def rejections(self) -> int:
        """Improvements that were not, because the learned values were not those of any policy."""
        return self._values.rejections

    @property
    def last_change(self) -> float:
        """The size of the last improvement's change of K, as a part of K."""
        return self._values.last_change

    def act(self, observation: ArrayLike) -> np.ndarray:
        """The policy's action, within the bounds of the action space and of its shape and type."""
        return self._to_environment(self._bounded(self._policy @ _vector(observation)))

    def value(self, observation: ArrayLike, action: ArrayLike) -> float:
        """The learned value of an action."""
        return self._values.value(_vector(observation), _vector(action))

    def learn(
        self, observation: ArrayLike, action: ArrayLike, reward: float, after: ArrayLike, *, terminated: bool = False
    ) -> None:
        """Learns the values of the policy from a transition, whatever policy made it."""
        next_state = _vector(after)
        self._update(_vector(observation), _vector(action), reward, next_state, self._policy_at(next_state), terminated)

    def evaluate(self, updates: int) -> None:
        """Plays the policy with exploration, and learns its values."""
        for _ in range(updates):
            if self._steps_left == 0 or self._state is None:
                self._begin_episode()
            self._step()

    def improve(self) -> bool:
        """Makes the policy greedy. False if the learned values do not allow that; then it stays, to learn on."""
        before = self._values.improvements
        if not self._values.improve():
            raise _diverged()
        if self._values.improvements == before:
            return False
        self._policy = self._values.policy
        self._steps_left = 0
        return True

    def run(self, improvements: int = 10, updates: int = 5000, tolerance: float = 1e-10) -> None:
        """As often as told, evaluates the policy and improves it; ends once it changes by no more than `tolerance`."""
        for _ in range(improvements):
            self.evaluate(updates)
            if self.improve() and 0 < tolerance and self.last_change <= tolerance:
                return

    def _begin_episode(self) -> None:
        self._scale = 10.0 ** self._random.uniform(*self._exploration)
        observation, _ = self.environment.reset(seed=self._seed, options={"scale": self._scale})
        self._seed = None
        self._state = _vector(observation)
        self._action = self._policy_at(self._state)
        self._steps_left = self._episode_steps

    def _step(self) -> None:
        assert self._state is not None
        noise = self._scale * self._random.standard_normal(len(self._action))
        given = self._to_environment(self._bounded(self._action + noise))
        observation, reward, terminated, truncated, _ = self.environment.step(given)
        after = _vector(observation)
        next_action = self._policy_at(after)
        self._update(self._state, _vector(given), float(reward), after, next_action, terminated)
        self._state, self._action = after, next_action
        self._steps_left = 0 if terminated or truncated else self._steps_left - 1

    def _update(self, state: np.ndarray, action: np.ndarray, reward: float, after: np.ndarray, next_action: np.ndarray,
                terminated: bool) -> None:
        if not self._values.update(state, action, reward, after, next_action, bool(terminated)):
            raise _diverged()

    def _policy_at(self, state: np.ndarray) -> np.ndarray:
        return self._bounded(self._policy @ state)

    def _bounded(self, action: np.ndarray) -> np.ndarray:
        allowed: np.ndarray = np.clip(action, self._low, self._high)
        return allowed

    def _to_environment(self, action: np.ndarray) -> np.ndarray:
        given: np.ndarray = action.reshape(self._shape).astype(self._type)
        return given


def _vector(values: ArrayLike) -> np.ndarray:
    return np.ravel(np.asarray(values, dtype=np.float64))


def _size(environment: Environment, name: str) -> int:
    space = getattr(environment, name)
    if not hasattr(space, "low") or np.dtype(space.dtype).kind not in "fiu":
        raise _core.InvalidArgument(f"the {name.replace('_', ' ')} must be a Box of numbers, not {space}; "
                                    "ignd.rl.QLearner learns with discrete ones")
    return int(np.prod(space.shape))


def _diverged() -> _core.LearningEnded:
    return _core.LearningEnded("the values have diverged; choose a lower rate, a longer hold, evaluation 'rls-td', or a "
                               "policy of finite cost to begin with")


def __getattr__(name: str) -> Any:
    """Imports what needs Gymnasium only when it is asked for."""
    if name != "LinearQuadraticEnv":
        raise AttributeError(f"module 'ignd.control' has no attribute '{name}'")
    try:
        return import_module("ignd._environments").LinearQuadraticEnv
    except ModuleNotFoundError as fault:
        if fault.name != "gymnasium":
            raise
        raise ImportError(f"ignd.control.{name} needs Gymnasium: pip install gymnasium") from fault


__all__ = ["LinearQuadraticEnv", "LinearSystem", "PolicyLearner", "system_names"]
