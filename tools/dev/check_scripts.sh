#!/usr/bin/env bash
# Tests of the scripts around the build, on made-up machines: what GPU detection prints, what install.sh refuses, how stages count.
# Prints one line for each failure; exit status 0 only without any.
#
#   tools/dev/check_scripts.sh
# shellcheck disable=SC2317  # functions are called by name, through stage
set -euo pipefail

here=$(dirname "$(readlink -f "${BASH_SOURCE[0]}")")
# shellcheck source=tools/dev/usage.sh
source "$here/usage.sh"
no_arguments "${BASH_SOURCE[0]}" "$@"
machine=$(mktemp -d)
trap 'rm -rf -- "$machine"' EXIT
failures=0

expect() {
    local what=$1 expected=$2 actual=$3
    if [[ $actual != "$expected" ]]; then
        printf 'check_scripts.sh: %s: expected "%s", got "%s"\n' "$what" "$expected" "$actual"
        failures=$((failures + 1))
    fi
}

detect() { "$here/detect_gpus.sh" "$machine" 2>/dev/null; }
amd() {
    local node=$machine/sys/class/kfd/kfd/topology/nodes/$1
    mkdir -p "$node"
    printf 'simd_count 64\ngfx_target_version %s\nvendor_id 4098\n' "$2" >"$node/properties"
}

expect 'no GPU' '' "$(detect)"
amd 0 0
expect 'a CPU node alone' '' "$(detect)"
amd 1 120001
amd 2 100306
amd 3 120001
expect 'one discrete GPU twice and an integrated one' 'gfx1201;gfx1036' "$(detect)"
amd 1 110501
rm -r "$machine/sys/class/kfd/kfd/topology/nodes/"[23]
expect 'major, minor and stepping' 'gfx1151' "$(detect)"
if [[ -f $here/../../kernels/arch.json ]]; then
    amd 1 90010
    expect 'a GPU that is no target' '' "$(detect)"
fi
rm -r "$machine/sys"
mkdir -p "$machine/proc/driver/nvidia/gpus/0000:01:00.0"
expect 'an NVIDIA GPU of unknown capability' 'sm_80;sm_90a' "$(detect)"

# Every script tells what it is for, and refuses what it does not know before it does anything.
for script in "$here"/../*.sh "$here"/*.sh "$here"/../bench/*.py; do
    name=$(basename "$script")
    case $name in
        stages.sh | usage.sh) continue ;; # are sourced
        *.py) command=(python3 "$script") ;;
        *) command=("$script") ;;
    esac
    told=$("${command[@]}" --help 2>&1 && echo 'status 0') || told+=' failed'
    for word in "$name" 'status 0'; do
        expect "$name --help tells $word" yes "$([[ $told == *"$word"* ]] && echo yes || printf '%s' "$told")"
    done
    expect "$name --help without notes to shellcheck" yes "$([[ $told == *'shellcheck disable'* ]] || echo yes)"
    told=$("${command[@]}" --frobnicate 2>&1) && status=0 || status=$?
    expect "$name with an unknown option" 2 "$status"
    expect "$name names an unknown option" yes "$([[ $told == *--frobnicate* || $told == *required* ]] && echo yes || printf '%s' "$told")"
done

expect 'install.sh without a purpose' 2 "$("$here/install.sh" >/dev/null 2>&1 || echo $?)"
expect 'install.sh with an unknown purpose' 2 "$("$here/install.sh" nonsense >/dev/null 2>&1 || echo $?)"
expect 'fresh.sh without a command' 2 "$("$here/fresh.sh" >/dev/null 2>&1 || echo $?)"

# shellcheck source=tools/dev/stages.sh
source "$here/stages.sh"
two_commands() {
    false
    true
}
stage good true >/dev/null
expect 'a stage that passes' '0 0' "$stage_status $stages_failed"
stage bad two_commands >/dev/null
expect 'a stage whose first command fails' '1 1' "$stage_status $stages_failed"
stage_skip later 'bad failed'
expect 'the table' 'good ok|bad FAILED (1)|later not run: bad failed|' \
    "$(stage_table | awk 'NR > 2 && $1 != "total" { $2 = ""; $0 = $0; $1 = $1; printf "%s|", $0 }')"

exit $((failures ? 1 : 0))
