#!/usr/bin/env python3
"""What Python costs: ignd's package beside the tool, scikit-learn, river and Vowpal Wabbit, in one run.

    scripts/in_python.sh bench/python_overhead.py [--rows N]

Times are the best of several, in processor time where one thread computes: other programs on the machine then matter
less. Packages that are not installed are left out, and said: pip install river vowpalwabbit.
"""

import argparse
import os
import resource
import subprocess
import tempfile
import time
import warnings
from pathlib import Path

import numpy as np
import pandas as pd
from ignd import IgndRegressor, OnlineRegressor, train
from ignd._frames import to_frame
from ignd._tool import tool_path

ROOT = Path(__file__).resolve().parent.parent
DIAMONDS = Path(os.environ.get("IGND_DATA", ROOT.parent / "shared" / "data")) / "diamonds.csv"
TEN = [f"f{k}" for k in range(10)]


def children_seconds():
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def best_of(times, use, clock=time.process_time):
    """The shortest of several measurements, in seconds."""
    measured = []
    for _ in range(times):
        start = clock()
        use()
        measured.append(clock() - start)
    return min(measured)


def print_table(head, rows):
    print(f"| {' | '.join(head)} |\n|{'---|' * len(head)}")
    for row in rows:
        print(f"| {' | '.join(row)} |")
    print()


def measure_fit(folder):
    """Processor seconds of training on Diamonds, by the tool and by Python."""
    table = pd.read_csv(DIAMONDS)
    words = ["train", str(DIAMONDS), "--target", "price", "--lr", "0.003", "--epochs", "5", "--save", f"{folder}/d.ignd"]
    options = {"lr": 0.003, "epochs": 5}

    def by_tool():
        subprocess.run([str(tool_path()), *words, "--quiet"], check=True, stdout=subprocess.DEVNULL)

    tool = best_of(3, by_tool, children_seconds)
    python = best_of(3, lambda: train(table, "price", **options))
    X, y = table.drop(columns="price"), table["price"]
    estimator = best_of(3, lambda: IgndRegressor(test=0.1, **options).fit(X, y))
    print_table(["Diamonds, 5 epochs", "CPU seconds", "of the tool's"],
                [["`ignd train`", f"{tool:.2f} s", "1.00"],
                 ["`ignd.train(frame)`", f"{python:.2f} s", f"{python / tool:.2f}"],
                 ["`IgndRegressor.fit`", f"{estimator:.2f} s", f"{estimator / tool:.2f}"]])


def measure_predict(folder, rows):
    """Processor seconds of predicting many rows, by the tool and by Python."""
    table = pd.read_csv(DIAMONDS)
    model, _ = train(table, "price", lr=0.003, epochs=1)
    model.save(f"{folder}/p.ignd")
    many = pd.concat([table] * (rows // len(table) + 1), ignore_index=True)[:rows]
    many.to_csv(f"{folder}/many.csv", index=False)

    def by_tool():
        with open(f"{folder}/out.csv", "wb") as out:
            subprocess.run([str(tool_path()), "predict", f"{folder}/p.ignd", f"{folder}/many.csv"], check=True, stdout=out)

    tool = best_of(2, by_tool, children_seconds)
    results = [["`ignd predict` of a file", f"{tool:.2f} s", "1.00"]]
    kinds = {"pandas": many, "Arrow": _arrow(many)}
    for name, frame in kinds.items():
        if frame is None:
            continue
        seconds = best_of(2, lambda frame=frame: model.predict_frame(to_frame(frame)))
        results.append([f"`predict_frame`, {name}", f"{seconds:.2f} s", f"{seconds / tool:.2f}"])
    print_table([f"{rows:,} rows", "CPU seconds", "of the tool's"], results)


def _arrow(table):
    try:
        import pyarrow as pa
    except ImportError:
        return None
    return pa.Table.from_pandas(table, preserve_index=False)


def measure_one_by_one(examples):
    """Microseconds for an example of ten numbers, each learned by itself."""
    random = np.random.default_rng(1)
    X = random.normal(size=(examples, 10))
    y = X @ random.normal(size=10)
    rows = [dict(zip(TEN, map(float, row), strict=True)) for row in X]
    targets = [float(target) for target in y]
    results = []

    def add(name, learn, count=examples):
        results.append([name, f"{1e6 * best_of(3, learn) / count:.2f} us"])

    def ours():
        model = OnlineRegressor()
        for row, target in zip(rows, targets, strict=True):
            model.learn_one(row, target)

    add("`ignd.OnlineRegressor.learn_one`", ours)
    table = pd.DataFrame(X, columns=TEN)
    add("`ignd.OnlineRegressor.learn_many`, a table", lambda: OnlineRegressor().learn_many(table, y))
    add_scikit_learn(add, X, y)
    add_river(add, rows, targets)
    add_vowpal_wabbit(add, rows, targets)
    print_table(["ten numbers, one example at a time", "CPU time an example"], results)


def add_scikit_learn(add, X, y):
    from sklearn.linear_model import SGDRegressor
    from sklearn.neural_network import MLPRegressor

    few = min(len(y), 2000)

    def rows_of(model):
        for k in range(few):
            model.partial_fit(X[k : k + 1], y[k : k + 1])

    add("`sklearn.SGDRegressor.partial_fit`, a row", lambda: rows_of(SGDRegressor()), few)
    add("`sklearn.MLPRegressor.partial_fit`, a row", lambda: rows_of(MLPRegressor(hidden_layer_sizes=(32,))), few)


def add_river(add, rows, targets):
    try:
        from river import linear_model, preprocessing
    except ImportError:
        print("river is not installed", end="\n\n")
        return

    def learn(model):
        for row, target in zip(rows, targets, strict=True):
            model.learn_one(row, target)

    add("`river.LinearRegression.learn_one`", lambda: learn(linear_model.LinearRegression()))
    add("the same behind a `StandardScaler`",
        lambda: learn(preprocessing.StandardScaler() | linear_model.LinearRegression()))


def add_vowpal_wabbit(add, rows, targets):
    try:
        import vowpalwabbit
    except ImportError:
        print("vowpalwabbit is not installed", end="\n\n")
        return
    lines = [f"{target} | " + " ".join(f"{name}:{value}" for name, value in row.items())
             for row, target in zip(rows, targets, strict=True)]

    def learn():
        workspace = vowpalwabbit.Workspace("--quiet")
        for line in lines:
            workspace.learn(line)
        workspace.finish()

    add("`vowpalwabbit.Workspace.learn`, a line", learn)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rows", type=int, default=1_000_000)
    arguments = parser.parse_args()
    warnings.filterwarnings("ignore")
    if not DIAMONDS.exists():
        print(f"there is no {DIAMONDS}: ./run data fetch diamonds, and IGND_DATA")
        raise SystemExit(77)
    with tempfile.TemporaryDirectory() as folder:
        measure_fit(folder)
        measure_predict(folder, arguments.rows)
    measure_one_by_one(20_000)


if __name__ == "__main__":
    main()
