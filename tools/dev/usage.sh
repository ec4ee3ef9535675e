# shellcheck shell=bash
# Sourced by the scripts: what they do with --help and with arguments that they do not know.

# usage SCRIPT: the comment at its head.
usage() {
    awk 'NR == 1 || /^# shellcheck/ { next } !/^#/ { exit } { sub(/^# ?/, ""); print }' "$1"
}

# refuse SCRIPT ARGUMENT
refuse() {
    printf '%s: unknown argument %s (see --help)\n' "$(basename "$1")" "$2" >&2
    exit 2
}

# no_arguments SCRIPT ARGUMENT...: for scripts that take none but --help.
no_arguments() {
    local script=$1
    shift
    if [[ ${1:-} == -h || ${1:-} == --help ]]; then
        usage "$script"
        exit 0
    fi
    if (($#)); then refuse "$script" "$1"; fi
}
