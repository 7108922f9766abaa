#!/usr/bin/env python3
"""bench/doc_tables.py TABLE: measures a table of the documentation and prints it as Markdown.

    real-data         `ignd train` with nothing but the target on California Housing and Diamonds (docs/defaults.md)
    raw-streams       `ignd train --stream` on the same two, unscaled (docs/stream-results.md)
    merged-streams    models of parts of a stream that are merged, beside one pass (docs/stream-results.md)
    rank-scaling      a study of short runs on 1, 2 and 4 ranks: time, and what handing out costs (docs/cluster.md)
    rank-costs        what handing out runs to ranks costs rank 0 (docs/cluster.md)
    table-defaults    what the defaults of `ignd train` were chosen by (docs/defaults.md)
    stream-defaults   what the defaults of streams were chosen by (docs/defaults.md)
    raw-speed         how fast streams and tables are read and learned (docs/stream-results.md)
    target-units      the same stream with targets of other units (docs/stream-results.md)
    steps             microseconds of a training step beside the machine's floor (docs/performance.md)
    batch-steps       the same and the memory of images and texts, one by one and in batches (docs/minibatch.md)
    tokenizer         how fast texts become tokens (docs/tokenizer.md)
    images            how fast photographs are decoded, and read from the cache (docs/images.md)

    scores NAME [COLUMN...]    the scores of an experiment, methods as columns, and further columns of its report
    study NAME [COLUMN...]     the same, and the comparisons seed by seed
    methods NAME               the tables of its report, methods as rows
    comparisons NAME           its comparisons seed by seed
    best-of NAME               of methods with several rates, the best
    advice NAME                what the tool says of the experiment's settings

The last six take what they print from the store in build/docs/NAME, which is made or completed first.

scripts/docs.py puts the tables into the pages. IGND_DATA names the folder with the data sets.
"""

import json
import math
import os
import random
import re
import resource
import shutil
import subprocess
import sys
import tarfile
import tempfile
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
IGND = ROOT / "build/release/bin/ignd"


def data_file(name):
    path = Path(os.environ.get("IGND_DATA", "")) / name
    if not os.environ.get("IGND_DATA") or not path.exists():
        raise SystemExit(f"IGND_DATA names no folder with {name}")
    return path.resolve()


def two_tables(folder):
    """California Housing and Diamonds as files: (name, path, target)."""
    with tarfile.open(data_file("cal_housing.tgz")) as archive:
        housing = Path(folder) / "cal_housing.data"
        housing.write_bytes(archive.extractfile("CaliforniaHousing/cal_housing.data").read())
    return [("California Housing", housing, "c9"), ("Diamonds", data_file("diamonds.csv"), "price")]


def result_of(*arguments, folder):
    """The last JSON object that a command of the tool prints."""
    done = subprocess.run([IGND, *arguments, "--json", "--quiet"], cwd=folder, capture_output=True, text=True)
    if done.returncode != 0:
        raise SystemExit(done.stderr.strip())
    return json.loads(done.stdout.strip().split("\n")[-1])


def short(value, digits=3):
    """Without the zero before the point, as the pages write fractions."""
    text = f"{value:.{digits}g}"
    if "e" in text:
        mantissa, exponent = text.split("e")
        return f"{mantissa}e{int(exponent)}" if abs(value) < 1e-3 else f"{value:,.0f}"
    if abs(value) >= 1000:
        return f"{value:,.0f}"
    return text.replace("0.", ".", 1) if text.startswith(("0.", "-0.")) else text


def spread(mean, deviation):
    """Mean and deviation, the latter with two digits."""
    if not deviation:
        return short(mean)
    if mean != 0 and abs(mean) < 1e-3:
        return f"{short(mean)} ± {short(deviation, 2)}"
    places = max(0, 1 - math.floor(math.log10(deviation)))
    return re.sub(r"(?<!\d)0\.", ".", f"{mean:.{places}f} ± {deviation:.{places}f}")


def print_table(header, rows):
    print("| " + " | ".join(header) + " |")
    print("|" + "---|" * len(header))
    for row in rows:
        print("| " + " | ".join(row) + " |")


