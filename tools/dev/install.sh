#!/usr/bin/env bash
# Installs the Debian packages that are missing for the purposes named; does nothing, and asks no archive, when none is.
#
#   tools/dev/install.sh [--list] PURPOSE...      purposes and packages: tools/dev/packages.txt
#
#   --list   print the packages that are missing, install nothing
set -euo pipefail

here=$(dirname "$(readlink -f "${BASH_SOURCE[0]}")")
list=$here/packages.txt

die() {
    printf 'install.sh: %s\n' "$*" >&2
    exit 2
}

# shellcheck source=tools/dev/usage.sh
source "$here/usage.sh"

only_list=0
if [[ ${1:-} == --list ]]; then
    only_list=1
    shift
fi
if [[ ${1:-} == -* ]]; then no_arguments "${BASH_SOURCE[0]}" "$@"; fi
known=$(awk '!/^#/ && NF { print $1 }' "$list" | sort -u | tr '\n' ' ')
(($#)) || die "no purpose given; known are: $known"

packages=()
for purpose in "$@"; do
    mapfile -t found < <(awk -v p="$purpose" '!/^#/ && $1 == p { for (i = 2; i <= NF; i++) print $i }' "$list")
    ((${#found[@]})) || die "unknown purpose '$purpose'; known are: $known"
    packages+=("${found[@]}")
done

command -v dpkg-query >/dev/null ||
    die "this is not a Debian system; the packages needed are, by their Debian names: ${packages[*]}"

missing=()
for package in "${packages[@]}"; do
    state=$(dpkg-query -W -f '${db:Status-Status}' "$package" 2>/dev/null || true)
    if [[ $state != installed ]]; then missing+=("$package"); fi
done
((${#missing[@]})) || exit 0
mapfile -t missing < <(printf '%s\n' "${missing[@]}" | sort -u)
if ((only_list)); then
    printf '%s\n' "${missing[@]}"
    exit 0
fi

as_root=()
if ((EUID != 0)); then
    command -v sudo >/dev/null ||
        die "packages are missing and this is neither root nor is there sudo; as root run: apt-get install ${missing[*]}"
    as_root=(sudo)
fi

printf 'installing: %s\n' "${missing[*]}"
log=$(mktemp)
trap 'rm -f -- "$log"' EXIT

# Quiet when it works, everything that apt said when it does not.
quietly() {
    if ! "${as_root[@]}" env DEBIAN_FRONTEND=noninteractive "$@" >"$log" 2>&1 </dev/null; then
        cat -- "$log" >&2
        die "failed: $*"
    fi
}

quietly apt-get update -q -o Acquire::Retries=3
quietly apt-get install -q -y --no-install-recommends -o Acquire::Retries=3 -o DPkg::Lock::Timeout=300 "${missing[@]}"
