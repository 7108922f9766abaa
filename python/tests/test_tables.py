"""Training on tables in memory: the same bits as the tool, and errors in place of crashes."""

import os
import pickle
import signal
import subprocess
import sys
import threading
import time

import ignd
import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from conftest import messy_table
from ignd._frames import to_frame

QUICK = {"model": "mlp:8", "lr": 0.01, "epochs": 3}
QUICK_WORDS = ["--model", "mlp:8", "--lr", "0.01", "--epochs", "3"]


def bits_of(model, tmp_path):
    path = tmp_path / "bits.ignd"
    model.save(str(path))
    return path.read_bytes()


def tool_bits(tool, table, tmp_path, *words):
    """The bytes of the model alone that `ignd train` makes of the table as a file."""
    table.to_csv(tmp_path / "table.csv", index=False)
    tool("train", "table.csv", "--save", "tool.ignd", "--quiet", *words, cwd=tmp_path)
    return bits_of(ignd.load(tmp_path / "tool.ignd"), tmp_path)


@pytest.mark.same_build
@pytest.mark.parametrize("options", [{}, {"optimizer": "ignd"}, {"batch": 16}, {"seed": 3, "loss": "huber"}])
def test_same_bits_as_the_tool(tool, messy, tmp_path, options):
    model, _ = ignd.train(messy, "rent", **QUICK, **options)
    words = [word for name, value in options.items() for word in (f"--{name}", str(value))]
    assert bits_of(model, tmp_path) == tool_bits(tool, messy, tmp_path, "--target", "rent", *QUICK_WORDS, *words)


@pytest.mark.same_build
@pytest.mark.parametrize("target", ["town", "lift"])
def test_same_bits_for_classes(tool, messy, tmp_path, target):
    table = messy.dropna(subset=["town"])
    model, _ = ignd.train(table, target, **QUICK)
    assert bits_of(model, tmp_path) == tool_bits(tool, table, tmp_path, "--target", target, *QUICK_WORDS)


@pytest.mark.same_build
def test_a_searched_rate_is_the_tools(tool, messy, tmp_path):
    model, report = ignd.train(messy, "rent", model="linear", epochs=4)
    words = ["--target", "rent", "--model", "linear", "--epochs", "4"]
    assert bits_of(model, tmp_path) == tool_bits(tool, messy, tmp_path, *words)
    assert report.rate > 0


def test_texts_are_read_as_in_a_file(tool, tmp_path):
    random = np.random.default_rng(5)
    rows = 300
    table = pd.DataFrame({
        "number": [f" {value:.3f}" if value > 0.1 else "NA" for value in random.random(rows)],
        "percent": [f"{value} %" for value in random.integers(0, 100, rows)],
        "date": [f"{day}.{month}.2024" for day, month in zip(random.integers(1, 28, rows), random.integers(1, 12, rows))],
        "late": ["1"] * 250 + ["one"] * 50,  # what looks like numbers at first
        "decimal": [f"{value:.2f}".replace(".", ",") for value in random.uniform(0, 10, rows)],
        "y": random.normal(size=rows),
    })
    model, _ = ignd.train(table, "y", **QUICK)
    assert bits_of(model, tmp_path) == tool_bits(tool, table, tmp_path, "--target", "y", *QUICK_WORDS)


def test_every_kind_of_table_gives_the_same_bits(messy, tmp_path):
    expected = bits_of(ignd.train(messy, "rent", **QUICK)[0], tmp_path)
    dates = messy.assign(built=messy["built"].astype("datetime64[us]"))
    tables = {
        "categories": messy.assign(town=messy["town"].astype("category")),
        "nullable": messy.assign(rooms=messy["rooms"].astype("Int64"), size=messy["size"].astype("Float64")),
        "objects": messy.astype({"town": object, "fee": object}),
        "arrow": pa.Table.from_pandas(dates, preserve_index=False),
        "arrow in chunks": pa.concat_tables([pa.Table.from_pandas(dates[:100], preserve_index=False),
                                             pa.Table.from_pandas(dates[100:], preserve_index=False)]),
        "arrow, part of a table": pa.Table.from_pandas(pd.concat([dates[:7], dates]), preserve_index=False).slice(7),
        "dictionaries": pa.Table.from_pandas(dates, preserve_index=False).set_column(
            1, "town", pa.array(dates["town"], from_pandas=True).dictionary_encode()),
        "polars": pl.from_pandas(messy),
        "columns": {name: messy[name].to_numpy() for name in messy},
    }
    for kind, table in tables.items():
        assert bits_of(ignd.train(table, "rent", **QUICK)[0], tmp_path) == expected, kind


