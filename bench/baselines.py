#!/usr/bin/env python3
"""Compares the linear baselines of `ignd train` with scikit-learn's on a folder of tables.

    bench/baselines.py FOLDER [--ignd build/release/bin/ignd] [--tables ames,spam]

FOLDER has a file tables.csv with the columns name, target and kind (regression, count, binary or multi), and NAME.csv for
each. Every table is split once, 80 : 10 : 10, and both programs get the same parts. scikit-learn's features are plain: a
mean for what is missing, scaling to variance 1, one-hot texts. Its ridge is its default, and the best of a few by the
validation rows, as ignd chooses. Prints the log loss or the root mean squared error on the test rows, as Markdown.

The script makes a virtual environment in build/baselines-venv when it is first run, for which it needs the network.
"""
import argparse
import json
import os
import pathlib
import subprocess
import sys
import tempfile
import time

ROOT = pathlib.Path(__file__).resolve().parent.parent
VENV = ROOT / "build" / "baselines-venv"
PACKAGES = ["numpy==2.4.6", "pandas==3.1.1", "scikit-learn==1.9.1"]
RIDGES = [0.1, 1, 10, 100, 1000, 10000]
PART = "part of the comparison"


def enter_environment(venv, packages):
    """Runs the script again in a virtual environment with the packages that it needs; makes it if necessary."""
    python = venv / "bin" / "python"
    ready = venv / "ready"
    if not ready.exists():
        subprocess.run([sys.executable, "-m", "venv", str(venv)], check=True)
        subprocess.run([str(python), "-m", "pip", "install", "--quiet", *packages], check=True)
        ready.touch()
    os.execv(python, [str(python), *sys.argv])


def split(rows, numpy):
    """train, validation or test for each row. The parts differ in size, so that their sizes tell them apart."""
    parts = numpy.array(["train"] * rows, dtype=object)
    order = numpy.random.default_rng(1).permutation(rows)
    tenth = rows // 10
    parts[order[:tenth]] = "test"
    parts[order[tenth:2 * tenth - 1]] = "validation"
    return parts


def ignd_baseline(program, table, target, parts):
    """The metrics of the linear baseline on the test rows, and the seconds that all of it took. Which seed leaves the
    three groups as they are has to be tried."""
    wanted = {part: int((parts == part).sum()) for part in ("train", "validation", "test")}
    with tempfile.TemporaryDirectory() as folder:
        data = pathlib.Path(folder) / "table.csv"
        table.assign(**{PART: parts}).to_csv(data, index=False)
        for seed in range(1, 100):
            command = [program, "train", str(data), "--target", target, "--split-by", PART, "--seed", str(seed),
                       "--epochs", "0", "--lr", "0.01", "--json", "--save", str(pathlib.Path(folder) / "model.ignd")]
            start = time.monotonic()
            done = subprocess.run(command, capture_output=True, text=True)
            seconds = time.monotonic() - start
            if done.returncode != 0:
                raise SystemExit(f"{target}: {done.stderr.strip()}")
            events = [json.loads(line) for line in done.stdout.splitlines()]
            if any(events[0][part] != rows for part, rows in wanted.items()):
                continue
            baselines = events[-1]["baselines"]
            linear = [name for name in baselines if name != "best_constant"]
            return (baselines[linear[0]]["test"] if linear else None), seconds
    raise SystemExit(f"{target}: no seed gives the parts that are wanted")


def sklearn_baselines(table, target, kind, parts):
    """The score on the test rows with the default ridge and with the one that the validation rows choose."""
    import numpy
    from pandas.api.types import is_numeric_dtype
    from sklearn.compose import make_column_transformer
    from sklearn.impute import SimpleImputer
    from sklearn.linear_model import LogisticRegression, Ridge
    from sklearn.metrics import log_loss
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import OneHotEncoder, StandardScaler

    features = table.drop(columns=[target])
    numbers = [name for name in features.columns if is_numeric_dtype(features[name])]
    texts = [name for name in features.columns if name not in numbers]
    for name in texts:
        features[name] = features[name].astype(object).where(features[name].notna(), "missing").map(str)
    y = table[target]
    one_hot = OneHotEncoder(handle_unknown="infrequent_if_exist", max_categories=64, sparse_output=False)
    encode = make_column_transformer(
        (make_pipeline(SimpleImputer(keep_empty_features=True), StandardScaler()), numbers),
        (make_pipeline(one_hot, StandardScaler()), texts))
    x = {}
    x["train"] = encode.fit_transform(features[parts == "train"])
    for part in ("validation", "test"):
        x[part] = encode.transform(features[parts == part])
    y = {part: y[parts == part].to_numpy() for part in x}

    def fitted(ridge):
        model = Ridge(alpha=ridge) if kind != "binary" else LogisticRegression(C=1 / ridge, max_iter=2000)
        return model.fit(x["train"], y["train"])

    def score(model, part):
        if kind == "binary":
            return log_loss(y[part], model.predict_proba(x[part]), labels=model.classes_)
        return float(numpy.sqrt(numpy.mean((model.predict(x[part]) - y[part]) ** 2)))

    models = {ridge: fitted(ridge) for ridge in RIDGES}
    best = min(models.values(), key=lambda model: score(model, "validation"))
    return score(models[1], "test"), score(best, "test")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=pathlib.Path)
    parser.add_argument("--ignd", default=str(ROOT / "build" / "release" / "bin" / "ignd"))
    parser.add_argument("--tables", default="", help="some of them, with commas")
    options = parser.parse_args()
    try:
        import numpy
        import pandas
        import sklearn
    except ImportError:
        enter_environment(VENV, PACKAGES)
    some = [name for name in options.tables.split(",") if name]
    listed = pandas.read_csv(options.folder / "tables.csv")
    print(f"scikit-learn {sklearn.__version__}; RMSE, or log loss of two classes, on the test rows\n")
    print("| table | rows | ignd | scikit-learn, ridge 1 | chosen | ignd / chosen | seconds of ignd |")
    print("|---|--:|--:|--:|--:|--:|--:|")
    for name, target, kind in zip(listed["name"], listed["target"], listed["kind"]):
        if (some and name not in some) or kind == "multi":  # ignd has no linear baseline for several classes
            continue
        table = pandas.read_csv(options.folder / f"{name}.csv", low_memory=False)
        parts = split(len(table), numpy)
        measured, seconds = ignd_baseline(options.ignd, table, target, parts)
        ours = measured["log_loss" if kind == "binary" else "rmse"] if measured else float("nan")
        plain, chosen = sklearn_baselines(table, target, kind, parts)
        print(f"| {name} | {len(table)} | {ours:.4g} | {plain:.4g} | {chosen:.4g} | {ours / chosen:.3f} | {seconds:.1f} |",
              flush=True)


if __name__ == "__main__":
    main()
