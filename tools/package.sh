#!/usr/bin/env bash
# Makes the packages of a distribution, with their sources, in build/packages.
#
#   tools/package.sh deb|rpm [--build FOLDER] [--out FOLDER]
#
#   --build FOLDER   package a finished build of these sources instead of building again; it must have been configured with the
#                    distribution's CMAKE_INSTALL_LIBDIR (Debian: lib/x86_64-linux-gnu, Fedora: lib64)
#   --out FOLDER     put the packages there; what is there already is removed
#
# What is packaged is the checked-out files that git knows, as they are now. The same files give the same
# Debian packages to the byte; RPM's hold the paths that they were made at.
set -euo pipefail

repo=$(dirname "$(dirname "$(readlink -f "${BASH_SOURCE[0]}")")")
# shellcheck source=tools/dev/usage.sh
source "$repo/tools/dev/usage.sh"

kind='' build='' out=$repo/build/packages
while (($#)); do
    case $1 in
        deb | rpm) kind=$1 ;;
        --build | --out)
            (($# > 1)) || refuse "${BASH_SOURCE[0]}" "$1 without a folder"
            if [[ $1 == --build ]]; then build=$(readlink -f "$2"); else out=$2; fi
            shift
            ;;
        -h | --help)
            usage "${BASH_SOURCE[0]}"
            exit 0
            ;;
        *) refuse "${BASH_SOURCE[0]}" "$1" ;;
    esac
    shift
done
[[ -n $kind ]] || refuse "${BASH_SOURCE[0]}" "(none): deb or rpm is required"

# The rights in the packages are not the user's habit.
umask 022
rm -rf "$out"
mkdir -p "$out"
out=$(readlink -f "$out")
work=$(mktemp -d)
trap 'rm -rf -- "$work"' EXIT

version=$(sed -n 's/^#define CK_VERSION_\(MAJOR\|MINOR\|PATCH\) \([0-9]*\)$/\2/p' "$repo/include/ckitchen.h" | paste -sd.)
changelog=$repo/packaging/debian/changelog
SOURCE_DATE_EPOCH=${SOURCE_DATE_EPOCH:-$(date -d "$(sed -n 's/^ -- .*>  //p;T;q' "$changelog")" +%s)}
export SOURCE_DATE_EPOCH

# The sources, named and dated alike whoever packs them. A source archive has no git, and nothing but the files.
tree=ckitchen-$version
mkdir "$work/$tree"
if git -C "$repo" rev-parse --git-dir >/dev/null 2>&1; then
    git -C "$repo" ls-files -z | (cd "$repo" && tar -c --null -T - -f -) | tar -x -C "$work/$tree"
else
    tar -C "$repo" --exclude=./.git --exclude=./build --exclude=./.cache -cf - . | tar -x -C "$work/$tree"
fi
archive() {
    tar --sort=name --mtime="@$SOURCE_DATE_EPOCH" --owner=0 --group=0 --numeric-owner --mode=go=rX,u+rw,a-s -C "$work" -cf - "$tree" |
        gzip -9n >"$1"
}

package_deb() {
    archive "$work/ckitchen_$version.orig.tar.gz"
    cp -r "$work/$tree/packaging/debian" "$work/$tree/debian"
    local -a options=(-us -uc)
    if [[ -n $build ]]; then
        # Nothing is compiled, so there is nothing to debug and nothing new to test, and what a build needs is not asked for.
        export CKITCHEN_BUILD_DIR=$build DEB_BUILD_OPTIONS="${DEB_BUILD_OPTIONS:+$DEB_BUILD_OPTIONS }noautodbgsym nocheck"
        options+=(-d)
    fi
    (cd "$work/$tree" && dpkg-buildpackage "${options[@]}")
    find "$work" -maxdepth 1 -type f -exec mv -t "$out" {} +
}

package_rpm() {
    mkdir -p "$work/rpm/SOURCES"
    archive "$work/rpm/SOURCES/$tree.tar.gz"
    local -a options=(-ba --define "_topdir $work/rpm" --define 'use_source_date_epoch_as_buildtime 1'
        --define 'clamp_mtime_to_source_date_epoch 1' --define '_buildhost reproducible')
    if [[ -n $build ]]; then
        options+=(--define "finished_build $build" --define "_libdir /usr/$(sed -n 's/^CMAKE_INSTALL_LIBDIR:[A-Z]*=//p' "$build/CMakeCache.txt")")
    fi
    # Another distribution knows the build's requirements by other names.
    if ! rpm -q rpm >/dev/null 2>&1; then options+=(--nodeps); fi
    rpmbuild "${options[@]}" "$repo/packaging/rpm/ckitchen.spec"
    find "$work/rpm/RPMS" "$work/rpm/SRPMS" -name '*.rpm' -exec mv -t "$out" {} +
}

case $kind in
    deb) package_deb ;;
    rpm) package_rpm ;;
esac
ls -l "$out"