@pytest.mark.same_build
def test_predictions_are_the_tools(tool, messy, tmp_path):
    model, _ = ignd.train(messy, "rent", **QUICK)
    model.save(str(tmp_path / "model.ignd"))
    new = messy_table(200, seed=9).drop(columns="rent")
    new.to_csv(tmp_path / "new.csv", index=False)
    rows = [line.split(",")[1] for line in tool("predict", "model.ignd", "new.csv", cwd=tmp_path).splitlines()[1:]]
    values, probabilities = model.predict_frame(to_frame(new))
    assert probabilities.shape == (200, 0)
    np.testing.assert_allclose(values, [float(row) for row in rows], rtol=1e-6)
    assert [made["value"] for made in model.predict_file(str(tmp_path / "new.csv"))] == values.tolist()


@pytest.mark.same_build
def test_the_default_is_the_tools(tool, messy, tmp_path):
    model, report = ignd.train(messy, "rent", epochs=2, ensemble=3)
    words = ["--target", "rent", "--epochs", "2", "--ensemble", "3"]
    assert bits_of(model, tmp_path) == tool_bits(tool, messy, tmp_path, *words)
    assert model.evaluate(str(tmp_path / "table.csv"))["rmse"] > 0
    assert "rmse" in report.test


def test_given_validation_rows_choose_the_iterate(messy):
    model, report = ignd._core.train_frame(to_frame(messy), {"target": "rent", "lr": "0.01", "epochs": "3"}, None, 100)
    assert report["test"] == {}
    values, _ = model.predict_frame(to_frame(messy[-100:]))
    error = np.sqrt(np.mean((values - messy["rent"][-100:]) ** 2))
    assert report["validation"]["rmse"] == pytest.approx(error, rel=1e-5)
    with pytest.raises(ignd.InvalidArgument, match="'validation' cannot be given beside validation rows"):
        ignd._core.train_frame(to_frame(messy), {"target": "rent", "validation": "0.2"}, None, 100)


def test_a_model_can_be_pickled(messy, tmp_path):
    model, _ = ignd.train(messy, "rent", **QUICK)
    again = pickle.loads(pickle.dumps(model))
    assert bits_of(again, tmp_path) == bits_of(model, tmp_path)


def test_progress_ends_a_run(messy):
    shares = []

    def stop(share):
        shares.append(share)
        return share < 0.1

    _, report = ignd.train(pd.concat([messy] * 20), "rent", lr=0.001, epochs=1000, patience=1000, progress=stop)
    assert report.status == "running"
    assert report.epochs < 1000
    assert shares == sorted(shares)


def test_an_error_in_progress_comes_out(messy):
    def fail(share):
        raise RuntimeError("no more")

    with pytest.raises(RuntimeError, match="no more"):
        ignd.train(pd.concat([messy] * 20), "rent", lr=0.001, epochs=1000, progress=fail)


LONG_RUN = """
import numpy as np, ignd
x = np.random.default_rng(1).normal(size=(50_000, 5))
table = {f"c{k}": x[:, k] for k in range(5)} | {"y": x.sum(axis=1)}
print("started", flush=True)
ignd.train(table, "y", epochs=100_000, patience=100_000, **OPTIONS)
"""


@pytest.mark.parametrize("options", [{"lr": 0.001}, {}], ids=["training", "search"])
def test_ctrl_c_ends_training(options):
    program = subprocess.Popen([sys.executable, "-c", LONG_RUN.replace("OPTIONS", repr(options))],
                               stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    assert program.stdout.readline() == "started\n"
    time.sleep(1)
    program.send_signal(signal.SIGINT)
    _, said = program.communicate(timeout=60)
    assert said.strip().endswith("KeyboardInterrupt")


@pytest.mark.parametrize("train", [
    lambda x: ignd.train({f"c{k}": x[:, k] for k in range(50)} | {"y": x[:, 0]}, "y", lr=0.001, epochs=30),
    lambda x: ignd.Trainer(ignd.mlp([50, 200, 200])).learn(np.tile(x, (10, 1)), np.tile(x[:, 0], 10)),
], ids=["table", "trainer"])
def test_other_threads_run_meanwhile(train):
    x = np.random.default_rng(1).normal(size=(5_000, 50)).astype(np.float32)
    training = threading.Thread(target=train, args=(x,))
    training.start()
    turns = 0
    while training.is_alive():
        time.sleep(0.001)
        turns += 1
    assert turns > 20  # one or two, if they had to wait for the end


LEARNERS = {
    "trainer": "ignd.Trainer(ignd.mlp([50, 500, 500])).learn(x, x[:, 0])",
    "batches": "ignd.BatchTrainer(ignd.mlp([50, 500, 500]), mode='exact', size=50).learn(x, x[:, 0])",
    "file": "ignd.OnlineRegressor(target='y').learn_file('endless.csv')",
}


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="this system has no named pipes")
@pytest.mark.parametrize("learner", LEARNERS)
def test_ctrl_c_ends_learning_and_keeps_what_was_learned(learner, tmp_path):
    setup = "import numpy as np, ignd; x = np.random.default_rng(1).normal(size=(200_000, 50)).astype(np.float32)"
    use = LEARNERS[learner].split(".learn")
    code = f"""{setup}
model = {use[0]}
print("started", flush=True)
try:
    model.learn{use[1]}
except KeyboardInterrupt:
    print("steps", getattr(model, "steps", None) or model.progressive["examples"])
"""
    os.mkfifo(tmp_path / "endless.csv")
    program = subprocess.Popen([sys.executable, "-c", code], stdout=subprocess.PIPE, text=True, cwd=tmp_path)
    assert program.stdout.readline() == "started\n"
    rows = subprocess.Popen([sys.executable, "-c", "print('a,y')\nwhile True: print('1,2\\n' * 999 + '1,2')"],
                            stdout=open(tmp_path / "endless.csv", "w")) if learner == "file" else None
    time.sleep(1)
    program.send_signal(signal.SIGINT)
    said, _ = program.communicate(timeout=60)
    if rows is not None:
        rows.kill()
        rows.wait()
    assert int(said.split()[1]) > 0


