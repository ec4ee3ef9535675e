#!/usr/bin/env bash
# Installs Debian packages into a root of their own, builds clients against them, upgrades, removes: nothing may be left.
#
#   deb.sh PACKAGES_FOLDER WORK_FOLDER CONSUMER_FOLDER [C_FLAGS]
set -euo pipefail
export PATH=$PATH:/usr/sbin:/sbin LC_ALL=C

here=$(dirname "$(readlink -f "${BASH_SOURCE[0]}")")
packages=$1
work=$2
consumer=$3
flags=${4:-}

fail() {
    echo "deb.sh: $*"
    exit 1
}

rm -rf "$work"
root=$work/root
mkdir -p "$root"/var/lib/dpkg/{info,updates,triggers} "$work/clients"
touch "$root"/var/lib/dpkg/{status,available}

# Without root rights fakeroot records the owners. What other packages give (libc and so on) is the machine's own.
dpkg_there() {
    local -a as_root=()
    if ((EUID != 0)); then as_root=(fakeroot --); fi
    "${as_root[@]}" dpkg --root="$root" --force-depends --force-script-chrootless "$@" >>"$work/dpkg.log" 2>&1 ||
        { cat "$work/dpkg.log" && fail "dpkg $* failed"; }
}
state() { dpkg-query --admindir="$root/var/lib/dpkg" -W -f '${Package} ${Version} ${db:Status-Status}\n'; }

shopt -s nullglob
debs=("$packages"/*.deb)
((${#debs[@]} == 3)) || fail "there are ${#debs[@]} packages, expected 3"

dpkg_there --install "${debs[@]}"
[[ $(state | grep -c ' installed$') == 3 ]] || fail "not all are installed: $(state)"
libdir=$(dirname "$(find "$root/usr" -name 'libckitchen.so.0')")
"$here/clients.sh" "$root/usr" "$work/clients" "$consumer" "$flags"
LD_LIBRARY_PATH=$libdir "$root/usr/bin/ckitchen" verify --backend cpu --count 2 >/dev/null
! readelf -d "$root/usr/bin/ckitchen" "$libdir"/libckitchen.so.0 | grep -E 'RPATH|RUNPATH' || fail 'something has a run path'
for page in "$root"/usr/share/man/man1/*.gz; do
    zcat "$page" | man --warnings -l - 2>&1 >/dev/null | grep . && fail "$page has mistakes"
done
for package in libckitchen0 libckitchen-dev ckitchen; do
    grep -q '^ No licence has been chosen yet' "$root/usr/share/doc/$package/copyright" || fail "$package does not tell of its licence"
done

# The next revision of the same packages.
version=$(dpkg-deb -f "${debs[0]}" Version)
mkdir "$work/next"
for deb in "${debs[@]}"; do
    dpkg-deb -R "$deb" "$work/next/tree"
    sed -i "s/${version//./\\.}/$version+next/g" "$work/next/tree/DEBIAN/control"
    dpkg-deb --root-owner-group -Znone -b "$work/next/tree" "$work/next" >/dev/null
    rm -r "$work/next/tree"
done
dpkg_there --install "$work"/next/*.deb
[[ $(state | grep -c " ${version//+/\\+}+next installed\$") == 3 ]] || fail "not all are upgraded: $(state)"
LD_LIBRARY_PATH=$libdir "$work/clients/by-pkg-config"

dpkg_there --purge ckitchen libckitchen-dev libckitchen0
left=$(find "$root" -mindepth 1 -not -path "$root/var/lib/dpkg*" -not -type d)
[[ -z $left ]] || fail "left behind: $left"
[[ -z $(state) ]] || fail "dpkg still knows $(state)"
echo 'installed, used, upgraded, removed; nothing is left'
