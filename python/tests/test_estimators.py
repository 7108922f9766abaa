"""The estimators, by scikit-learn's own checks and against the tool."""

import pickle

import ignd
import numpy as np
import pandas as pd
import polars as pl
import pytest
from conftest import messy_table
from ignd import IgndClassifier, IgndRegressor
from sklearn.base import clone
from sklearn.compose import ColumnTransformer
from sklearn.model_selection import GridSearchCV, cross_val_score
from sklearn.pipeline import make_pipeline
from sklearn.utils.estimator_checks import check_estimator

QUICK = {"model": "mlp:8", "lr": 0.01, "epochs": 3}

# Each with its reason. docs/python.md lists them.
EXPECTED_FAILURES = {
    "check_sample_weight_equivalence_on_dense_data":
        "rows are split and taken in a random order: a row of weight 2 and two equal rows are different runs, whose "
        "models agree in the mean only",
}


# In batches: weights of more than two classes have no effect one row at a time, and are refused.
@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("estimator", [IgndRegressor(model="mlp:16"), IgndClassifier(model="mlp:16", batch=4)],
                         ids=["regressor", "classifier"])
def test_scikit_learns_checks(estimator):
    results = check_estimator(estimator, expected_failed_checks=EXPECTED_FAILURES, on_fail=None, on_skip=None)
    failed = {result["check_name"]: repr(result["exception"]) for result in results if result["status"] == "failed"}
    assert not failed
    assert len([result for result in results if result["status"] == "passed"]) > 40
    assert {result["check_name"] for result in results if result["status"] == "skipped"} <= {"check_array_api_input"}


def test_parameters_come_from_the_key_table():
    parameters = IgndRegressor().get_params()
    assert parameters["epochs"] is None
    assert parameters["validation"] == 0.1
    assert parameters["test"] == 0.0
    assert parameters["damping"] == 1.0
    missing = {name for name, option in ignd._tables.OPTIONS.items() if option.for_frames} - set(parameters)
    assert missing == {"target", "weight", "seed", "split_by", "split_time", "bad_rows", "positive"}
    model = IgndRegressor().set_params(epochs=2, random_state=7)
    assert model.get_params()["epochs"] == 2
    with pytest.raises(TypeError, match="no parameter 'epoch'"):
        IgndRegressor(epoch=2)


def test_the_same_model_as_train(messy, tmp_path):
    X, y = messy.drop(columns="rent"), messy["rent"]
    fitted = IgndRegressor(random_state=3, test=0.1, **QUICK).fit(X, y)
    model, report = ignd.train(messy.rename(columns={"rent": "target"}), "target", seed=3, **QUICK)
    assert fitted.model_.to_bytes() == model.to_bytes()
    assert fitted.report_ == report
    assert fitted.n_iter_ == report.epochs


def test_classes_keep_their_type(messy):
    X = messy.drop(columns=["town", "lift"])
    for y in (messy["lift"].to_numpy(), messy["rooms"].to_numpy(), messy["lift"].map({True: 2.0, False: -1.0}),
              messy["town"].fillna("NA").to_numpy(), messy["rooms"].astype(str).to_numpy(),
              np.where(messy["lift"], "1", "1.0"), np.where(messy["lift"], " x", "x")):
        model = IgndClassifier(**QUICK).fit(X, y)
        predicted = model.predict(X)
        assert set(predicted) <= set(np.unique(y))
        assert predicted.dtype == np.unique(np.asarray(y)).dtype
        probabilities = model.predict_proba(X)
        np.testing.assert_allclose(probabilities.sum(axis=1), 1)
        np.testing.assert_array_equal(model.classes_[probabilities.argmax(axis=1)], predicted)


def test_frames_of_all_kinds_predict_alike(messy):
    X, y = messy.drop(columns="rent"), messy["rent"]
    model = IgndRegressor(**QUICK).fit(X, y)
    expected = model.predict(X)
    np.testing.assert_array_equal(model.predict(pl.from_pandas(X)), expected)
    np.testing.assert_array_equal(IgndRegressor(**QUICK).fit(pl.from_pandas(X), y).predict(X), expected)


def test_tables_that_scikit_learn_does_not_know(messy):
    X, y = messy.drop(columns="rent"), messy["rent"]
    columns = {name: X[name].to_numpy() for name in X}
    model = IgndRegressor(**QUICK).fit(columns, y, sample_weight=np.ones(len(y)))
    np.testing.assert_array_equal(model.predict(columns), IgndRegressor(**QUICK).fit(X, y).predict(X))
    assert model.feature_names_in_.tolist() == list(X)
    with pytest.raises(ValueError, match="'town' is missing|town"):
        model.predict({name: columns[name] for name in columns if name != "town"})