@pytest.mark.parametrize(("table", "message"), [
    ({"a": [1.0, 2.0]}, "no column 'y'|'y'"),
    ({"a": [], "y": []}, "no rows"),
    ({}, "no columns"),
    ({"a": [1.0, 2.0, 3.0], "y": [1.0, np.nan, 2.0]}, "row 2: the target 'y' is missing"),
    ({"a": [1.0, 2.0, 3.0], "y": [1.0, np.inf, 2.0]}, "row 2: the target 'y' is infinite"),
    ({"a": [1.0, 2.0], "y": [1.0]}, "has 1 rows"),
    ({"a": [[1.0], [2.0]], "y": [1.0, 2.0]}, "2 dimensions"),
    ({"a": [1j, 2j], "y": [1.0, 2.0]}, "complex"),
    ({"": [1.0, 2.0], "y": [1.0, 2.0]}, "no name"),
    ({"a": [1.0] * 50, "y": range(50)}, "differs from row to row"),
])
def test_bad_tables_are_refused_in_one_line(table, message):
    with pytest.raises(ignd.IgndError, match=message) as fault:
        ignd.train(table, "y", **QUICK)
    assert "\n" not in str(fault.value)


@pytest.mark.parametrize(("options", "message"), [
    ({"epoch": 3}, "did you mean 'epochs'"),
    ({"epochs": "many"}, "epochs"),
    ({"model": "mlp:x"}, "x"),
    ({"format": "csv"}, "cannot be given for a table in memory"),
    ({"damping": 2}, "'lambda' can only be given with 'batch'"),
    ({"optimizer": "adan"}, "adam"),
])
def test_bad_options_are_refused_in_one_line(messy, options, message):
    with pytest.raises(ignd.InvalidArgument, match=message) as fault:
        ignd.train(messy, "rent", **options)
    assert "\n" not in str(fault.value)


def random_column(random, rows):
    """A column of some type, with some values that no one expects."""
    kind = random.integers(12)
    numbers = random.normal(size=rows) * 10.0 ** random.integers(-300, 300)
    if kind == 0:
        return numbers
    if kind == 1:
        return np.where(random.random(rows) < 0.3, np.nan, numbers)
    if kind == 2:
        return np.where(random.random(rows) < 0.3, np.inf, numbers)
    if kind == 3:
        return random.integers(-100, 100, rows).astype(random.choice(["int8", "int64", "float32", "float16", ">f8"]))
    if kind == 4:
        return random.choice(["", "a", "NA", "12", "1e999", "\x00", "ä" * 1000, "1.1.2020", "$3", "a,b\n\"c\""], rows)
    if kind == 5:
        return np.array([None] * rows, dtype=object)
    if kind == 6:
        return random.choice(np.array([None, 1, 2.5, "x", True, 10**400], dtype=object), rows)
    if kind == 7:
        return random.integers(-2**62, 2**62, rows).astype("datetime64[ns]")
    if kind == 8:
        return np.array(["NaT", "2020-01-01"], dtype="datetime64[D]")[random.integers(0, 2, rows)]
    if kind == 9:
        return random.random(rows) < 0.5
    if kind == 10:
        return pd.Series(random.choice(["a", "b"], rows)).astype("category")
    return numbers[::-1]


@pytest.mark.parametrize("seed", range(60))
def test_random_tables_train_or_are_refused(seed):
    random = np.random.default_rng(seed)
    rows = int(random.choice([1, 2, 3, 5, 20, 100]))
    table = {f"c{k}": random_column(random, rows) for k in range(random.integers(1, 6))}
    table["y"] = random_column(random, rows) if random.random() < 0.5 else random.normal(size=rows)
    try:
        model, _ = ignd.train(table, "y", model="mlp:4", epochs=1, lr=0.01)
    except ignd.IgndError as fault:
        assert "\n" not in str(fault)
        return
    values, _ = model.predict_frame(to_frame(table))
    assert len(values) == rows
