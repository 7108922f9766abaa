#!/usr/bin/env python3
"""bench/classifiers.py TABLES [--seeds N] [--out FOLDER] [--jobs N]: optimizers on two-class tables, as Markdown.

TABLES is a folder with tables.csv (name, target, kind) and a NAME.csv for each table. Every table of the kind `binary`
is learned by `ignd compare` with its defaults: each method at each rate and seed, the rate chosen by the mean log loss
on the validation rows. The table has the mean log loss on the test rows. The last three rows compare each method with
IGND over all tables: the geometric mean of the quotients, the tables on which it is better, and its mean rank.

With --out, finished runs are kept there and not made again.
"""

import argparse
import csv
import math
import sqlite3
import statistics
import subprocess
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
IGND = ROOT / "build/release/bin/ignd"

METHODS = {
    "SGD": "sgd",
    "NGD": "ngd",
    "SPS": "sps",
    "IGND": "ignd",
    "relative, rho .1": "relative:rho=0.1+plain",
    "relative, rho .3": "relative:rho=0.3+plain",
    "relative, rho 1": "relative-ignd",
    "relative, rho 3": "relative:rho=3+plain",
    "relative, rho 10": "relative:rho=10+plain",
    "Adam": "adam",
    "Adam-IGND": "adam-ignd",
    "Adam on relative": "adam-relative-ignd",
}
RATES = "1e-4:10:2"


def compare(path, target, out, options):
    command = [IGND, "compare", path, "--target", target, "--optimizers", ",".join(METHODS.values())]
    command += ["--lrs", RATES, "--seeds", str(options.seeds), "--out", out]
    if options.jobs:
        command += ["--jobs", str(options.jobs)]
    done = subprocess.run(command, capture_output=True, text=True)
    if done.returncode != 0:
        raise SystemExit(f"{path}: {done.stderr.strip()}")


def runs_of(out):
    """{(rule, transform): {rate: [(validation, test), ...]}}; a failed run is (inf, inf)."""
    found = {}
    with sqlite3.connect(out / "results.sqlite") as store:
        for config, status, validation, score in store.execute("select config, status, validation, score from run"):
            keys = dict(line.split("=", 1) for line in config.strip().split("\n"))
            if keys["model"].startswith("best-"):
                continue
            pair = (validation, score) if status == "finished" else (math.inf, math.inf)
            method = found.setdefault((keys["rule"], keys["transform"]), {})
            method.setdefault(float(keys["rate"]), []).append(pair)
    return found


def rule_and_transform(optimizer):
    if "+" in optimizer:
        return tuple(optimizer.split("+"))
    named = {
        "sgd": ("gradient", "plain"),
        "ngd": ("normalized", "plain"),
        "sps": ("polyak", "plain"),
        "ignd": ("gauss-newton", "plain"),
        "relative-ignd": ("relative", "plain"),
        "adam": ("gradient", "adam"),
        "adam-ignd": ("gauss-newton", "adam"),
        "adam-relative-ignd": ("relative", "adam"),
    }
    return named[optimizer]


def best(rates):
    """(rate, mean test loss) of the rate with the best mean validation loss."""
    chosen = min(rates, key=lambda rate: statistics.mean(pair[0] for pair in rates[rate]))
    return chosen, statistics.mean(pair[1] for pair in rates[chosen])


def short(value, digits=4):
    text = f"{value:.{digits}f}"
    return text[1:] if text.startswith("0.") else text


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("tables", type=Path)
    parser.add_argument("--seeds", type=int, default=5)
    parser.add_argument("--jobs", type=int)
    parser.add_argument("--out", type=Path)
    options = parser.parse_args()
    with open(options.tables / "tables.csv") as lines:
        tables = [row for row in csv.DictReader(lines) if row["kind"] == "binary"]
    if not tables:
        raise SystemExit(f"{options.tables / 'tables.csv'} names no table of the kind binary")
    losses = {name: {} for name in METHODS}
    rates = {name: {} for name in METHODS}
    with tempfile.TemporaryDirectory() as scratch:
        for table in tables:
            out = (options.out or Path(scratch)) / table["name"]
            compare(options.tables / f"{table['name']}.csv", table["target"], out, options)
            found = runs_of(out)
            for name, optimizer in METHODS.items():
                rates[name][table["name"]], losses[name][table["name"]] = best(found[rule_and_transform(optimizer)])
            print(f"{table['name']} done", file=sys.stderr)
    names = [table["name"] for table in tables]
    print("| test log loss | " + " | ".join(METHODS) + " |")
    print("|---" * (len(METHODS) + 1) + "|")
    for name in names:
        print(f"| {name} | " + " | ".join(short(losses[method][name]) for method in METHODS) + " |")
        print("| | " + " | ".join(f"{rates[method][name]:.2g}".replace("0.", ".") for method in METHODS) + " |")
    ranks = {method: [] for method in METHODS}
    for name in names:
        order = sorted(METHODS, key=lambda method: losses[method][name])
        for rank, method in enumerate(order, 1):
            ranks[method].append(rank)
    quotients = {
        method: [losses[method][name] / losses["IGND"][name] for name in names] for method in METHODS
    }
    mean = {method: math.exp(statistics.mean(math.log(q) for q in quotients[method])) for method in METHODS}
    wins = {method: sum(q < 1 for q in quotients[method]) for method in METHODS}
    print("| of IGND's | " + " | ".join(short(mean[method], 3) for method in METHODS) + " |")
    print(f"| better, of {len(names)} | " + " | ".join("" if m == "IGND" else str(wins[m]) for m in METHODS) + " |")
    print("| mean rank | " + " | ".join(short(statistics.mean(ranks[m]), 1) for m in METHODS) + " |")


if __name__ == "__main__":
    main()
