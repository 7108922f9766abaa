#!/usr/bin/env python3
"""bench/stream_classes.py [TABLES] [--seeds N]: how streams learn many classes, as Markdown.

TABLES is a folder with the tables of bench/tables.py (default: `tables` in the folder that IGND_DATA names), and
IGND_DATA has diamonds.csv. Each row of the result is a table with one of its columns of texts as the target, shuffled
by each seed. `ignd train --stream` learns it twice: with the softmax loss, by the exact C x C step; and class by class
against the rest with the logistic loss, whose C probabilities are divided by their sum. The numbers are the progressive
log loss and accuracy of the predictions made before each row was learned, from row 1,001 on, as means over the seeds.
"""

import argparse
import csv
import json
import math
import os
import random
import statistics
import subprocess
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
IGND = ROOT / "build/release/bin/ignd"
TARGETS = [("letters", "lettr"), ("diamonds", "clarity"), ("diamonds", "color"), ("diamonds", "cut"),
           ("wage", "education"), ("ames", "Neighborhood"), ("hotel-rates", "market_segment"),
           ("stackoverflow", "Country")]
FIRST_ROWS = 1000  # the two see the classes turn up at different rows
UNAVAILABLE = 77  # what scripts/docs.py passes over
LEAST = 1e-12  # of a probability, where all are 0


def read(path):
    with path.open(newline="") as file:
        rows = list(csv.reader(file))
    return rows[0], rows[1:]


def write(path, header, rows):
    with path.open("w", newline="") as file:
        writer = csv.writer(file)
        writer.writerow(header)
        writer.writerows(rows)


def learn(table, target, loss, folder):
    """The progressive predictions."""
    made = folder / "made.csv"
    subprocess.run([IGND, "train", "--stream", table, "--target", target, "--loss", loss, "--predictions", made,
                    "--save", folder / "model.ignd", "--quiet"], check=True, stdout=subprocess.DEVNULL)
    return read(made)[1]


def one_against_rest(header, rows, at, folder):
    """The probability of each row's own class, and whether it was the largest."""
    names = sorted({row[at] for row in rows})
    columns = []
    for name in names:
        labels = [[*row[:at], "1" if row[at] == name else "0", *row[at + 1:]] for row in rows]
        write(folder / "one.csv", header, labels)
        columns.append([float(row[2]) for row in learn(folder / "one.csv", header[at], "logistic", folder)])
    judged = []
    for row, of_classes in zip(rows, zip(*columns)):
        own = of_classes[names.index(row[at])]
        judged.append((own / max(sum(of_classes), LEAST), own == max(of_classes)))
    return judged


def scores(judged):
    counted = judged[FIRST_ROWS:]
    loss = -statistics.fmean(math.log(max(own, LEAST)) for own, _ in counted)
    return loss, statistics.fmean(right for _, right in counted)


def softmax(header, rows, at, folder):
    """The same scores, from what the tool adds up: of all rows less those of the first ones alone."""
    sums = []
    for part in (rows, rows[:FIRST_ROWS]):
        write(folder / "many.csv", header, part)
        made = subprocess.run([IGND, "train", "--stream", folder / "many.csv", "--target", header[at], "--loss",
                               "softmax", "--save", folder / "model.ignd", "--quiet", "--json"], check=True,
                              capture_output=True, text=True)
        found = json.loads(made.stdout.splitlines()[-1])["metrics"]["progressive"]
        sums.append((found["log_loss"] * len(part), found["accuracy"] * len(part)))
    counted = len(rows) - FIRST_ROWS
    return [(whole - first) / counted for whole, first in zip(*sums)]


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    data = Path(os.environ.get("IGND_DATA", ""))
    parser.add_argument("tables", type=Path, nargs="?", default=data / "tables")
    parser.add_argument("--seeds", type=int, default=3)
    options = parser.parse_args()
    if not (options.tables / "letters.csv").exists():
        print("there are no tables to learn: set IGND_DATA", file=sys.stderr)
        return UNAVAILABLE
    print("| target | classes | softmax: log loss | one against rest | softmax: accuracy | one against rest |")
    print("|---|---|---|---|---|---|")
    for table, target in TARGETS:
        path = options.tables / f"{table}.csv"
        path = path if path.exists() else data / f"{table}.csv"
        header, rows = read(path)
        at = header.index(target)
        rows = [row for row in rows if row[at] not in ("", "NA")][:20_000]
        found = []
        with tempfile.TemporaryDirectory() as folder:
            for seed in range(101, 101 + options.seeds):
                random.Random(seed).shuffle(rows)
                exact = softmax(header, rows, at, Path(folder))
                rest = scores(one_against_rest(header, rows, at, Path(folder)))
                found.append((exact[0], rest[0], exact[1], rest[1]))
        means = [statistics.fmean(column) for column in zip(*found)]
        cells = [f"`{table}`, {target}", str(len({row[at] for row in rows}))]
        print("| " + " | ".join(cells + [f"{mean:.4g}" for mean in means]) + " |", flush=True)


    return 0


if __name__ == "__main__":
    sys.exit(main())
