# shellcheck shell=bash
# Sourced by run, test and others: the virtual environment in build/python-venv, and the package in build/*/python.

# shellcheck source=scripts/setup.sh
source "$(dirname "${BASH_SOURCE[0]}")/setup.sh"

venv=$root/build/python-venv

# python_lacks: says in one line what Python lacks for building the package; fails if nothing.
python_lacks() {
  local said
  said=$(python3 -c 'import ensurepip, os, sysconfig, venv
assert os.path.exists(sysconfig.get_paths()["include"] + "/Python.h"), "there is no Python.h"' 2>&1) && return 1
  echo "Python's headers or its module venv are missing (Debian: python3-dev, python3-venv): ${said##*$'\n'}"
}

# make_venv: brings the environment up to date with python/requirements.txt. Fails, with the reason in one line, where
# that cannot be done, as without a network.
make_venv() {
  local wanted=$root/python/requirements.txt log
  if [[ -x $venv/bin/python ]] && cmp -s "$wanted" "$venv/made-from"; then
    return 0
  fi
  ! python_lacks >&2 || return 1
  echo "Installing python/requirements.txt into build/python-venv" >&2
  if ! log=$(python3 -m venv --clear "$venv" 2>&1); then
    echo "python3 -m venv fails: $(tail -n 1 <<<"$log")" >&2
    return 1
  fi
  if ! log=$("$venv/bin/python" -m pip install -q --disable-pip-version-check --retries 1 --timeout 15 -r "$wanted" \
    2>&1); then
    echo "pip cannot install python/requirements.txt: $(grep -m 1 ERROR <<<"$log")" >&2
    return 1
  fi
  cp "$wanted" "$venv/made-from"
} </dev/null

# use_python PRESET: lets the preset's build make the package, too.
use_python() {
  if ! grep -qsx "IGND_PYTHON:BOOL=ON" "$root/build/$1/CMakeCache.txt" ||
    ! grep -qs "^Python_EXECUTABLE:[A-Z]*=$venv/bin/python$" "$root/build/$1/CMakeCache.txt"; then
    cmake -S "$root" --preset "$1" -DIGND_PYTHON=ON -DPython_EXECUTABLE="$venv/bin/python" --log-level=NOTICE
  fi
} </dev/null >&2
