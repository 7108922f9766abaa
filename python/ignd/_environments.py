"""The systems of the study `lqr` as environments of Gymnasium."""

from __future__ import annotations

from typing import Any

import gymnasium
import numpy as np
from numpy.typing import ArrayLike

from ignd import _core
from ignd.control import LinearSystem


class LinearQuadraticEnv(gymnasium.Env[np.ndarray, np.ndarray]):
    """s' = A s + B a, plus noise if asked for, with the reward -(s'Qs + a'Ra). An episode has no end of its own.

    The system is a LinearSystem, or a name of `system_names()`. It begins at a normal state, times options["scale"] if
    `reset` is given one.

    >>> environment = LinearQuadraticEnv("he1")
    >>> state, _ = environment.reset(seed=1)
    >>> state, reward, terminated, truncated, _ = environment.step([0.0, 0.0])
    >>> len(state), reward < 0, terminated, truncated
    (4, True, False, False)
    """

    metadata = {"render_modes": []}  # noqa: RUF012

    def __init__(self, system: LinearSystem | str = "uav", *, noise: float = 0.0, render_mode: None = None) -> None:
        if not (np.isfinite(noise) and noise >= 0):
            raise _core.InvalidArgument(f"the noise is {noise}, but must be a finite number of at least 0")
        self.system = LinearSystem.named(system) if isinstance(system, str) else LinearSystem.discrete(*system)
        self.noise, self.render_mode = noise, render_mode
        states, actions = self.system.b.shape
        self.observation_space = gymnasium.spaces.Box(-np.inf, np.inf, (states,), np.float64)
        self.action_space = gymnasium.spaces.Box(-np.inf, np.inf, (actions,), np.float64)
        self.state = np.zeros(states)

    def reset(
        self, *, seed: int | None = None, options: dict[str, Any] | None = None
    ) -> tuple[np.ndarray, dict[str, Any]]:
        """Begins an episode."""
        super().reset(seed=seed)
        scale = (options or {}).get("scale", 1.0)
        self.state = scale * self.np_random.standard_normal(len(self.state))
        return self.state.copy(), {}

    def step(self, action: ArrayLike) -> tuple[np.ndarray, float, bool, bool, dict[str, Any]]:
        """Moves on by one period."""
        a = np.asarray(action, dtype=np.float64)
        reward = -float(self.state @ self.system.q @ self.state + a @ self.system.r @ a)
        self.state = self.system.a @ self.state + self.system.b @ a
        if self.noise > 0:
            self.state += self.noise * self.np_random.standard_normal(len(self.state))
        return self.state.copy(), reward, False, False, {}
