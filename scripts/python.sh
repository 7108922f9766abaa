# shellcheck shell=bash
# Sourced by run, tests and .ci/*: the virtual environment in build/python-venv, and the package in build/release/python.

# shellcheck source=scripts/setup.sh
source "$(dirname "${BASH_SOURCE[0]}")/setup.sh"

# shellcheck disable=SC2034 # used by the scripts that source this one
python_needs="
    python3            python3
    python3-dev        python3.11/Python.h"
venv=$root/build/python-venv
export PYTHONPATH=$root/build/release/python

# make_venv [REQUIREMENTS]: brings the environment up to date with python/requirements.txt. Fails, with the reason in
# one line, where that cannot be done: without python3-venv, or without a network.
make_venv() {
  local wanted=$root/python/requirements.txt log
  if [[ -f $venv/made-from ]] && cmp -s "$wanted" "$venv/made-from"; then
    return 0
  fi
  if ! log=$(python3 -m venv "$venv" 2>&1); then
    echo "python3 -m venv fails: $(head -n 1 <<<"$log")" >&2
    return 1
  fi
  if ! log=$("$venv/bin/python" -m pip install -q --disable-pip-version-check -r "$wanted" 2>&1); then
    echo "pip cannot install python/requirements.txt: $(grep -m 1 ERROR <<<"$log")" >&2
    return 1
  fi
  cp "$wanted" "$venv/made-from"
} </dev/null

# build_package: brings build/release/python up to date.
build_package() {
  local folder=$root/build/release
  if ! grep -qsxF "Python_EXECUTABLE:UNINITIALIZED=$venv/bin/python" "$folder/CMakeCache.txt" &&
    ! grep -qsxF "Python_EXECUTABLE:FILEPATH=$venv/bin/python" "$folder/CMakeCache.txt"; then
    cmake -S "$root" --preset release -DIGND_PYTHON=ON -DPython_EXECUTABLE="$venv/bin/python" --log-level=NOTICE
  fi
  build release ignd_package
} </dev/null >&2