def real_data():
    options = {
        "default (eight networks)": [],
        "`--fast` (adam)": ["--fast"],
        "`--optimizer ignd`": ["--optimizer", "ignd"],
        "`--optimizer adam-ignd`": ["--optimizer", "adam-ignd"],
        "`--optimizer sgd`": ["--optimizer", "sgd"],
        "`--model linear`": ["--model", "linear"],
    }
    rows = {name: [] for name in [*options, "least squares", "best constant"]}
    with tempfile.TemporaryDirectory() as folder:
        for _, path, target in two_tables(folder):
            for name, more in options.items():
                result = result_of("train", path, "--target", target, "--save", "model.ignd", *more, folder=folder)
                rows[name] += [result["metrics"]["test"][score] for score in ("mape", "rmse")]
            for name in ("least squares", "best constant"):
                test = result["baselines"][name.replace(" ", "_")]["test"]
                rows[name] += [test[score] for score in ("mape", "rmse")]
    print_table(
        ["test rows, seed 1", "California MAPE", "RMSE", "Diamonds MAPE", "RMSE"],
        [[name, *(short(value, 3 if i % 2 == 0 else 4) for i, value in enumerate(row))] for name, row in rows.items()],
    )


def shuffled(path, folder):
    """A copy with the rows in another order; the first row stays where it names columns."""
    lines = [line + "\n" for line in path.read_text().splitlines()]
    header = lines[:1] if not lines[0][0].isdigit() and lines[0][0] != "-" else []
    rest = lines[len(header) :]
    random.Random(1).shuffle(rest)
    copy = Path(folder) / f"shuffled-{path.name}"
    copy.write_text("".join(header + rest))
    return copy


def raw_streams():
    rows = []
    with tempfile.TemporaryDirectory() as folder:
        for name, path, target in two_tables(folder):
            losses = []
            for file in (path, shuffled(path, folder)):
                result = result_of("train", "--stream", file, "--target", target, "--save", "s.ignd", folder=folder)
                losses.append(result["metrics"]["progressive"]["mse"])
            hindsight = subprocess.run([program("hindsight"), path, target], capture_output=True, text=True, check=True)
            for line in reversed(hindsight.stdout.strip().split("\n")):
                losses.append(float(line.split("error ")[1].split(",")[0]))
            rows.append([name, *(f"{loss:.3g}".replace("e+0", "e").replace("e+", "e") for loss in losses)])
    print_table(
        ["mean squared error", "in the order of the file", "shuffled", "least squares in hindsight", "best constant"],
        rows,
    )


