"""Studies run from Python, and what is read of them."""

import matplotlib as mpl
import numpy as np
import pytest
from conftest import messy_table
from ignd import experiments

STUDY = """\
task = "training"
seeds = 2

[settings]
data = "{data}"
checksum = "{checksum}"
target = "rent"
model = "linear"
epochs = 2
"""


def test_a_results_folder_must_exist(tmp_path):
    with pytest.raises(FileNotFoundError, match="run a study first"):
        experiments.read(tmp_path)


def test_a_study_is_run_read_and_drawn(tmp_path):
    mpl.use("Agg")
    folder = experiments.run("lqr", out=tmp_path / "out", quick=True, seeds=2, quiet=True)
    runs = experiments.read(folder)
    assert {"status", "score", "x", "y"} <= set(runs.columns)
    assert len(runs) > 2
    assert (runs["status"] == "finished").all()
    by = [name for name in ("system", "method") if name in runs.columns]
    assert by, runs.columns
    curves = experiments.curves(runs, by)
    assert np.isfinite(curves["mean"]).all()
    assert experiments.plot(runs, by).get_legend() is not None
    assert messy_table(3).shape[0] == 3
