#!/usr/bin/env python3
"""Compares `ignd train FILE --target y` with other learners at their defaults on a folder of tables.

    bench/tables.py [scores|ranks|ablation] [--folder FOLDER] [--tables ames,spam] [--splits 3] [--methods xgboost,ignd]

FOLDER (default: tables in IGND_DATA) has a file tables.csv with the columns name, target and kind (regression, count,
binary or multi), and NAME.csv for each. Every table is split a few times, four fifths to train on and one fifth to test
on, by class where the target is one; all learners get the same rows. ignd gets the training rows as a CSV file, the
target, `--test 0` because the test rows are held back already, and nothing else. The others are at their defaults, with
as many threads as OMP_NUM_THREADS says (default: 2) and the ordinary preprocessing: category columns for trees; for
scikit-learn's network and linear models means for what is missing, scaling, one-hot texts, and targets of variance 1.
Dates become numbers: days, year, month and day of the week.

`scores` prints a table of root mean squared errors, or log losses of classes, means over the splits; `ranks` prints
what follows from it; without either, both are printed. `ablation` takes away one ingredient of ignd's default after
the other, and prints by how much that changes the score. What was measured is kept in --out (build/tables) and not
measured again; a program of ours that has changed is measured anew, unless --kept names the digest of an older one. The
seconds are those of training alone, for ignd with the start of the program and the reading of the file.

The script makes a virtual environment in build/tables-venv when it is first run, for which it needs the network.
"""
import argparse
import hashlib
import json
import math
import os
import pathlib
import statistics
import subprocess
import sys
import tempfile
import time

ROOT = pathlib.Path(__file__).resolve().parent.parent
VENV = ROOT / "build" / "tables-venv"
PACKAGES = [
    "numpy==2.4.6",
    "pandas==3.1.1",
    "scikit-learn==1.9.1",
    "xgboost==3.2.0",
    "lightgbm==4.7.0",
    "catboost==1.2.10",
]
THREADS = int(os.environ.get("OMP_NUM_THREADS", 2))
PEERS = ["linear", "mlp", "hgb", "xgboost", "lightgbm", "catboost"]
FAST = "ignd --fast"
OURS = ["ignd", FAST]
VARIANTS = {
    "ignd --ensemble 4": "four networks, not eight",
    "ignd --ensemble 2": "two networks",
    "ignd --pieces 0": "no piecewise-linear features",
    "ignd --ensemble 8 --model mlp:32,64,32": "small networks",
    FAST: "one small network, one sample at a time, no piecewise-linear features",
}
FEW = ["linear", "mlp", "hgb", "xgboost", "ignd"]
NAMES = {
    "linear": "ridge / logistic",
    "mlp": "sklearn MLP",
    "hgb": "HistGradientBoosting",
    "xgboost": "XGBoost",
    "lightgbm": "LightGBM",
    "catboost": "CatBoost",
}


def enter_environment():
    """Runs this script again with the packages that it needs."""
    python = VENV / "bin" / "python"
    ready = VENV / "ready"
    if not ready.exists():
        subprocess.run([sys.executable, "-m", "venv", str(VENV)], check=True)
        subprocess.run([str(python), "-m", "pip", "install", "--quiet", *PACKAGES], check=True)
        ready.touch()
    os.execv(python, [str(python), *sys.argv])


def split(y, kind, seed):
    """The numbers of the training and of the test rows."""
    from sklearn.model_selection import train_test_split
    import numpy

    classes = y if kind in ("binary", "multi") else None
    return train_test_split(numpy.arange(len(y)), test_size=0.2, random_state=seed, stratify=classes)


def is_date(column, pandas):
    texts = column.dropna().astype(str)
    return len(texts) > 0 and texts.str.fullmatch(r"\d{4}-\d\d-\d\d").all()


def numbers_and_texts(features, pandas):
    """The table with dates as numbers, and which of its columns are texts."""
    made = {}
    for name in features.columns:
        column = features[name]
        if pandas.api.types.is_numeric_dtype(column):
            made[name] = column.astype(float)
        elif is_date(column, pandas):
            when = pandas.to_datetime(column)
            made[name + " days"] = (when - pandas.Timestamp("1970-01-01")).dt.days.astype(float)
            made[name + " year"] = when.dt.year.astype(float)
            made[name + " month"] = when.dt.month.astype(float)
            made[name + " weekday"] = when.dt.weekday.astype(float)
        else:
            made[name] = column.astype(object).where(column.notna(), "missing").map(str)
    table = pandas.DataFrame(made)
    return table, [name for name in table.columns if not pandas.api.types.is_numeric_dtype(table[name])]