def test_columns_must_be_those_of_fit(messy):
    X, y = messy.drop(columns="rent"), messy["rent"]
    model = IgndRegressor(**QUICK).fit(X, y)
    with pytest.raises(ValueError, match="feature names"):
        model.predict(X.rename(columns={"town": "city"}))
    with pytest.raises(ValueError, match="column size is 'big', not a number|'size'"):
        model.predict(X.assign(size="big"))


def test_an_eval_set_stops_early(messy):
    X, y = messy.drop(columns="rent"), messy["rent"]
    model = IgndRegressor(lr=0.02, epochs=200, patience=2, model="mlp:8")
    model.fit(X[:400], y[:400], eval_set=(X[400:], y[400:]))
    assert model.n_iter_ < 200
    error = np.sqrt(np.mean((model.predict(X[400:]) - y[400:]) ** 2))
    assert model.report_.validation["rmse"] == pytest.approx(error, rel=1e-5)
    arrays = IgndRegressor(**QUICK).fit(X[["rooms"]].to_numpy()[:400], y[:400],
                                        eval_set=(X[["rooms"]].to_numpy()[400:], y[400:]))
    assert arrays.report_.validation


@pytest.mark.parametrize("options", [QUICK, {"ensemble": 2, "epochs": 3}])
def test_an_eval_set_is_not_learned_from(messy, options):
    X, y = messy.drop(columns="rent"), messy["rent"].copy()
    y[400:] = 1e6
    model = IgndRegressor(**options).fit(X[:400], y[:400], eval_set=(X[400:], y[400:]))
    assert model.predict(X).max() < 1e4
    assert model.report_.validation["rmse"] > 9e5


@pytest.mark.parametrize("options", [{}, {"optimizer": "ignd"}, {"batch": 8, "lr": 0.01}])
def test_partial_fit_continues(messy, options):
    X, y = messy.drop(columns="rent"), messy["rent"]
    whole, parts = IgndRegressor(**options), IgndRegressor(**options)
    whole.partial_fit(X[:200], y[:200]).partial_fit(X[200:], y[200:])
    parts.partial_fit(X[:200], y[:200])
    parts = pickle.loads(pickle.dumps(parts))
    parts.partial_fit(X[200:400], y[200:400]).partial_fit(X[400:], y[400:])
    np.testing.assert_array_equal(parts.predict(X), whole.predict(X))
    before = whole.score(X, y)
    for _ in range(10):
        whole.partial_fit(X, y)
    assert whole.score(X, y) > max(before, 0.6)
    assert whole.n_iter_ == 12


def test_intervals_hold_what_they_promise(messy):
    X, y = messy.drop(columns="rent"), messy["rent"]
    model = IgndRegressor(random_state=1, **QUICK).fit(X[:300], y[:300])
    ends = model.predict_interval(X, level=0.5)
    assert ends.shape == (len(X), 2)
    assert (ends[:, 0] < ends[:, 1]).all()
    low, high = model.predict_interval(X, level=0.8).T
    assert ((low <= ends[:, 0]) & (high >= ends[:, 1])).all()
    predicted = model.predict(X[:1])[0]
    assert ends[0].tolist() == model.model_.intervals(np.array([predicted]), 0.5)[0].tolist()
    with pytest.raises(ignd.IgndError, match="too few for 99.9 % intervals"):
        model.predict_interval(X, level=0.999)
    with pytest.raises(ignd.IgndError, match="holds no residuals"):
        IgndRegressor(random_state=1, validation=0, **QUICK).fit(X, y).predict_interval(X)
    with pytest.raises(ignd.IgndError, match="holds no residuals"):
        model.partial_fit(X, y).predict_interval(X)


def test_columns_can_be_left_out(messy):
    X, y = messy.drop(columns="rent"), messy["rent"]
    X = X.rename(columns={"fee": "the fee, in $"})
    dropped = IgndRegressor(random_state=1, drop=["the fee, in $", "built"], **QUICK).fit(X, y)
    chosen = IgndRegressor(random_state=1, features="size,town,lift,rooms", **QUICK).fit(X, y)
    assert dropped.model_.columns == ["size", "town", "lift", "rooms"]
    assert (dropped.predict(X) == chosen.predict(X)).all()
    with pytest.raises(ignd.IgndError, match="no column 'rooom', did you mean 'rooms'"):
        IgndRegressor(drop="rooom", **QUICK).fit(X, y)


