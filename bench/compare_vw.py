#!/usr/bin/env python3
"""bench/compare_vw.py: `ignd train --stream` beside Vowpal Wabbit, both untuned, on the same files.

    bench/compare_vw.py [--rows 100000,5000] [--seeds 5] [--streams NAME,NAME...] [--vw COMMAND] [--bin FOLDER]

Prints Markdown: the progressive loss (each example is predicted before it is learned from) as each program reports it,
the mean over the seeds, and how often ours is the lower one; then how fast both are. The streams are those of
bench/stream_scenarios.hpp, written as Vowpal Wabbit's text, which both read. Where IGND_DATA names a folder with the
data sets, California Housing and Diamonds are compared too: as they are, shuffled, and shuffled with a target of
ordinary size, since Vowpal Wabbit's step depends on the unit of the target.

Vowpal Wabbit is the pinned wheel of PyPI, installed into build/vw unless --vw names another, such as `vw`. It is told
`--loss_function logistic` where labels are classes, and nothing else; `ignd` is told nothing. --bin is the folder with
stream_defaults; without it, build/bench is made.
"""

import argparse
import csv
import os
import random
import re
import shlex
import subprocess
import sys
import tempfile
import venv
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent))
from doc_tables import CLASSES, IGND, REGRESSION, ROOT, print_table, program, short, two_tables  # noqa: E402

VW_VERSION = "9.11.9"
COLUMNS = ["`ignd train --stream`", "Vowpal Wabbit"]
UNITS = {"California Housing": 100000, "Diamonds": 1000}
TIMED = ["scales-one", "wide", "sparse-numbers", "sparse", "Diamonds"]
SCALES = ["scales-powers", "scales-uniform"]
CORE = min(os.sched_getaffinity(0))


def installed_vw():
    """The command of the pinned wheel, installed first if need be."""
    python = ROOT / "build/vw/bin/python"
    if not python.exists():
        venv.create(ROOT / "build/vw", with_pip=True)
    wanted = f"vowpalwabbit=={VW_VERSION}"
    done = subprocess.run([python, "-m", "pip", "install", "--quiet", wanted], capture_output=True, text=True)
    if done.returncode != 0:
        raise SystemExit(f"cannot install {wanted}: {done.stderr.strip().splitlines()[-1]}; name a program with --vw")
    return [str(python), "-m", "vowpalwabbit"]


def on_one_core(command):
    """What a program prints, and the seconds of processor time it takes on one core."""
    with tempfile.TemporaryFile("w+") as output:
        pinned = lambda: os.sched_setaffinity(0, {CORE})  # noqa: E731
        process = subprocess.Popen(command, stdout=output, stderr=subprocess.STDOUT, preexec_fn=pinned)
        _, status, usage = os.wait4(process.pid, 0)
        output.seek(0)
        text = output.read()
    if status != 0:
        raise SystemExit(f"{shlex.join(map(str, command))} failed:\n{text.strip()}")
    return text, usage.ru_utime + usage.ru_stime


def number_in(pattern, text):
    found = re.search(pattern, text)
    if not found:
        raise SystemExit(f"no '{pattern}' in what was printed:\n{text.strip()}")
    return float(found[1])


