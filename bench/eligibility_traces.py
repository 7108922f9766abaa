#!/usr/bin/env python3
"""Eligibility traces beside held targets, for IGNDQ's evaluation of policies: docs/control.md.

    scripts/in_python.sh bench/eligibility_traces.py [SYSTEM...]

With a trace z <- gamma lambda z + x, a step is alpha (r + gamma w.x' - w.x) z / (z.x): IGND's scalar with s = z.j. All
runs of a system are made side by side. Rates and decays are the best of those tried, by the runs that are shown, which
favours traces: they have more to choose from.
"""

import sys

import numpy as np
from ignd.control import LinearSystem

SYSTEMS = ["ac3", "he1", "he2", "uav", "ac5", "mfp", "nn4", "psm", "rea1"]
STABILISING = {"rea1": [[0, 0, 0, 0], [2, 0, 0, 0]]}
GAMMA, STEPS, UPDATES, IMPROVEMENTS, HOLD = 0.9, 10, 5000, 10, 100
RATES = [0.03, 0.1, 0.3, 0.56, 1, 1.8]
DECAYS = [0.0, 0.3, 0.6, 0.8, 0.9, 1.0]
SEEDS = [1, 2, 3, 4, 5, 6]


class Runs:
    """Policy iteration of many runs at once, a row each; `held` ones have no trace, but targets that are held."""

    def __init__(self, name):
        self.system = LinearSystem.named(name)
        states, actions = self.system.b.shape
        self.states, self.signals = states, states + actions
        self.methods = [("held", 0.0), *(("trace", decay) for decay in DECAYS)]
        self.kinds = [(kind, decay, rate) for kind, decay in self.methods for rate in RATES]
        count = len(self.kinds) * len(SEEDS)
        self.held = np.repeat([kind == "held" for kind, _, _ in self.kinds], len(SEEDS))
        self.decay = np.repeat([GAMMA * decay for _, decay, _ in self.kinds], len(SEEDS))
        self.rate = np.repeat([rate for _, _, rate in self.kinds], len(SEEDS))
        self.draws = [np.random.default_rng(seed) for seed in SEEDS]
        pairs = [(i, j) for j in range(self.signals) for i in range(j + 1)]
        self.i, self.j = (np.array(part) for part in zip(*pairs, strict=True))
        self.w = np.zeros((count, len(pairs)))
        start = np.array(STABILISING.get(name, np.zeros((actions, states))), dtype=float)
        self.policy = np.repeat(start[None], count, axis=0)
        self.alive, self.converged = np.ones(count, bool), np.zeros(count, bool)
        self.rejected, self.size = np.zeros(count, int), np.zeros(count)

    def draw(self, size):
        """The same numbers for all runs of a seed."""
        return np.tile([random.standard_normal(size) for random in self.draws], (len(self.kinds), 1))

    def features(self, state, action):
        z = np.concatenate([state, action], axis=1)
        return z[:, self.i] * z[:, self.j]

    def act(self, state):
        return np.einsum("cas,cs->ca", self.policy, state)

    def evaluate(self):
        system, targets = self.system, self.w.copy()
        for update in range(UPDATES):
            if update % STEPS == 0:
                scale = np.tile([10 ** random.uniform(-0.5, 0.5) for random in self.draws], len(self.kinds))[:, None]
                state, trace = scale * self.draw(self.states), np.zeros_like(self.w)
                follow = self.act(state)
            action = follow + scale * self.draw(self.signals - self.states)
            x = self.features(state, action)
            reward = -np.einsum("ci,ij,cj->c", state, system.q, state) - np.einsum("ci,ij,cj->c", action, system.r, action)
            state = state @ system.a.T + action @ system.b.T
            follow = self.act(state)
            moves = ~self.held | (update % HOLD == 0)
            targets[moves] = self.w[moves]
            error = reward + GAMMA * (targets * self.features(state, follow)).sum(1) - (self.w * x).sum(1)
            trace = self.decay[:, None] * trace + x
            step = np.where(self.alive & ~self.converged, self.rate * error / (trace * x).sum(1), 0)
            self.w += step[:, None] * trace
            if update % 100 == 0:
                self.alive &= (np.abs(self.w) < 1e100).all(axis=1)
                self.w[~self.alive] = 0

    def improve(self, run, is_last):
        if not self.alive[run] or self.converged[run]:
            return
        m = np.zeros((self.signals, self.signals))
        m[self.i, self.j] += self.w[run] / 2
        m[self.j, self.i] += self.w[run] / 2
        if not np.isfinite(m).all() or np.linalg.eigvalsh(m).max() >= 0:
            size = np.linalg.norm(m)
            self.rejected[run] = 1 if self.rejected[run] and size <= self.size[run] else self.rejected[run] + 1
            self.size[run] = size
            self.alive[run] = self.rejected[run] < 3 and not is_last
            return
        self.rejected[run] = 0
        greedy = -np.linalg.solve(m[self.states :, self.states :], m[self.states :, : self.states])
        change = np.linalg.norm(greedy - self.policy[run]) / np.linalg.norm(greedy)
        self.policy[run], self.converged[run] = greedy, change <= 1e-10

    def best(self):
        """Of each method: the smallest geometric mean of the error, with the rate and the runs that failed."""
        for k in range(IMPROVEMENTS):
            self.evaluate()
            for run in range(len(self.w)):
                self.improve(run, k == IMPROVEMENTS - 1)
        wanted = self.system.best_policy(GAMMA)
        error = np.maximum(np.linalg.norm(self.policy - wanted, axis=(1, 2)), 1e-16)
        error[~self.alive] = np.inf
        found = {}
        for k, (kind, decay, rate) in enumerate(self.kinds):
            runs = error[k * len(SEEDS) : (k + 1) * len(SEEDS)]
            failed = int(np.isinf(runs).sum())
            mean = np.exp(np.log(runs[np.isfinite(runs)]).mean()) if failed < len(SEEDS) else np.inf
            found.setdefault((kind, decay), []).append((failed, mean, rate))
        return {method: min(of_rates) for method, of_rates in found.items()}


def cell(failed, error):
    if failed == len(SEEDS):
        return "failed at every rate"
    return ("< 1e-9" if error < 1e-9 else f"{error:.0e}") + (f", {failed} of {len(SEEDS)} failed" if failed else "")


def main():
    np.seterr(all="ignore")
    head = ["", "held targets", *(f"lambda {decay:g}" for decay in DECAYS)]
    print(f"| {' | '.join(head)} |\n|{'---|' * len(head)}")
    for name in sys.argv[1:] or SYSTEMS:
        found = Runs(name).best()
        print(f"| {name} | " + " | ".join(cell(failed, error) for failed, error, _ in found.values()) + " |", flush=True)


if __name__ == "__main__":
    main()