def linear_pipeline(model, numbers, texts):
    from sklearn.compose import make_column_transformer
    from sklearn.impute import SimpleImputer
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import OneHotEncoder, StandardScaler

    one_hot = OneHotEncoder(handle_unknown="infrequent_if_exist", max_categories=64, sparse_output=False)
    encode = make_column_transformer(
        (make_pipeline(SimpleImputer(keep_empty_features=True), StandardScaler()), numbers), (one_hot, texts)
    )
    return make_pipeline(encode, model)


def as_categories(train, test, texts, pandas):
    """Texts as categories that both parts share; those that the training rows lack are missing."""
    train, test = train.copy(), test.copy()
    for name in texts:
        kind = pandas.CategoricalDtype(sorted(train[name].unique()))
        for part in (train, test):
            part[name] = part[name].where(part[name].isin(kind.categories)).astype(kind)
    return train, test


def make_peer(method, classes, numbers, texts, train):
    """The learner, as it is."""
    if method == "linear":
        from sklearn.linear_model import LogisticRegression, Ridge

        return linear_pipeline(LogisticRegression(max_iter=2000) if classes else Ridge(), numbers, texts)
    if method == "mlp":
        from sklearn.compose import TransformedTargetRegressor
        from sklearn.neural_network import MLPClassifier, MLPRegressor
        from sklearn.preprocessing import StandardScaler

        if classes:
            return linear_pipeline(MLPClassifier(random_state=0), numbers, texts)
        scaled = TransformedTargetRegressor(MLPRegressor(random_state=0), transformer=StandardScaler())
        return linear_pipeline(scaled, numbers, texts)
    if method == "hgb":
        from sklearn.ensemble import HistGradientBoostingClassifier, HistGradientBoostingRegressor

        few = [name for name in texts if train[name].nunique() <= 255]
        maker = HistGradientBoostingClassifier if classes else HistGradientBoostingRegressor
        return maker(categorical_features=few or None, random_state=0)
    if method == "xgboost":
        import xgboost

        maker = xgboost.XGBClassifier if classes else xgboost.XGBRegressor
        return maker(n_jobs=THREADS, enable_categorical=True, random_state=0)
    if method == "lightgbm":
        import lightgbm

        maker = lightgbm.LGBMClassifier if classes else lightgbm.LGBMRegressor
        return maker(n_jobs=THREADS, verbose=-1, random_state=0)
    import catboost

    maker = catboost.CatBoostClassifier if classes else catboost.CatBoostRegressor
    return maker(
        thread_count=THREADS, verbose=False, random_seed=0, cat_features=texts or None, allow_writing_files=False
    )


def peer_predictions(method, table, target, kind, train, test):
    """Probabilities (by class in sorted order) or numbers for the test rows, and the seconds of training."""
    import numpy
    import pandas

    classes = kind in ("binary", "multi")
    features, texts = numbers_and_texts(table.drop(columns=[target]), pandas)
    numbers = [name for name in features.columns if name not in texts]
    y = table[target].to_numpy()
    if classes:
        y = numpy.unique(y.astype(str), return_inverse=True)[1]
    x_train, x_test = features.iloc[train], features.iloc[test]
    if method in ("hgb", "xgboost", "lightgbm"):
        x_train, x_test = as_categories(x_train, x_test, texts, pandas)
        if method == "hgb":  # which takes 255 categories at most: more of them are a number
            for name in texts:
                if x_train[name].nunique() > 255:
                    x_train[name], x_test[name] = x_train[name].cat.codes, x_test[name].cat.codes
        if method == "lightgbm":  # which does not take names with special characters
            x_train.columns = x_test.columns = [f"c{i}" for i in range(x_train.shape[1])]
    model = make_peer(method, classes, numbers, texts, x_train)
    start = time.monotonic()
    model.fit(x_train, y[train])
    seconds = time.monotonic() - start
    return (model.predict_proba(x_test) if classes else model.predict(x_test)), seconds


