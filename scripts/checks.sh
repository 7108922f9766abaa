# shellcheck shell=bash
# Sourced by .ci/run and .ci/full: steps with a heading and a time, and the checks that both make.

# shellcheck source=scripts/setup.sh
source "$(dirname "${BASH_SOURCE[0]}")/setup.sh"
cd "$root" || exit

if [[ -d $root/../shared/data ]]; then
  IGND_DATA=$(realpath "$root/../shared/data")
  export IGND_DATA
fi

current=
summary=
trap 'report $?' EXIT

# step NAME COMMAND...: the first one that fails ends the script.
step() {
  local start=$SECONDS
  current=$1
  printf '\n== %s\n' "$current"
  "${@:2}"
  printf '%d s\n' $((SECONDS - start))
  summary+=$(printf '%6d s  %s' $((SECONDS - start)) "$current")$'\n'
  current=
}

report() {
  printf '\n%s' "$summary"
  if (($1)); then
    echo "FAILED${current:+: $current}"
  fi
}

# Files of the tree, committed or not, that match the patterns.
sources() {
  local file
  git ls-files -co --exclude-standard -- "$@" | while IFS= read -r file; do
    [[ ! -e $file ]] || echo "$file"
  done
}

# Reads names of files, looks at those that the build compiles, and says only what clang-tidy objects to. No header is
# read before its time here: what a file does not include, it does not see.
tidy() {
  local known
  cmake --preset release -B build/tidy -DCMAKE_DISABLE_PRECOMPILE_HEADERS=ON -DCMAKE_UNITY_BUILD=OFF --log-level=NOTICE
  known=$(sed -n "s|^ *\"file\": \"$root/\(.*\)\",*$|\1|p" build/tidy/compile_commands.json)
  [[ -n $known ]] || fail "build/tidy/compile_commands.json names no file of this project"
  # shellcheck disable=SC2016 # expanded by the inner shell
  (grep -xF "$known" || true) | xargs -r -P "$(nproc)" -n 1 bash -c \
    'out=$(clang-tidy -p build/tidy --quiet "$1" 2>&1) || { printf "%s\n" "$out"; exit 1; }' tidy
}
