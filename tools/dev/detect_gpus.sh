#!/usr/bin/env bash
# Prints the device targets that this machine's GPUs need, as a value for -DCKITCHEN_GPU_TARGETS: "gfx1201;gfx1036", "sm_80;sm_90a",
# or an empty line where there is no GPU that ckitchen has a target for. Asks no driver library, so it works before any is installed.
#
#   tools/dev/detect_gpus.sh [ROOT]    ROOT: read ROOT/sys and ROOT/proc instead of the machine's (for tests)
set -euo pipefail

here=$(dirname "$(readlink -f "${BASH_SOURCE[0]}")")
# shellcheck source=tools/dev/usage.sh
source "$here/usage.sh"
root=
if (($#)) && [[ $1 != -* ]]; then
    root=$1
    shift
fi
no_arguments "${BASH_SOURCE[0]}" "$@"
arch_list=$here/../../kernels/arch.json

targets=()
add() {
    local target
    for target in ${targets[@]+"${targets[@]}"}; do
        if [[ $target == "$1" ]]; then return; fi
    done
    if [[ -f $arch_list ]] && ! grep -q "\"$1\"" "$arch_list"; then
        printf 'detect_gpus.sh: %s is present, but is no target of ckitchen\n' "$1" >&2
        return
    fi
    targets+=("$1")
}

# AMD: the kernel's compute driver writes the version as decimal major, minor (2 digits), stepping (2 digits); the gfx name has the last
# two as one hexadecimal digit each: 110501 is gfx1151, 90010 is gfx90a. CPU nodes say 0.
for properties in "$root"/sys/class/kfd/kfd/topology/nodes/*/properties; do
    [[ -r $properties ]] || continue
    version=$(awk '$1 == "gfx_target_version" { print $2 }' "$properties")
    if [[ ! $version =~ ^[1-9][0-9]{4,5}$ ]]; then continue; fi
    printf -v name 'gfx%d%x%x' $((version / 10000)) $((version / 100 % 100)) $((version % 100))
    add "$name"
done

# NVIDIA: sm_80 code runs on compute capability 8.0 and newer, sm_90a on 9.0 exactly. The kernel driver does not tell the
# capability; without nvidia-smi both are built.
nvidia=("$root"/proc/driver/nvidia/gpus/*)
if [[ -e ${nvidia[0]} ]]; then
    capabilities=unknown
    if [[ -z $root ]] && command -v nvidia-smi >/dev/null; then
        capabilities=$(nvidia-smi --query-gpu=compute_cap --format=csv,noheader 2>/dev/null) || capabilities=unknown
    fi
    while read -r capability; do
        case $capability in
            9.0 | unknown)
                add sm_80
                add sm_90a
                ;;
            [1-7].*) printf 'detect_gpus.sh: a GPU of compute capability %s is older than ckitchen supports (8.0)\n' "$capability" >&2 ;;
            [1-9]*.*) add sm_80 ;;
        esac
    done <<<"$capabilities"
fi

IFS=';'
printf '%s\n' "${targets[*]-}"
