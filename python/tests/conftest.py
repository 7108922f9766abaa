"""What the tests share: made-up tables, and the tool."""

import subprocess

import numpy as np
import pandas as pd
import pytest
from ignd._tool import tool_path


@pytest.fixture(scope="session")
def tool():
    """Runs `ignd ARGUMENTS...` and returns what it prints."""

    def run(*arguments, cwd=None):
        done = subprocess.run([str(tool_path()), *map(str, arguments)], cwd=cwd, capture_output=True, text=True)
        assert done.returncode == 0, done.stderr
        return done.stdout

    return run


def messy_table(rows=600, seed=1):
    """Numbers, texts, dates, truth values, amounts of money and missing values."""
    random = np.random.default_rng(seed)
    size = random.uniform(20, 200, rows).round(1)
    town = random.choice(["Ulm", "Bonn", "Köln, Süd", 'the "Ring"'], rows)
    built = pd.Timestamp("1950-01-01") + pd.to_timedelta(random.integers(0, 25_000, rows), unit="D")
    lift = random.random(rows) < 0.4
    rooms = random.integers(1, 8, rows)
    fee = [f"${value:,.2f}" for value in random.uniform(10, 3000, rows)]
    rent = 10 * size + 300 * (town == "Bonn") + 100 * lift + random.normal(0, 30, rows)
    table = pd.DataFrame({"size": size, "town": town, "built": built, "lift": lift, "rooms": rooms, "fee": fee,
                          "rent": rent.round(2)})
    table.loc[random.random(rows) < 0.1, "size"] = np.nan
    table.loc[random.random(rows) < 0.1, "town"] = None
    table.loc[random.random(rows) < 0.1, "built"] = pd.NaT
    return table


@pytest.fixture
def messy():
    return messy_table()
