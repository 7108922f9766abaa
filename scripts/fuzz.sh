#!/usr/bin/env bash
# scripts/fuzz.sh [SECONDS]: feeds damaged input to every reader, for 60 seconds each by default.
# scripts/fuzz.sh --planted [SECONDS]: makes the bugs of fuzz/planted.txt in a copy of the tree, one at a time; the
# fuzzers must find each of them in that time.
set -euo pipefail
# shellcheck source=scripts/mutations.sh
source "$(dirname "$(realpath "${BASH_SOURCE[0]}")")/mutations.sh"
need "$build_needs" "$fuzz_needs"

readers=(svmlight vw_text csv number checkpoint tokenizer archive image)

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

# fuzz TREE READER: runs the fuzzer built in TREE on a copy of its corpus. Its output goes to $work/log, and the input
# that breaks the reader to $work/found.
fuzz() {
  rm -rf "${work:?}"/*
  mkdir "$work/found"
  cp -r "$root/fuzz/corpus/$2" "$work/corpus"
  "$1/build/fuzz/bin/fuzz_$2" -max_total_time="$seconds" -timeout=10 -max_len=4096 -print_final_stats=1 \
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
    if ! fuzz "$root" "$reader"; then
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
  local tree=$root/build/planted bug reader start
  read_mutations "$root/fuzz/planted.txt"
  # The copy keeps its build folder, so that the next run compiles only what has changed.
  mkdir -p "$tree"
  find "$tree" -mindepth 1 -maxdepth 1 ! -name build -exec rm -rf {} +
  copy_tree "$tree"
  # An earlier run may have compiled these with a bug.
  (cd "$tree" && touch "${file[@]}")
  for bug in "${names[@]}"; do
    reader=${test[$bug]#fuzz_}
    make_mutation "$bug" "$tree" || fail "$bug: the old text does not occur exactly once in ${file[$bug]}"
    root=$tree build fuzz "fuzz_$reader"
    # A copy with a new time, so that ninja compiles the file again.
    cp "$root/${file[$bug]}" "$tree/${file[$bug]}"
    start=$SECONDS
    if fuzz "$tree" "$reader"; then
      fail "$bug: fuzz_$reader did not find it in $seconds s"
    fi
    # A program that fails to start has found nothing.
    if [[ -z $(ls "$work/found") ]]; then
      tail -n 40 "$work/log" >&2
      fail "$bug: fuzz_$reader failed without an input to blame"
    fi
    printf '%s: fuzz_%s found it in %d s\n' "$bug" "$reader" $((SECONDS - start))
  done
}

if [[ -n $planted ]]; then
  find_planted_bugs
else
  fuzz_readers
fi
