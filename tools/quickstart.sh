#!/usr/bin/env bash
# From a bare Debian 12 to converted weights: installs what is missing, builds, converts the bundled layers, checks every operator.
#
#   tools/quickstart.sh        works from any folder; build/release and build/quickstart are written, in CKITCHEN_BUILD_DIR where set
set -euo pipefail

repo=$(dirname "$(dirname "$(readlink -f "${BASH_SOURCE[0]}")")")
# shellcheck source=tools/dev/stages.sh
source "$repo/tools/dev/stages.sh"
# shellcheck source=tools/dev/usage.sh
source "$repo/tools/dev/usage.sh"
no_arguments "${BASH_SOURCE[0]}" "$@"

build_root=${CKITCHEN_BUILD_DIR:-$repo/build}
build=$build_root/release
out=$build_root/quickstart
targets=$("$repo/tools/dev/detect_gpus.sh")

# Later steps need the earlier ones, so the first failure ends it.
step() {
    stage "$@"
    if ((stage_status)); then
        printf '\nquickstart.sh: stopped at "%s"\n' "$1" >&2
        exit "$stage_status"
    fi
}

install_packages() {
    local -a purposes=(build)
    if [[ -n $targets ]]; then purposes+=(device); fi
    "$repo/tools/dev/install.sh" "${purposes[@]}"
}

build_program() {
    printf 'device code for: %s\n' "${targets:-no GPU (none found)}"
    cmake -S "$repo" -B "$build" --preset release "-DCKITCHEN_GPU_TARGETS=${targets:-none}" \
        -DCKITCHEN_BUILD_TESTS=OFF -DCKITCHEN_BUILD_GFXSIM=OFF
    cmake --build "$build" --parallel "$(nproc)"
}

# A GPU that the build has no code for is none.
backend=auto
if [[ -z $targets ]]; then backend=cpu; fi

convert() {
    local input=$1 format=$2 name
    name=$(basename "$input" .safetensors)
    "$build/ckitchen" quantize "$input" -o "$out/$name.$format.safetensors" --format "$format" --backend "$backend" \
        --report "$out/$name.$format.json"
}

step 'Packages' install_packages
step 'Build' build_program
mkdir -p "$out"
for layer in "$repo"/tests/data/*.safetensors; do
    for format in int8 w4a8; do
        step "Convert $(basename "$layer") to $format" convert "$layer" "$format"
    done
done
step 'Verify every operator' "$build/ckitchen" verify --backend "$backend"

stage_table
printf '\nThe program is %s, the converted layers and their reports are in %s.\n' "$build/ckitchen" "$out"
