"""Studies run from Python, and what is read of them."""

import matplotlib as mpl
import numpy as np
import pytest
from ignd import experiments


def test_a_results_folder_must_exist(tmp_path):
    with pytest.raises(FileNotFoundError, match="run a study first"):
        experiments.read(tmp_path)


def test_a_study_is_run_read_and_drawn(tmp_path):
    mpl.use("Agg")
    folder = experiments.run("lqr", out=tmp_path / "out", quick=True, seeds=2, quiet=True)
    runs = experiments.read(folder)
    assert {1, 2} <= set(runs["seed"])  # and those that rates were chosen by
    assert runs["score"].dtype == float
    assert all(len(x) == len(y) for x, y in zip(runs["x"], runs["y"], strict=True))
    last = runs[(runs["status"] == "finished")].iloc[0]
    assert np.linalg.norm(last["best K"] - last["K"]) == pytest.approx(last["score"], rel=1e-6)
    assert (runs["recorded_improvements"] <= runs["improvements"]).all()
    curves = experiments.curves(runs, ["system", "rule"])
    finished = runs[runs["status"] == "finished"]
    group = finished[(finished["system"] == "bdt") & (finished["rule"] == finished["rule"].iloc[0])]
    ours = curves[(curves["system"] == "bdt") & (curves["rule"] == finished["rule"].iloc[0])]
    assert ours["mean"].iloc[-1] == pytest.approx(np.mean([y[len(ours) - 1] for y in group["y"]]))
    assert experiments.plot(runs, ["system", "rule"]).get_legend() is not None


def test_a_study_that_does_not_exist_is_an_error():
    with pytest.raises(RuntimeError, match="no-such-study"):
        experiments.run("no-such-study", quiet=True)


def test_what_a_run_records_is_read_as_it_is():
    found = experiments._extras("auc=0.5\nlog-loss=inf\nK=[[1, -2.5e-3], [-nan, -inf]]\n")
    assert (found["auc"], found["log-loss"]) == (0.5, np.inf)
    np.testing.assert_array_equal(found["K"], [[1, -0.0025], [np.nan, -np.inf]])
