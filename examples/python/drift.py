"""A stream whose rule changes all the time. Every example is predicted before it is learned from."""

import pickle

import numpy as np
from ignd import OnlineRegressor

random = np.random.default_rng(1)
model = OnlineRegressor()
frozen = model
errors = {"goes on learning": [], "frozen after 5,000": []}
for k in range(20_000):
    example = {"small": random.normal(), "large": 1000 * random.normal(), "town": random.choice(["Ulm", "Bonn"])}
    slope = 2 * np.cos(k / 3000)  # the drift
    y = slope * example["small"] + 0.003 * example["large"] + (1 if example["town"] == "Bonn" else 0)
    y += 0.1 * random.normal()
    if k == 5_000:
        frozen = pickle.loads(pickle.dumps(model))
    errors["goes on learning"].append((model.predict_one(example) - y) ** 2)
    errors["frozen after 5,000"].append((frozen.predict_one(example) - y) ** 2)
    model.learn_one(example, y)

print(f"{'mean squared error':<20}" + "".join(f"{f'to {end:,}':>12}" for end in (5_000, 10_000, 15_000, 20_000)))
for name, values in errors.items():
    means = [np.mean(values[end - 4_000 : end]) for end in (5_000, 10_000, 15_000, 20_000)]
    print(f"{name:<20}" + "".join(f"{mean:>12.3f}" for mean in means))
print(f"progressive: {model.progressive['examples']:,} examples, mean loss {model.progressive['average_loss']:.3f}")
