# shellcheck shell=bash
# Sourced by run, test and .ci/*: installs what is missing, and builds. Everything here talks on stderr and leaves
# stdin alone: both ends of the pipe belong to the tool.

root=$(dirname "$(dirname "$(realpath "${BASH_SOURCE[0]}")")")

# A Debian package, and the command or header that shows that it is there. Asking for these instead of the package is
# quick, and accepts what was installed by hand.
# shellcheck disable=SC2034 # used by the scripts that source this one
{
  build_needs="
    g++                g++
    cmake              cmake
    ninja-build        ninja
    pkg-config         pkg-config
    libfmt-dev         fmt/core.h
    libhwy-dev         hwy/highway.h
    libxxhash-dev      xxhash.h
    zlib1g-dev         zlib.h
    librandom123-dev   Random123/philox.h
    libeigen3-dev      eigen3/Eigen/Core
    libdnnl-dev        dnnl.hpp
    libopenmpi-dev     mpi/mpi.h
    libcli11-dev       CLI/CLI.hpp
    libarchive-dev     archive.h
    libcurl4-openssl-dev curl/curl.h
    libssl-dev         openssl/evp.h
    libpcre2-dev       pcre2.h
    libjpeg62-turbo-dev jpeglib.h
    libpng-dev         png.h
    ca-certificates    ../../etc/ssl/certs/ca-certificates.crt
    libsqlite3-dev     sqlite3.h
    libtomlplusplus-dev  toml++/toml.h
    gnuplot-nox        gnuplot
    nlohmann-json3-dev nlohmann/json.hpp"
  test_needs="
    libgtest-dev       gtest/gtest.h
    python3            python3
    openmpi-bin        mpirun"
  python_needs="
    python3-dev        python3.11/Python.h
    python3-venv       ../lib/python3.11/ensurepip"
  quality_needs="
    clang-format       clang-format
    clang-tidy         clang-tidy
    git                git
    shellcheck         shellcheck"
  report_needs="
    chromium           chromium"
  fuzz_needs="
    clang-16           clang++-16
    libclang-rt-16-dev ../lib/llvm-16/lib/clang/16/lib/linux/libclang_rt.fuzzer-$(uname -m).a"
  slurm_needs="
    slurm-wlm          slurmctld
    munge              munged"
  libtorch_needs="
    libbenchmark-dev   benchmark/benchmark.h
    libtorch-dev       torch/csrc/api/include/torch/torch.h
    libopenblas0-openmp ../lib/$(uname -m)-linux-gnu/openblas-openmp/libopenblas.so.0"
}

fail() {
  echo "$*" >&2
  exit 1
}

found() {
  local folder folders
  [[ $1 == *[./]* ]] || { command -v "$1" >/dev/null && return; }
  IFS=: read -ra folders <<<"/usr/include:/usr/local/include:${CPATH:-}"
  for folder in "${folders[@]}" /usr/include/*-linux-gnu*; do
    [[ ! -e $folder/$1 ]] || return 0
  done
  return 1
}

# The lines of the tables whose probe finds nothing.
missing() {
  local package probe
  while read -r package probe; do
    [[ -z $package ]] || found "$probe" || echo "$package $probe"
  done < <(printf '%s\n' "$@")
}

# need TABLE...: returns once everything in the tables is there.
need() {
  local lines packages sudo=()
  lines=$(missing "$@")
  [[ -n $lines ]] || return 0
  readarray -t packages < <(cut -d' ' -f1 <<<"$lines")

  if ! command -v apt-get >/dev/null; then
    fail "Please install what is missing (Debian's name of it, and what was looked for):"$'\n'"$lines"
  fi
  if ((EUID != 0)); then
    command -v sudo >/dev/null || fail "Missing packages. As root, run: apt-get install ${packages[*]}"
    sudo=(sudo)
  fi
  echo "Installing ${packages[*]}"
  "${sudo[@]}" apt-get update -qq
  "${sudo[@]}" env DEBIAN_FRONTEND=noninteractive apt-get install -qq -y --no-install-recommends "${packages[@]}"

  lines=$(missing "$@")
  [[ -z $lines ]] || fail "Still missing after the installation (package, and what was looked for):"$'\n'"$lines"
} </dev/null >&2

# Ninja's output without what it says when there is nothing to do: progress in one line on a terminal, otherwise one
# line for the whole build. In the shell's own words, since Debian's awk holds back what comes through a pipe.
build_progress() {
  local line shown='' terminal=''
  [[ ! -t 2 ]] || terminal=1
  while IFS= read -r line; do
    case $line in
      'ninja: Entering'* | 'ninja: no work to do'* | '['*'] Re-checking'* | '['*'] Re-running'*) ;;
      '['[0-9]*/[0-9]*'] '*)
        if [[ $terminal ]]; then
          printf '\r%.79s\033[K' "$line"
        elif [[ -z $shown ]]; then
          echo "Building $1"
        fi
        shown=1
        ;;
      *)
        [[ -z $terminal || -z $shown ]] || echo
        shown=
        printf '%s\n' "$line"
        ;;
    esac
  done
  [[ -z $terminal || -z $shown ]] || echo
}

# build PRESET [TARGET...]: brings build/PRESET up to date; says nothing if it was.
build() {
  local folder=$root/build/$1 version
  if [[ ! -f $folder/build.ninja ]]; then
    version=$(cmake --version | sed -n 's/^cmake version //p')
    printf '%s\n' 3.25 "$version" | sort -VC || fail "CMake 3.25 or newer is needed; this is $version"
    cmake -S "$root" --preset "$1" --log-level=NOTICE
  fi
  ninja -C "$folder" "${@:2}" | build_progress "$1"
} </dev/null >&2
