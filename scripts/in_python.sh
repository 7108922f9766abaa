#!/usr/bin/env bash
# scripts/in_python.sh ARGUMENT...: runs `python ARGUMENT...` in the project's environment, with the package that the
# release build has made. Where there is none it says so, and ends with 77.
set -euo pipefail
# shellcheck source=scripts/python.sh
source "$(dirname "$(realpath "${BASH_SOURCE[0]}")")/python.sh"

if [[ ! -x $venv/bin/python || ! -d $root/build/release/python/ignd ]]; then
  echo "the Python package is not built; ./run python builds it"
  exit 77
fi
export PYTHONPATH=$root/build/release/python${PYTHONPATH:+:$PYTHONPATH}
exec "$venv/bin/python" "$@"
