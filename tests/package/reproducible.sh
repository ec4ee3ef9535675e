#!/usr/bin/env bash
# Makes the Debian packages once more, elsewhere, at another hour and with another umask: the same bytes come out.
#
#   reproducible.sh PACKAGE_SCRIPT BUILD_FOLDER PACKAGES_FOLDER WORK_FOLDER
set -euo pipefail

script=$1
build=$2
packages=$3
work=$4

rm -rf "$work"
mkdir -p "$work/tmp"
umask 027
TMPDIR=$work/tmp TZ=Asia/Tokyo LC_ALL=C.UTF-8 "$script" deb --build "$build" --out "$work/again" >"$work/log" 2>&1 ||
    { tail -n 30 "$work/log" && exit 1; }

compared=0
for file in "$packages"/*.{deb,dsc,tar.*}; do
    [[ -e $file ]] || continue
    cmp "$file" "$work/again/$(basename "$file")" || exit 1
    compared=$((compared + 1))
done
((compared >= 5)) || { echo "only $compared files were compared" && exit 1; }
rm -rf "$work"
echo "$compared files are the same to the byte"