def test_partial_fit_of_classes(messy):
    X, y = messy.drop(columns="rooms"), messy["rooms"]
    model = IgndClassifier(lr=0.01, optimizer="ignd")
    with pytest.raises(ValueError, match="all of `classes`"):
        model.partial_fit(X[:2], y[:2], classes=range(1, 8))
    model.partial_fit(X, y, classes=range(1, 8)).partial_fit(X, y)
    assert model.predict_proba(X).shape == (len(y), 7)
    with pytest.raises(ValueError, match="not one of the classes"):
        model.partial_fit(X, y + 1)
    binary = IgndClassifier().partial_fit(X, messy["lift"])
    assert set(binary.predict(X)) <= {False, True}
    with pytest.raises(ValueError, match="feature names"):
        binary.partial_fit(X.rename(columns={"size": "sice"}), messy["lift"])


def test_weights_of_rows_and_classes(messy):
    X, y = messy.drop(columns="rent"), messy["rent"]
    plain = IgndRegressor(**QUICK).fit(X, y)
    ones = IgndRegressor(**QUICK).fit(X, y, sample_weight=np.ones(len(y)))
    np.testing.assert_array_equal(plain.predict(X), ones.predict(X))
    high = IgndRegressor(lr=0.02, epochs=10, model="linear").fit(X, y, sample_weight=np.where(y > y.median(), 5, 0.01))
    low = IgndRegressor(lr=0.02, epochs=10, model="linear").fit(X, y)
    assert high.predict(X).mean() > low.predict(X).mean()

    rare = messy["rooms"] == 1
    features = messy[["rent", "size"]]
    seldom = IgndClassifier(**QUICK).fit(features, rare).predict_proba(features)[:, 1].mean()
    for class_weight in ("balanced", {True: 8.0, False: 1.0}):
        often = IgndClassifier(class_weight=class_weight, **QUICK).fit(features, rare)
        assert often.predict_proba(features)[:, 1].mean() > seldom + 0.1


def test_what_scikit_learn_does_with_estimators(messy):
    X, y = messy.drop(columns="rent"), messy["rent"]
    model = IgndRegressor(**QUICK).fit(X, y)
    again = pickle.loads(pickle.dumps(model))
    np.testing.assert_array_equal(again.predict(X), model.predict(X))
    np.testing.assert_array_equal(clone(model).fit(X, y).predict(X), model.predict(X))
    search = GridSearchCV(IgndRegressor(**QUICK), {"model": ["linear", "mlp:8"], "l2": [0.0, 0.01]}, cv=2).fit(X, y)
    assert set(search.best_params_) == {"model", "l2"}
    chosen = ColumnTransformer([("keep", "passthrough", ["size", "rooms"])])
    assert len(cross_val_score(make_pipeline(chosen, IgndRegressor(**QUICK)), X, y, cv=2)) == 2


def test_a_saved_model_is_the_tools(tool, messy, tmp_path):
    X, y = messy.drop(columns="town"), messy["town"]
    known = y.notna()
    model = IgndClassifier(**QUICK).fit(X[known], y[known])
    model.save(tmp_path / "town.ignd")
    X.to_csv(tmp_path / "new.csv", index=False)
    printed = tool("predict", "town.ignd", "new.csv", cwd=tmp_path)
    import io

    table = pd.read_csv(io.StringIO(printed))
    assert table["prediction"].tolist() == model.predict(X).tolist()


@pytest.mark.parametrize("seed", range(5))
def test_learns_what_is_there(seed):
    train, test = messy_table(2000, seed), messy_table(500, seed + 100)
    model = IgndRegressor(random_state=seed, model="mlp:16,16", epochs=20).fit(train.drop(columns="rent"), train["rent"])
    assert model.score(test.drop(columns="rent"), test["rent"]) > 0.7


@pytest.mark.parametrize(("X", "y", "message"), [
    ([[1.0], [2.0], [3.0]], [1, 1, 1], "one class"),
    ([[1.0], [2.0], [3.0]], None, "requires y"),
    ([[1.0], [2.0]], [1, 2, 3], "inconsistent"),
    ([1.0, 2.0], [1, 2], "1D array|Reshape"),
    ([[[1.0]], [[2.0]]], [1, 2], "dim 3|dimensions"),
    (np.empty((0, 2)), [], "only one class"),
    (pd.DataFrame({"a": []}), [], "no rows|class|samples"),
])
def test_bad_arguments(X, y, message):
    with pytest.raises(ValueError, match=message):
        IgndClassifier(**QUICK).fit(X, y)
