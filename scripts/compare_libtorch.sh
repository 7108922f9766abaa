#!/usr/bin/env bash
# Steps of the paper's networks beside LibTorch's: installs Debian's LibTorch, builds both and prints one table.
#   scripts/compare_libtorch.sh
set -euo pipefail

# shellcheck source=scripts/setup.sh
source "$(dirname "${BASH_SOURCE[0]}")/setup.sh"
need "$build_needs" "$libtorch_needs"

folder=$root/build/libtorch
cmake -S "$root" -B "$folder" -G Ninja -DCMAKE_BUILD_TYPE=Release -DIGND_BENCH=ON -DIGND_TOOL=OFF -DIGND_TESTS=OFF \
  -DIGND_EXAMPLES=OFF --log-level=NOTICE >&2
ninja -C "$folder" libtorch_steps record_networks >&2
"$folder/bin/libtorch_steps"
