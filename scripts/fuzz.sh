#!/usr/bin/env bash
# scripts/fuzz.sh [SECONDS]: feeds every reader with damaged input for so long, 60 seconds if not said otherwise.
# scripts/fuzz.sh --planted [SECONDS]: puts one bug after the other into the readers; each must be found in that time.
set -euo pipefail
# shellcheck source=scripts/setup.sh
source "$(dirname "$(realpath "${BASH_SOURCE[0]}")")/setup.sh"
need "$build_needs" "$fuzz_needs"

readers=(svmlight vw_text csv number checkpoint tokenizer archive image)
# The reader whose fuzzer must find bug 1, 2, ...
finders=(svmlight vw_text number checkpoint svmlight csv tokenizer)

planted=
if [[ ${1:-} == --planted ]]; then
  planted=yes
  shift
fi
seconds=${1:-60}
[[ $seconds =~ ^[1-9][0-9]*$ ]] || fail "usage: scripts/fuzz.sh [--planted] [SECONDS]"

# Findings and grown corpora stay out of the tree.
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

# fuzz PRESET READER: runs the fuzzer on a copy of its corpus; what it says is in $work/log, what breaks the reader in
# $work/found.
fuzz() {
  rm -rf "${work:?}"/*
  mkdir "$work/found"
  cp -r "$root/fuzz/corpus/$2" "$work/corpus"
  "$root/build/$1/bin/fuzz_$2" -max_total_time="$seconds" -timeout=10 -max_len=4096 -print_final_stats=1 \
    -artifact_prefix="$work/found/" "$work/corpus" >"$work/log" 2>&1
}

figure() {
  sed -nE "s/.*$1 *([0-9]+).*/\1/p" "$work/log" | tail -n 1
}

fuzz_readers() {
  local reader kept
  build fuzz
  printf '%-12s %12s %8s\n' reader executions edges
  for reader in "${readers[@]}"; do
    if ! fuzz fuzz "$reader"; then
      kept=$root/build/fuzz/found_$reader
      rm -rf "$kept"
      cp -r "$work/found" "$kept"
      tail -n 40 "$work/log" >&2
      fail "$reader broke on the input in $kept"
    fi
    printf '%-12s %12s %8s\n' "$reader" "$(figure stat::number_of_executed_units:)" "$(figure cov:)"
  done
}

find_planted_bugs() {
  local bug reader start
  for bug in "${!finders[@]}"; do
    reader=${finders[bug]}
    cmake -S "$root" --preset planted -DIGND_PLANTED_BUG=$((bug + 1)) --log-level=NOTICE >&2
    build planted "fuzz_$reader"
    start=$SECONDS
    if fuzz planted "$reader"; then
      fail "bug $((bug + 1)) in $reader was not found in $seconds s"
    fi
    # Not only that the program failed to start.
    if [[ -z $(ls "$work/found") ]]; then
      tail -n 40 "$work/log" >&2
      fail "$reader failed without an input to blame"
    fi
    printf 'bug %d in %s: found in %d s\n' $((bug + 1)) "$reader" $((SECONDS - start))
  done
}

if [[ -n $planted ]]; then
  find_planted_bugs
else
  fuzz_readers
fi
