#!/usr/bin/env bash
# Unpacks RPM packages, each set on top of what it requires, and builds clients against them.
#
#   rpm.sh PACKAGES_FOLDER WORK_FOLDER CONSUMER_FOLDER [C_FLAGS]
set -euo pipefail

here=$(dirname "$(readlink -f "${BASH_SOURCE[0]}")")
packages=$1
work=$2
consumer=$3
flags=${4:-}

fail() {
    echo "rpm.sh: $*"
    exit 1
}

rm -rf "$work"
mkdir -p "$work/root" "$work/shared" "$work/clients"
unpack() { (cd "$work/root" && rpm2cpio "$packages/$1" | cpio -idm --quiet); }
ask() { rpm -qp --nosignature "$@" 2>/dev/null; }

shopt -s nullglob
library=("$packages"/ckitchen-[0-9]*.x86_64.rpm)
((${#library[@]} == 1)) || fail 'there is no library'
release=${library[0]##*/ckitchen-}
ask --provides "${library[0]}" | grep -Fqx 'libckitchen.so.0(CKITCHEN_0.1)(64bit)' || fail 'the library does not provide its symbol node'
[[ $(ask --qf '%{LICENSE}' "${library[0]}") == 'None chosen yet' ]] || fail 'the library tells of another licence'

unpack "ckitchen-$release"
unpack "ckitchen-devel-$release"
# Shared clients need no static library.
cmake -S "$consumer" -B "$work/shared" -DCMAKE_PREFIX_PATH="$work/root/usr" -DCMAKE_C_FLAGS="$flags" -DCMAKE_CXX_FLAGS="$flags" >/dev/null
cmake --build "$work/shared" >/dev/null
"$work/shared/consumer"
unpack "ckitchen-static-$release"
"$here/clients.sh" "$work/root/usr" "$work/clients" "$consumer" "$flags"
unpack "ckitchen-tools-$release"
LD_LIBRARY_PATH=$(dirname "$(find "$work/root" -name 'libckitchen.so.0')") "$work/root/usr/bin/ckitchen" --version >/dev/null
[[ -e $packages/ckitchen-${release%.x86_64.rpm}.src.rpm ]] || fail 'there is no source package'
echo 'the packages can be used'
