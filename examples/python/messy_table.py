"""A table as it comes: numbers as texts, dates, missing values, truth values. Nothing is prepared by hand."""

import numpy as np
import pandas as pd
from ignd import IgndRegressor
from sklearn.model_selection import train_test_split

random = np.random.default_rng(1)
rows = 4000
size = random.uniform(20, 200, rows).round()
town = random.choice(["Ulm", "Bonn", "Kiel"], rows, p=[0.6, 0.3, 0.1])
since = pd.Timestamp("2005-01-01") + pd.to_timedelta(random.integers(0, 7000, rows), unit="D")
balcony = random.random(rows) < 0.3
rent = 9 * size + 350 * (town == "Bonn") + 120 * balcony + (since.year - 2005) * 15 + random.normal(0, 40, rows)

table = pd.DataFrame({
    "size": [f"{value:.0f}" if value > 25 else "?" for value in size],
    "deposit": [f"{3 * value:,.2f} €" for value in rent + random.normal(0, 600, rows)],
    "town": town,
    "since": since,
    "balcony": balcony,
    "rent": rent.round(2),
})
for name in ("deposit", "town", "since"):
    table.loc[random.random(rows) < 0.1, name] = None

train, test = train_test_split(table, test_size=0.25, random_state=1)
model = IgndRegressor(random_state=1).fit(train.drop(columns="rent"), train["rent"])

print(f"trained for {model.n_iter_} epochs, rate {model.report_.rate:g}")
print(f"r2 on {len(test)} other rows: {model.score(test.drop(columns='rent'), test['rent']):.2f}")
new = pd.DataFrame({"size": ["100"], "deposit": ["4,000.00 €"], "town": ["Oslo"], "since": ["2020-05-01"],
                    "balcony": [True]})
print(f"a town that no row had: {model.predict(new.astype({'since': 'datetime64[s]'}))[0]:.0f}")
model.save("rents.ignd")
print("rents.ignd is a file for `ignd predict`, too")
