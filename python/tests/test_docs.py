"""The examples of the docstrings and the pages, and the types."""

import doctest
import importlib
import re
import subprocess
import sys
from pathlib import Path

import ignd
import pytest

ROOT = Path(__file__).resolve().parents[2]
MODULES = ["ignd", "ignd._estimators", "ignd._frames", "ignd._library", "ignd._online", "ignd._tables",
           "ignd._environments", "ignd.control", "ignd.experiments", "ignd.rl"]


@pytest.mark.parametrize("name", MODULES)
def test_docstrings(name):
    result = doctest.testmod(importlib.import_module(name))
    assert result.failed == 0


def test_every_public_name_has_a_docstring():
    for name in ignd.__all__:
        assert getattr(ignd, name).__doc__, name


@pytest.mark.parametrize("page", ["README.md", "docs/python.md"])
def test_code_in_pages_runs(page, tmp_path):
    blocks = re.findall(r"```python\n(.*?)```", (ROOT / page).read_text(), re.DOTALL)
    assert blocks
    subprocess.run([sys.executable, str(ROOT / "scripts" / "example_data.py"), "houses.csv"], cwd=tmp_path, check=True)
    for block in blocks:
        done = subprocess.run([sys.executable, "-c", block], cwd=tmp_path, capture_output=True, text=True)
        assert done.returncode == 0, done.stderr


@pytest.mark.parametrize("name", ["drift", "messy_table"])
def test_examples_run(name, tmp_path):
    done = subprocess.run([sys.executable, str(ROOT / "examples" / "python" / f"{name}.py")], cwd=tmp_path,
                          capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    assert done.stdout


def test_types():
    folder = Path(ignd.__path__[0])
    done = subprocess.run([sys.executable, "-m", "mypy", "--config-file", str(ROOT / "pyproject.toml"),
                           "--cache-dir", str(folder.parent / "mypy-cache"), "-p", "ignd"],
                          cwd=folder.parent, capture_output=True, text=True)
    assert done.returncode == 0, done.stdout + done.stderr
