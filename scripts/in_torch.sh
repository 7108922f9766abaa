#!/usr/bin/env bash
# scripts/in_torch.sh ARGUMENT...: runs `python ARGUMENT...` with torch and ignd.torch, in an environment of their own in
# build/torch-venv, which python/requirements-torch.txt decides. Where it cannot be made it says why, and ends with 77.
#
# ignd.torch comes alone, from build/torch-alone, so that it cannot come to need the compiled package. Where that has
# been built, IGND_PACKAGE=build/release/python takes the whole.
set -euo pipefail
# shellcheck source=scripts/setup.sh
source "$(dirname "$(realpath "${BASH_SOURCE[0]}")")/setup.sh"

venv=$root/build/torch-venv
wanted=$root/python/requirements-torch.txt
alone=$root/build/torch-alone

unavailable() {
  echo "torch is not available: $1"
  exit 77
}

if ! cmp -s "$wanted" "$venv/made-from"; then
  log=$(python3 -m venv "$venv" 2>&1) || unavailable "python3 -m venv fails: $(head -n 1 <<<"$log")"
  log=$("$venv/bin/python" -m pip install -q --disable-pip-version-check -r "$wanted" 2>&1) ||
    unavailable "pip cannot install python/requirements-torch.txt: $(grep -m 1 ERROR <<<"$log")"
  cp "$wanted" "$venv/made-from"
fi

mkdir -p "$alone/ignd"
ln -sfn "$root/python/ignd/torch" "$alone/ignd/torch"
export PYTHONPATH=${IGND_PACKAGE:-$alone}${PYTHONPATH:+:$PYTHONPATH} MYPYPATH=$alone
exec "$venv/bin/python" "$@"
