"""Online learning: the tool's bits, river's habit."""

import pickle
import warnings

import ignd
import numpy as np
import pandas as pd
import pytest
from conftest import messy_table
from ignd import OnlineClassifier, OnlineRegressor


def rows_of(table):
    return table.to_dict("records")


def stream_table(rows=500, seed=2):
    return messy_table(rows, seed)[["size", "town", "rooms", "rent"]]


def learned(rows, model=None):
    model = OnlineRegressor("rent") if model is None else model
    for row in rows:
        model.learn_one({name: row[name] for name in ("size", "town", "rooms")}, row["rent"])
    return model


@pytest.mark.same_build
def test_same_file_as_the_tool(tool, tmp_path):
    table = stream_table()
    table.to_csv(tmp_path / "stream.csv", index=False)
    tool("train", "--stream", "stream.csv", "--target", "rent", "--loss", "squared", "--save", "tool.ignd", "--quiet",
         cwd=tmp_path)
    tools = OnlineRegressor.load(tmp_path / "tool.ignd")
    ours = learned(rows_of(table))
    many = OnlineRegressor("rent")
    many.learn_many(table.drop(columns="rent"), table["rent"])
    probe = {"size": 77.5, "town": "Bonn", "rooms": 3}
    assert ours.predict_one(probe) == tools.predict_one(probe) == many.predict_one(probe)
    assert ours.progressive == tools.progressive == many.progressive
    ours.save(tmp_path / "ours.ignd")
    table.drop(columns="rent").to_csv(tmp_path / "new.csv", index=False)
    printed = tool("predict", "ours.ignd", "new.csv", cwd=tmp_path).splitlines()[1:]
    expected = ours.predict_many(table.drop(columns="rent"))
    np.testing.assert_allclose([float(line.split(",")[-1]) for line in printed], expected, rtol=1e-6)


@pytest.mark.parametrize("way", ["file", "pickle"])
def test_continues_bit_by_bit(tmp_path, way):
    rows = rows_of(stream_table())
    whole, half = learned(rows), learned(rows[:200])
    if way == "file":
        half.save(tmp_path / "half.ignd")
        half = OnlineRegressor.load(tmp_path / "half.ignd")
    else:
        half = pickle.loads(pickle.dumps(half))
    half = learned(rows[200:], half)
    probe = rows[0]
    assert half.predict_one(probe) == whole.predict_one(probe)
    assert half.progressive == whole.progressive


def test_a_missing_key_is_a_missing_value():
    rows = rows_of(stream_table())
    without = [{name: cell for name, cell in row.items() if cell is not None and cell == cell} for row in rows]
    first = rows.index(next(row for row, short in zip(rows, without, strict=True) if len(short) == len(row)))
    a, b = learned(rows[first:]), OnlineRegressor("rent")
    for row in without[first:]:
        b.learn_one({name: cell for name, cell in row.items() if name != "rent"}, row["rent"])
    assert a.predict_one(rows[5]) == b.predict_one(without[5])


@pytest.mark.parametrize("labels", [(False, True), (0, 1), (-1, 1), ("ham", "spam")])
def test_classes(labels):
    random = np.random.default_rng(4)
    model = OnlineClassifier()
    assert model.predict_one({"x": 1.0, "z": 0.0}) is None
    for _ in range(1000):
        x, z = random.normal(size=2)
        model.learn_one({"x": x, "z": 1000 * z}, labels[int(x + z > 0)])
    assert model.progressive["accuracy"] > 0.9
    assert model.classes == [labels[0], labels[1]]
    assert model.predict_one({"x": 2.0, "z": 0.0}) == labels[1]
    probabilities = model.predict_proba_one({"x": -2.0, "z": 0.0})
    assert probabilities[labels[0]] > 0.9
    assert sum(probabilities.values()) == pytest.approx(1)
    table = pd.DataFrame({"x": [2.0, -2.0], "z": [0.0, 0.0]})
    assert model.predict_many(table).tolist() == [labels[1], labels[0]]
    assert model.predict_proba_many(table).shape == (2, 2)


@pytest.mark.parametrize("labels", [(1, 2, 3), ("a", "b", "c")])
def test_many_classes(labels):
    random = np.random.default_rng(5)
    model = OnlineClassifier(loss="softmax")
    assert model.predict_one({"x": 1.0}) is None
    assert model.predict_proba_one({"x": 1.0}) == {}
    for k in range(1500):
        x = random.normal()
        third = k > 500 and x > 1  # a class that turns up late
        model.learn_one({"x": x}, labels[2 if third else int(x > 0)])
    assert model.classes == list(labels)
    assert model.loss == "softmax"
    assert model.predict_one({"x": 3.0}) == labels[2]
    probabilities = model.predict_proba_one({"x": -3.0})
    assert list(probabilities) == list(labels)
    assert probabilities[labels[0]] > 0.8
    assert sum(probabilities.values()) == pytest.approx(1)
    assert model.predict_proba_many(pd.DataFrame({"x": [3.0, -3.0]})).shape == (2, 3)


def test_bad_examples_change_nothing():
    model = learned(rows_of(stream_table(100)))
    probe = {"size": 50.0, "town": "Ulm", "rooms": 2}
    before = model.predict_one(probe), model.progressive
    for label in (None, float("nan"), "many", float("inf")):
        with pytest.raises(ignd.BadSample):
            model.learn_one(probe, label)
    with pytest.raises(ignd.BadSample):
        model.learn_one(probe, 1.0, -1)
    with pytest.raises((TypeError, ValueError)):
        model.learn_one([1, 2], 1.0)
    assert (model.predict_one(probe), model.progressive) == before


def test_keys_must_be_texts():
    with pytest.raises(TypeError, match="must be texts"):
        OnlineRegressor().learn_one({0: 1.0}, 1.0)


def test_bad_options_are_refused():
    for options in ({"bits": 99}, {"loss": "square"}, {"schedule": "fast"}, {"optimizer": "igdn"}):
        with pytest.raises(ignd.InvalidArgument):
            OnlineRegressor(**options)
    with pytest.raises(TypeError):
        OnlineRegressor(bit=3)
    with pytest.raises(ignd.FileError, match="no such|cannot|There is|there is|No such"):
        OnlineRegressor.load("no-such-file.ignd")


def test_keys_that_the_first_example_had_not_are_told_once():
    model = OnlineRegressor()
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        model.learn_one({"a": 1.0, "b": 2.0}, 3)
        model.learn_one({"a": 1.0}, 3)
        model.learn_one({"a": 1.0, "target": 3}, 3)
        model.learn_many({"a": [1.0], "b": [2.0]}, [3])
    with pytest.warns(UserWarning, match="'c' is ignored"):
        model.learn_one({"a": 1.0, "c": 2.0, "d": 2.0}, 3)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        model.learn_one({"c": 1.0}, 3)
    model = OnlineRegressor()
    model.learn_one({"a": 1.0}, 3)
    with pytest.warns(UserWarning, match="'z' is ignored"):
        model.learn_many({"a": [1.0], "z": [2.0]}, [3])