def our_predictions(program, options, table, target, kind, train, test):
    import numpy
    import pandas

    with tempfile.TemporaryDirectory() as folder:
        paths = {name: str(pathlib.Path(folder) / name) for name in ("train.csv", "test.csv", "model.ignd", "out.csv")}
        table.iloc[train].to_csv(paths["train.csv"], index=False)
        table.iloc[test].drop(columns=[target]).to_csv(paths["test.csv"], index=False)
        command = [program, "train", paths["train.csv"], "--target", target, "--test", "0", "--quiet", "--save",
                   paths["model.ignd"], *options]
        start = time.monotonic()
        done = subprocess.run(command, capture_output=True, text=True)
        seconds = time.monotonic() - start
        if done.returncode != 0:
            raise SystemExit(f"{' '.join(command)}: {done.stderr.strip()}")
        with open(paths["out.csv"], "w") as out:
            subprocess.run([program, "predict", paths["model.ignd"], paths["test.csv"]], stdout=out, check=True)
        made = pandas.read_csv(paths["out.csv"])
    if kind in ("regression", "count"):
        return made["prediction"].to_numpy(float), seconds
    names = numpy.unique(table[target].astype(str))
    if kind == "binary":
        positive = made["probability"].to_numpy(float)
        # The probability is that of the second class: of the larger number, or of the last text.
        return numpy.stack([1 - positive, positive], axis=1), seconds
    return numpy.stack([made[f"probability_{name}"].to_numpy(float) for name in names], axis=1), seconds


def score(table, target, kind, test, predicted):
    import numpy

    y = table[target].to_numpy()
    if kind in ("regression", "count"):
        return float(numpy.sqrt(numpy.mean((predicted - y[test]) ** 2)))
    label = numpy.unique(y.astype(str), return_inverse=True)[1][test]
    chosen = predicted[numpy.arange(len(test)), label] / predicted.sum(axis=1)
    return float(-numpy.mean(numpy.log(numpy.clip(chosen, 1e-15, 1))))


def digest(program):
    return hashlib.sha256(pathlib.Path(program).read_bytes()).hexdigest()[:12]


def measure(options, row, method, seed):
    """{score, seconds} of a method on a split of a table, from the folder of results where they are known."""
    import pandas

    ours = method.startswith("ignd")
    version = (options.kept or digest(options.ignd)) if ours else "1"
    words = method.replace(" ", "").replace(":", "")
    kept = options.out / f"{row['name']}.{seed}.{words}.{version}.json"
    if kept.exists():
        return json.loads(kept.read_text())
    table = pandas.read_csv(options.folder / f"{row['name']}.csv", low_memory=False)
    train, test = split(table[row["target"]], row["kind"], seed)
    about = (table, row["target"], row["kind"], train, test)
    if ours:
        predicted, seconds = our_predictions(options.ignd, method.split()[1:], *about)
    else:
        predicted, seconds = peer_predictions(method, *about)
    result = {"score": score(table, row["target"], row["kind"], test, predicted), "seconds": seconds}
    kept.write_text(json.dumps(result))
    print(f"{row['name']} {seed} {method}: {result['score']:.5g} in {seconds:.1f} s", file=sys.stderr, flush=True)
    return result


def short(value):
    text = f"{value:.4g}" if abs(value) < 1e4 else f"{value:,.0f}"
    return text[1:] if text.startswith("0.") else text


def print_table(header, rows):
    print("| " + " | ".join(header) + " |")
    print("|" + "---|" * len(header))
    for row in rows:
        print("| " + " | ".join(row) + " |")
    print()


def ranks_among(methods, means, name):
    """The rank of each method on a table; methods that are level share the mean of their ranks."""
    scores = {method: means[name, method] for method in methods}
    return {
        method: 1 + sum(other < score for other in scores.values())
        + (sum(other == score for other in scores.values()) - 1) / 2
        for method, score in scores.items()
    }


def print_scores(names, methods, means):
    header = ["test score, lower is better", *(f"`{m}`" if m in OURS else NAMES[m] for m in methods)]
    rows = []
    for name in names:
        best = min(means[name, method] for method in methods)
        cells = [short(means[name, method]) for method in methods]
        rows.append([name, *(f"**{cell}**" if means[name, m] == best else cell for m, cell in zip(methods, cells))])
    print_table(header, rows)


