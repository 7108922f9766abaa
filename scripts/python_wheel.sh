#!/usr/bin/env bash
# scripts/python_wheel.sh: makes a wheel in build/wheel that brings its shared libraries along, and tries it in a new
# virtual environment that has nothing else but numpy and scikit-learn.
set -euo pipefail
# shellcheck source=scripts/python.sh
source "$(dirname "$(realpath "${BASH_SOURCE[0]}")")/python.sh"
need "$build_needs"
make_venv || exit 77
cd "$root"
python=$venv/bin/python
"$python" -m pip install -q --disable-pip-version-check -r python/requirements-wheel.txt
export PATH=$venv/bin:$PATH

rm -rf build/wheel && mkdir -p build/wheel/raw
"$python" -m pip wheel -q --disable-pip-version-check --no-build-isolation --no-deps -w build/wheel/raw \
  -C build-dir=build/python-wheel .
"$python" -m auditwheel repair -w build/wheel build/wheel/raw/*.whl
wheel=$(echo build/wheel/*.whl)

clean=build/wheel/clean
python3 -m venv "$clean"
"$clean/bin/python" -m pip install -q --disable-pip-version-check "$(realpath "$wheel")[sklearn]"

# Nothing but what every Linux has may come from outside.
outside=$(find "$clean"/lib/python*/site-packages/ignd* -type f \( -name '*.so*' -o -path '*/bin/ignd' \) -exec ldd {} + |
  grep '=> /' | grep -v -e "$PWD/$clean" -e '/lib\(c\|m\|gcc_s\|stdc++\|pthread\|dl\|rt\|resolv\|z\)\.so' | sed 's, (0x.*,,' | sort -u || true)
[[ -z $outside ]] || fail "the wheel uses libraries that it does not bring along:"$'\n'"$outside"

# From a folder without the sources: the lines of the README, and the tool.
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
(
  wheel_bin=$root/$clean/bin
  cd "$scratch"
  "$root/scripts/example_data.py" houses.csv
  awk '/^```/ { inside = /^```python/; next } inside' "$root/README.md" >readme.py
  "$wheel_bin/python" -m pip install -q --disable-pip-version-check pandas
  "$wheel_bin/python" -I readme.py
  "$wheel_bin/ignd" --version
)
echo "$wheel works in a new environment"