class Programs:
    def __init__(self, vw, folder):
        self.vw, self.folder = vw, Path(folder)
        one = self.folder / "one.vw"
        one.write_text("1 | 0:1\n-1 | 0:2\n0.5 | 0:3\n")
        self.start = {name: min(self.run(name, one, False)[1] for _ in range(3)) for name in ("ignd", "vw")}

    def run(self, name, file, classes):
        """Loss, and processor time."""
        if name == "vw":
            loss = ["--loss_function", "logistic"] if classes else []
            text, seconds = on_one_core([*self.vw, "-d", str(file), *loss])
            return number_in(r"average loss = (\S+)", text), seconds
        options = ["--threads", "1", "--json", "--quiet", "--save", self.folder / "m.ignd"]
        (self.folder / "m.ignd").unlink(missing_ok=True)
        text, seconds = on_one_core([IGND, "train", "--stream", file, *options])
        return number_in(r'"progressive":{"loss":([^,}]+)', text), seconds

    def losses(self, file, classes):
        """Ours and theirs."""
        return [self.run(name, file, classes)[0] for name in ("ignd", "vw")]

    def speeds(self, file, classes):
        """Examples a second of ours and theirs, on a file long enough that starting the program does not count."""
        text = file.read_bytes()
        long_file = self.folder / "long.vw"
        copies = max(1, 60_000_000 // len(text))
        long_file.write_bytes(copies * text)
        rows = copies * text.count(b"\n")
        best = {name: min(self.run(name, long_file, classes)[1] for _ in range(3)) for name in ("ignd", "vw")}
        return [rows / (best[name] - self.start[name]) for name in ("ignd", "vw")]


def table_as_vw(path, target, unit, file):
    """Numbers keep their column's name, and texts become features of their own, as Vowpal Wabbit's users write them."""
    with open(path) as lines:
        rows = list(csv.reader(lines))
    has_header = not re.match(r"-?[\d.]", rows[0][0])
    names = rows.pop(0) if has_header else [f"c{i + 1}" for i in range(len(rows[0]))]
    at = names.index(target)
    with open(file, "w") as out:
        for row in rows:
            features = []
            for i, (name, cell) in enumerate(zip(names, row)):
                is_number = re.fullmatch(r"-?[\d.]+(e[-+]?\d+)?", cell)
                if i != at:
                    features.append(f"{name}:{cell}" if is_number else f"{name}={cell.replace(' ', '_')}")
            out.write(f"{float(row[at]) / unit:.9g} | {' '.join(features)}\n")


def shuffled(file, seed, copy):
    lines = file.read_text().splitlines(keepends=True)
    random.Random(seed).shuffle(lines)
    copy.write_text("".join(lines))


def row_of(name, measured):
    """A row of the table from the losses of each seed."""
    ours, theirs = zip(*measured)
    wins = sum(a < b for a, b in zip(ours, theirs))
    means = [sum(losses) / len(losses) for losses in (ours, theirs)]
    texts = [f"{m:.3g}".replace("e+0", "e").replace("e+", "e") if m >= 1e4 else short(m, 4) for m in means]
    return [name, *texts, f"{wins} of {len(ours)}"]


class Comparison:
    def __init__(self, programs, writer, seeds, folder):
        self.programs, self.writer, self.seeds = programs, writer, range(1, seeds + 1)
        self.file, self.whole = Path(folder) / "stream.vw", Path(folder) / "whole.vw"
        self.speeds = {}

    def stream(self, name, count):
        """A row for a made-up stream."""
        measured = []
        for seed in self.seeds:
            with open(self.file, "w") as out:
                subprocess.run([self.writer, "--write", str(count), str(seed), name], stdout=out, check=True)
            measured.append(self.programs.losses(self.file, name in CLASSES))
        if name in TIMED and name not in self.speeds:
            self.speeds[name] = self.programs.speeds(self.file, name in CLASSES)
        return row_of(f"`{name}`", measured)

    def table(self, name, path, target):
        """Rows for a data set."""
        rows = []
        for unit in (1, UNITS[name]):
            table_as_vw(path, target, unit, self.whole)
            divided = f", target / {unit:,}" if unit != 1 else ""
            rows.append(row_of(f"{name}, in the order of the file{divided}", [self.programs.losses(self.whole, False)]))
            measured = []
            for seed in self.seeds:
                shuffled(self.whole, seed, self.file)
                measured.append(self.programs.losses(self.file, False))
            rows.append(row_of(f"{name}, shuffled{divided}", measured))
        if name in TIMED:
            self.speeds[name] = self.programs.speeds(self.file, False)
        return rows


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rows", default="100000,5000", help="a table for each; speeds are those of the first")
    parser.add_argument("--seeds", type=int, default=5)
    parser.add_argument("--streams", default=",".join([*REGRESSION[:1], *SCALES, *REGRESSION[1:], *CLASSES]))
    parser.add_argument("--vw", help="instead of the pinned wheel")
    parser.add_argument("--bin", type=Path, help="where stream_defaults is")
    arguments = parser.parse_args()
    writer = arguments.bin / "stream_defaults" if arguments.bin else program("stream_defaults")
    vw = shlex.split(arguments.vw) if arguments.vw else installed_vw()
    with tempfile.TemporaryDirectory() as folder:
        comparison = Comparison(Programs(vw, folder), writer, arguments.seeds, folder)
        for count in map(int, arguments.rows.split(",")):
            rows = [comparison.stream(name, count) for name in arguments.streams.split(",")]
            print_table([f"progressive loss, {count:,} rows", *COLUMNS, "ours is lower"], rows)
            print()
        if os.environ.get("IGND_DATA"):
            rows = [row for table in two_tables(folder) for row in comparison.table(*table)]
            print_table(["progressive squared error", *COLUMNS, "ours is lower"], rows)
            print()
    rows = []
    for name, both in comparison.speeds.items():
        label = name if name[0].isupper() else f"`{name}`"
        rows.append([label, *(f"{float(f'{speed:.2g}'):,.0f} examples/s" for speed in both)])
    print_table(["speed on one core", *COLUMNS], rows)


if __name__ == "__main__":
    main()