def print_ranks(names, methods, means, seconds):
    few = [method for method in FEW if method in methods]
    rows = []
    for method in methods:
        boosted = [min(means[name, "hgb"], means[name, "xgboost"]) for name in names]
        quotients = [means[name, method] / better for name, better in zip(names, boosted)]
        is_boosting = method in ("hgb", "xgboost")
        rows.append([
            f"`{method}`" if method in OURS else NAMES[method],
            f"{mean(ranks_among(few, means, name)[method] for name in names):.2f}" if method in few else "",
            f"{mean(ranks_among([m for m in methods if m != FAST], means, name)[method] for name in names):.2f}"
            if method != FAST else "",
            "" if is_boosting else f"{sum(quotient < 1 for quotient in quotients)} of {len(names)}",
            f"{math.exp(mean(math.log(quotient) for quotient in quotients)):.3f}".replace("0.", "."),
            "" if method == "linear" else
            f"{sum(means[name, method] > 1.02 * means[name, 'linear'] for name in names)}",
            f"{sum(seconds[name, method] for name in names):.0f} s",
        ])
    others = len([m for m in methods if m != FAST])
    print_table(
        ["", f"mean rank of {len(few)}", f"of {others}", "better than the better of HistGradientBoosting and XGBoost",
         "quotient to it, geometric mean", "worse than the linear model by more than 2 %", "training"],
        rows,
    )


def print_ablation(names, means, seconds):
    rows = []
    for method, what in VARIANTS.items():
        quotients = [means[name, method] / means[name, "ignd"] for name in names]
        rows.append([
            f"{what} (`{method.removeprefix('ignd ')}`)",
            f"{math.exp(mean(math.log(quotient) for quotient in quotients)):.3f}",
            f"{sum(quotient > 1 for quotient in quotients)} of {len(names)}",
            f"{max(quotients):.3f}",
            f"{sum(seconds[name, method] for name in names):.0f} s",
        ])
    print_table(["", "score, as a share of the default's", "worse on", "at worst", "training"], rows)


def mean(values):
    return statistics.mean(values)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("part", nargs="?", choices=["scores", "ranks", "ablation"])
    data = pathlib.Path(os.environ.get("IGND_DATA", "."))
    parser.add_argument("--folder", type=pathlib.Path, default=data / "tables")
    parser.add_argument("--ignd", default=str(ROOT / "build" / "release" / "bin" / "ignd"))
    parser.add_argument("--kept", help="digest of the program whose kept results count, whatever --ignd is")
    parser.add_argument("--tables", default="", help="some of them, with commas")
    parser.add_argument("--methods", default=",".join([*PEERS, *OURS]), help="some of them, with commas")
    parser.add_argument("--splits", type=int, default=3)
    parser.add_argument("--out", type=pathlib.Path, default=ROOT / "build" / "tables")
    options = parser.parse_args()
    try:
        import catboost  # noqa: F401
        import lightgbm  # noqa: F401
        import pandas
        import sklearn  # noqa: F401
        import xgboost  # noqa: F401
    except ImportError:
        enter_environment()
    options.out.mkdir(parents=True, exist_ok=True)
    some = [name for name in options.tables.split(",") if name]
    methods = ["ignd", *VARIANTS] if options.part == "ablation" else options.methods.split(",")
    rows = [row for row in pandas.read_csv(options.folder / "tables.csv").to_dict("records")
            if not some or row["name"] in some]
    found = {(row["name"], method, seed): measure(options, row, method, seed)
             for seed in range(1, options.splits + 1) for row in rows for method in methods}
    names = [row["name"] for row in rows]
    means, seconds = ({(name, method): mean(found[name, method, seed][what] for seed in range(1, options.splits + 1))
                       for name in names for method in methods} for what in ("score", "seconds"))
    if options.part == "ablation":
        return print_ablation(names, means, seconds)
    if options.part != "ranks":
        print_scores(names, methods, means)
    if options.part != "scores" and {"hgb", "xgboost", "linear"} <= set(methods):
        print_ranks(names, methods, means, seconds)


if __name__ == "__main__":
    main()