def merged_streams():
    """Test errors of one pass, of merged models of K parts in one or several rounds, and of one part alone."""

    def tool(*arguments):
        done = subprocess.run([IGND, *arguments], cwd=folder, capture_output=True, text=True)
        if done.returncode != 0:
            raise SystemExit(done.stderr.strip())
        return done.stdout

    def write(name, lines):
        (Path(folder) / name).write_text("".join(header + lines))
        return name

    def rmse(model):
        done = tool("evaluate", model, "test.csv", "--json").strip()
        return json.loads(done)["metrics"]["test"]["rmse"]

    def in_rounds(first, rest, parts, rounds):
        """The test error of the last merged model, and that of the first round's first part."""
        tool("train", "--stream", write("first.csv", first), "--target", target, "--save", "base.ignd", "--quiet")
        alone = None
        for r in range(rounds):
            block = rest[len(rest) * r // rounds : len(rest) * (r + 1) // rounds]
            models = []
            for k in range(parts):
                part = block[len(block) * k // parts : len(block) * (k + 1) // parts]
                models.append(f"part-{k}.ignd")
                tool("train", "--stream", write("part.csv", part), "--resume", "base.ignd", "--save", models[-1],
                     "--quiet")
            alone = alone if alone is not None else rmse(models[0])
            tool("merge", *models, "--base", "base.ignd", "-o", "merged.ignd")
            os.replace(Path(folder) / "merged.ignd", Path(folder) / "base.ignd")
        return rmse("base.ignd"), alone

    rows = []
    with tempfile.TemporaryDirectory() as folder:
        for name, path, target in two_tables(folder):
            lines = shuffled(path, folder).read_text().splitlines(keepends=True)
            header = lines[:1] if path.name.endswith(".csv") else []
            lines = lines[len(header) :]
            test, train = lines[: len(lines) // 5], lines[len(lines) // 5 :]
            column = header[0].strip().replace('"', "").split(",").index(target) if header else -1
            by_target = sorted(train[1000:], key=lambda line: float(line.strip().split(",")[column]))
            write("test.csv", test)
            for order, rest in (("shuffled", train[1000:]), ("sorted by the target", by_target)):
                cells = []
                for parts, rounds in ((1, 1), (2, 1), (4, 1), (16, 1), (4, 10), (16, 10)):
                    merged, alone = in_rounds(train[:1000], rest, parts, rounds)
                    cells.append(merged)
                    if (parts, rounds) == (16, 1):
                        part = alone
                rows.append([f"{name}, {order}", *(short(cell, 4) for cell in cells), short(part, 4)])
    print_table(
        ["test RMSE", "one pass", "2 parts", "4 parts", "16 parts", "4 parts, 10 rounds", "16 parts, 10 rounds",
         "one of 16 parts"],
        rows,
    )


SHORT_RUNS = """
title = "Short runs"
question = "What does handing out cost?"
task = "frozen-lake"
seeds = 20
x-label = "episode"
metric = {{ label = "return", better = "higher" }}
[settings]
episodes = {episodes}
[search]
rates = [0.1, 0.5, 1]
choose-by = "tuning-seeds"
tuning-seeds = {seeds}
[[panel]]
name = "one"
title = "One"
[[panel.method]]
name = "QL"
optimizer = "sgd"
"""


def rank_scaling():
    """Processor time beyond that of one process, per run, without what starting and ending costs."""
    environment = {**os.environ, "OMPI_ALLOW_RUN_AS_ROOT": "1", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1"}

    def cost(ranks, episodes, seeds, folder):
        """Seconds by the clock and of processors."""
        (Path(folder) / "study.toml").write_text(SHORT_RUNS.format(episodes=episodes, seeds=seeds))
        shutil.rmtree(Path(folder) / "out", ignore_errors=True)
        words = ["mpirun", "-q", "--oversubscribe", "-n", str(ranks)] if ranks else []
        before, start = resource.getrusage(resource.RUSAGE_CHILDREN), time.monotonic()
        done = subprocess.run([*words, IGND, "reproduce", "study.toml", "--out", "out", "--jobs", "1"], cwd=folder,
                              capture_output=True, text=True, env=environment)
        if done.returncode != 0:
            raise SystemExit(done.stderr.strip())
        after = resource.getrusage(resource.RUSAGE_CHILDREN)
        processors = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
        return time.monotonic() - start, processors

    rows = []
    with tempfile.TemporaryDirectory() as folder:
        for episodes in (300, 3000):
            alone = None
            for ranks in (0, 1, 2, 4):
                wall, few = zip(*(cost(ranks, episodes, 10, folder) for _ in range(3)))
                long, many = zip(*(cost(ranks, episodes, 1010, folder) for _ in range(3)))
                runs = 3 * 1000
                per_run = (min(many) - min(few)) / runs
                alone = per_run if alone is None else alone
                rows.append([str(ranks) if ranks else "no MPI", f"{1000 * alone:.2g} ms",
                             f"{runs / (min(long) - min(wall)):,.0f} runs/s", f"{1000 * per_run:.2g} ms",
                             f"{100 * (per_run / alone - 1):.0f} %" if ranks else ""])
    print_table(["ranks", "a run takes", "speed", "processor time of a run", "more than alone"], rows)


def rank_costs():
    """Runs bench/rank_costs: what rank 0 spends on each message and each result."""
    done = subprocess.run([program("rank_costs")], capture_output=True, text=True)
    if done.returncode != 0:
        raise SystemExit(done.stderr.strip())
    print(done.stdout, end="")


def program(name):
    """A program of bench/ or tests/: the one beside the tool, or built in build/bench."""
    if (IGND.parent / name).exists():
        return IGND.parent / name
    folder = ROOT / "build/bench"
    log = subprocess.run(
        ["bash", "-c", f"cmake -S '{ROOT}' --preset release -B '{folder}' -DIGND_BENCH=ON -DIGND_TESTS=OFF "
         f"-DIGND_EXAMPLES=OFF --log-level=NOTICE && ninja -C '{folder}' --quiet {name}"],
        capture_output=True, text=True,
    )
    if log.returncode != 0:
        raise SystemExit(log.stdout + log.stderr)
    return folder / "bin" / name


def table_defaults():
    lines = subprocess.run([program("table_defaults")], capture_output=True, text=True, check=True).stdout.split("\n")
    width = 36  # of the labels
    rows = [[line[:width].strip(), *line[width:].split()] for line in lines if line.strip()]
    print_table(["", *rows[0][1:]], [[row[0], *(f"{float(v):.4f}".lstrip("0") for v in row[1:])] for row in rows[1:]])


def bench_rows(*options):
    """What `ignd_bench` measures of one thread and floats, by model and optimizer; the machine should be quiet."""
    done = subprocess.run([IGND.with_name("ignd_bench"), "--json", *options], capture_output=True, text=True, check=True)
    rows = [json.loads(line) for line in done.stdout.strip().split("\n")]
    return {(r["model"], r["optimizer"]): r for r in rows if r["precision"] == "float" and r["threads"] == 1}


def step_time(row):
    """Microseconds, and how many times the floor that is, where there is one."""
    ratio = f" ({short(row['us_per_sample'] / row['floor_us'], 2)})" if row["floor_us"] else ""
    return short(row["us_per_sample"]) + ratio


def steps():
    networks = {
        "mlp:widths=8x32x64x32": "MLP 8-32-64-32-1",
        "mlp:widths=64x256x256": "MLP 64-256-256-1",
        "linear:features=64": "linear, 64 features",
        "hashed-linear:bits=18,bias=0": "hashed linear, 40 of 2^18 features",
        "cnn:32,64,128/128,64": "CNN, 224 x 224 x 3",
        "lstm:128x128": "LSTM, 256 tokens",
    }
    found = bench_rows()
    methods = ["sgd", "ignd", "adam", "adam-ignd"]
    print_table(
        ["us per sample (ratio to the floor)", *methods],
        [[name, *(step_time(found[model, method]) for method in methods)] for model, name in networks.items()],
    )
    batches = ["sgd", "ignd average", "ignd exact", "adam"]
    print()
    print_table(
        ["MLP 8-32-64-32-1 in batches", *batches],
        [[f"b = {size}", *(step_time(found["mlp:widths=8x32x64x32", f"{kind} b={size}"]) for kind in batches)]
         for size in (8, 32, 128)],
    )


def batch_steps():
    """Time and memory of a sample, with the paper's networks."""
    kinds = {"one by one": "ignd", "gradients": "sgd b=8", "averaged": "ignd average b=8", "exact": "ignd exact b=8"}
    rows = []
    for model, name in {"cnn:32,64,128/128,64": "CNN, 224 x 224 x 3", "lstm:128x128": "LSTM, 256 tokens"}.items():
        found = bench_rows("--filter", model)
        cells = [found[model, optimizer] for optimizer in kinds.values()]
        rows.append([name, *(f"{short(row['us_per_sample'] / 1000)} ms" for row in cells)])
        rows.append(["", *(f"{short(row['megabytes'])} MB" for row in cells)])
    print_table(["per sample", *kinds], rows)


def tokenizer():
    """Processor time of one core, the best of five runs."""
    rows = []
    with tempfile.TemporaryDirectory() as folder:
        draw = random.Random(1)
        texts = {
            "a megabyte of one letter": "a" * 1000000,
            "a megabyte of spaces": " " * 1000000,
            "a megabyte of line ends": "\n" * 1000000,
            "a megabyte of random letters": "".join(draw.choices("abcdefghijklmnopqrstuvwxyz", k=1000000)),
        }
        paths = {"the IMDB reviews": data_file("aclImdb_v1.tar.gz")}
        for name, text in texts.items():
            paths[name] = Path(folder) / name
            paths[name].mkdir()
            (paths[name] / "text.txt").write_text(text)
        for name, path in paths.items():
            done = subprocess.run([program("tokenize"), path, "5"], capture_output=True, text=True, check=True)
            found = re.search(r"(\d+) texts, ([\d.]+) MB, (\d+) tokens in ([\d.]+) s: ([\d.]+) million", done.stdout)
            rows.append([name, f"{int(found[1]):,}", f"{found[2]} MB", f"{int(found[3]):,}", f"{found[4]} s",
                         f"{found[5]} million tokens/s"])
    print_table(["", "texts", "size", "tokens", "time", "speed"], rows)


def images():
    test = [program("threads_tests"), "--gtest_filter=*RealPhotographs"]
    done = subprocess.run(test, capture_output=True, text=True, check=True)
    found = re.search(r"decoded (\d+) images in ([\d.]+) s, opened them again in ([\d.]+) s", done.stdout)
    if not found:
        raise SystemExit("IGND_DATA names no folder with cats-vs-dogs-3000")
    print_table([f"{int(found[1]):,} photographs", "time"],
                [["decoded and written to the cache", f"{found[2]} s"],
                 ["opened again, all pixels checked", f"{found[3]} s"]])


def raw_speed():
    """Speeds on the clock, and the memory of the process at its peak."""
    rows = []
    with tempfile.TemporaryDirectory() as folder:
        stream = Path(folder) / "m.svm"
        with open(stream, "w") as file:
            subprocess.run([program("sparse_file"), "svmlight", "200000"], stdout=file, check=True)
        for threads in ("1", "2"):
            command = [IGND, "train", "--stream", stream, "--threads", threads, "--save", "m.ignd", "--json", "--quiet"]
            process = subprocess.Popen(command, cwd=folder, stdout=subprocess.PIPE, text=True)
            result = json.loads(process.stdout.read().strip().split("\n")[-1])
            _, status, usage = os.wait4(process.pid, 0)
            if status != 0:
                raise SystemExit("the stream was not learned")
            rows.append(["stream", threads, f"{round(result['samples_per_second'], -3):,.0f} examples/s",
                         f"{usage.ru_maxrss / 1000:.0f} MB"])
        table = Path(folder) / "m.csv"
        draw = random.Random(1)
        with open(table, "w") as file:
            file.write("a,b,c,d,e,f,g,h\n")
            for _ in range(500000):
                file.write(",".join(f"{draw.uniform(-9, 9):.4f}" for _ in range(8)) + "\n")
        done = subprocess.run([program("read_csv"), table, "5"], capture_output=True, text=True, check=True)
        for threads, speed in zip(("1", "2"), re.findall(r"([\d.]+) MB/s", done.stdout), strict=True):
            rows.append(["table", threads, f"{float(speed):.0f} MB/s", ""])
    print_table(["", "threads", "speed", "memory"], rows)


def target_units():
    settings = {"as it is": "default", "times 1e-6": "scale=1e-6", "times 1e5": "scale=1e5", "plus 1e5": "offset=1e5"}
    (row,) = stream_losses(20000, ["scales-one"], settings.values(), first_seed=1, seeds=10)
    print_table(["progressive squared error", *settings], [[f"`{row[0]}`", *(f"{float(v):.4g}" for v in row[1:])]])


REGRESSION = ["scales-one", "noisy", "means", "drift", "correlated", "collinear", "wide", "sparse-numbers"]
CLASSES = ["classes", "classes-means", "classes-drift", "classes-sharp", "sparse", "sparse-skewed"]


def stream_settings(rule):
    """Columns of the table: name and setting; `rule` is the damped rule without its damping."""
    fading = "metric=fading;schedule=constant:rate=1,warmup=10;rule=" + rule
    second = "metric=second;schedule="
    return {
        "default": "default",
        "eps_LM 1": fading + "eps_lm=1",
        "eps_LM 4": fading + "eps_lm=4",
        "no centring": "centre=0",
        "no warm-up": f"metric=fading;schedule=constant:rate=1;rule={rule}eps_lm=2",
        "warm-up 30": f"metric=fading;schedule=constant:rate=1,warmup=30;rule={rule}eps_lm=2",
        "rate 1": second + "constant:rate=1,warmup=10",
        "rate .1": second + "constant:rate=0.1,warmup=10",
        "t^-1": second + "robbins-monro:rate=1,horizon=10,power=1,warmup=10",
        "t^-1/2": second + "robbins-monro:rate=1,horizon=100,power=0.5,warmup=10",
        "half of it": second + "robbins-monro:rate=0.5,horizon=100,power=0.5,warmup=10",
    }


def stream_losses(rows, streams, settings, first_seed=101, seeds=5):
    done = subprocess.run(
        [program("stream_defaults"), str(rows), str(first_seed), str(seeds), ",".join(streams), *settings],
        capture_output=True, text=True, check=True,
    )
    return [line.split() for line in done.stdout.strip().split("\n")]


def stream_defaults():
    for count in (100000, 5000):
        rows = []
        for streams, rule in ((REGRESSION, "gauss-newton:"), (CLASSES, "gauss-newton:eps_c=0.1,")):
            rows += stream_losses(count, streams, stream_settings(rule).values())
        print_table(
            [f"{count:,} rows", *stream_settings("")],
            [[f"`{row[0]}`", *(short(float(value), 4) for value in row[1:])] for row in rows],
        )
        print()
    eps = {"default (.1)": "default"}
    for value in ("0.01", "0.25"):
        eps[f"eps_c {value.lstrip('0')}"] = (
            f"metric=fading;schedule=constant:rate=1,warmup=10;rule=gauss-newton:eps_c={value},eps_lm=2"
        )
    rows = stream_losses(100000, CLASSES, eps.values())
    print_table(
        ["100,000 rows", *eps], [[f"`{row[0]}`", *(short(float(value), 4) for value in row[1:])] for row in rows]
    )


def finished_study(name):
    """The summary of an experiment, and its tables as the report has them: header and rows of each panel.

    Where runs failed and have no score, the mean is that of the others.
    """
    folder = ROOT / "build/docs" / name
    folder.parent.mkdir(parents=True, exist_ok=True)
    file = ROOT / f"experiments/{name}.toml"
    done = subprocess.run([IGND, "reproduce", file, "--out", folder], capture_output=True, text=True)
    if done.returncode != 0:
        raise SystemExit(done.stderr.strip())
    (page,) = folder.glob("*-table.md")
    tables = {}
    for line in page.read_text().split("\n"):
        if line.startswith("## "):
            tables[line[3:]] = rows = []
        elif line.startswith("| method |"):
            rows.append([cell.strip() for cell in line.strip("|").split("|")])
        elif line.startswith("| ") and len(line.split("|")) == len(rows[0]) + 2:
            rows.append([cell.strip().strip("*") for cell in line.strip("|").split("|")])
        elif others := re.match(r"(.+): no mean, since .+ The other \d+: (.+)\.$", line):
            row = next(row for row in rows if row[0] == others[1])
            row[row.index("n/a")] = others[2]
    return json.loads((folder / "summary.json").read_text())["experiments"][0], tables


def scores(name, *columns):
    """Scores with methods as columns, the paper's above ours; returns the experiment's summary."""
    experiment, tables = finished_study(name)
    methods = list(dict.fromkeys(row["method"] for panel in experiment["panels"] for row in panel["rows"]))
    rows = []
    for panel, table in zip(experiment["panels"], tables.values(), strict=True):
        found = {row["method"]: row for row in panel["rows"]}
        paper = [spread(found[m]["paper_mean"], found[m]["paper_std"]) if m in found and found[m]["paper_mean"] else ""
                 for m in methods]
        if any(paper):
            rows.append([panel["name"], "paper", *paper])
        rows.append(["" if any(paper) else panel["name"], "here", *(score(m, found, table) for m in methods)])
        rates = [short(found[m]["learning_rate"], 2) if m in found and found[m]["learning_rate"] else ""
                 for m in methods]
        if any(rates) and not all("rate" in m for m in methods):
            rows.append(["", "rate", *rates])
        for column in columns:
            cells = {row[0]: without_zeros(row[table[0].index(column)]) for row in table[1:]}
            rows.append(["", column, *(cells.get(m, "") for m in methods)])
    print_table([experiment["metric"], "", *methods], rows)
    return experiment


def study(name, *columns):
    experiment = scores(name, *columns)
    if any(panel["comparisons"] for panel in experiment["panels"]):
        print()
    print_comparisons(experiment)


def methods(name):
    """A table for each panel with methods as rows and the columns of the report."""
    _, tables = finished_study(name)
    for k, (title, (header, *rows)) in enumerate(tables.items()):
        none_failed = all(row[header.index("failed")] == "0" for row in rows)
        left_out = ["method", "seeds", "failed"] if none_failed else ["method", "seeds"]
        columns = [i for i, column in enumerate(header) if column not in left_out]
        print("" if k == 0 else "\n", end="")
        print_table(
            [title, *(header[i] for i in columns)],
            [[row[0], *(timed(row[i]) if header[i] == "seconds" else without_zeros(row[i]) for i in columns)]
             for row in rows],
        )


def comparisons(name):
    print_comparisons(finished_study(name)[0])


def best_of(name):
    """Of methods that differ in their last word, the rate, the best; and the mean of these."""
    experiment, tables = finished_study(name)
    best = max if experiment["better"] == "higher" else min
    kinds = list(dict.fromkeys(row["method"].split()[0] for panel in experiment["panels"] for row in panel["rows"]))
    rows = []
    for title, panel in zip(tables, experiment["panels"], strict=True):
        found = [best(row["mean"] for row in panel["rows"] if row["method"].split()[0] == kind) for kind in kinds]
        rows.append([title, *(without_zeros(f"{value:.3f}") for value in [*found, sum(found) / len(found)])])
    print_table([experiment["metric"], *kinds, "mean"], rows)


def without_zeros(text):
    return re.sub(r"(?<![\d.])0\.", ".", text)


def timed(cell):
    """A mean and its deviation as a time, which docs.py does not compare."""
    return without_zeros(cell.split(" ")[0]) + " s" if cell else ""


def print_comparisons(experiment):
    compared = [(panel["name"], pair) for panel in experiment["panels"] for pair in panel["comparisons"]
                if pair["pairs"] > 0]
    if not compared:
        return
    print_table(
        ["", "seed by seed", "difference ± standard error", "wins"],
        [[panel, f"{log(pair, 'better')} − {log(pair, 'worse')}", difference(pair),
          f"{pair['wins']} of {pair['pairs']}"] for panel, pair in compared],
    )


def log(pair, side):
    return f"log10 {pair[side]}" if pair["log"] else pair[side]


def difference(pair):
    known = pair["difference"] is not None
    return spread(pair["difference"], pair["standard_error"]) if known else "not all runs finished"


def score(method, found, table):
    if method not in found:
        return ""
    row = found[method]
    if row["seeds"] == 0:
        return "failed at every rate"
    if row["failed"] == 0 or row["mean"] is not None:
        text = spread(row["mean"], row["std"])
    elif row["failed"] == row["seeds"]:
        return "all failed"
    else:
        text = without_zeros(next(cells for cells in table if cells[0] == method)[2])
    return text + (f", {row['failed']} of {row['seeds']} failed" if row["failed"] else "")


def advice(name):
    """What the tool says of the settings, panel by panel."""
    experiment, _ = finished_study(name)
    for panel in experiment["panels"]:
        for sentence in panel["advice"]:
            print(f"- **{panel['name']}**: {sentence}")


TABLES = {
    "real-data": real_data,
    "raw-streams": raw_streams,
    "merged-streams": merged_streams,
    "rank-scaling": rank_scaling,
    "rank-costs": rank_costs,
    "table-defaults": table_defaults,
    "stream-defaults": stream_defaults,
    "raw-speed": raw_speed,
    "target-units": target_units,
    "steps": steps,
    "batch-steps": batch_steps,
    "tokenizer": tokenizer,
    "images": images,
}
STUDIES = {"scores": scores, "study": study, "methods": methods, "comparisons": comparisons, "best-of": best_of,
           "advice": advice}


def main():
    words = sys.argv[1:]
    if len(words) == 2 and words[0] in STUDIES or len(words) > 2 and words[0] in ("scores", "study"):
        STUDIES[words[0]](*words[1:])
    elif len(words) == 1 and words[0] in TABLES:
        TABLES[words[0]]()
    else:
        raise SystemExit(__doc__)


if __name__ == "__main__":
    main()
