#!/usr/bin/env bash
# Builds and runs the same client against an installed copy by CMake (shared and static) and by pkg-config (shared and static).
#
#   clients.sh PREFIX WORK_FOLDER CONSUMER_FOLDER C_FLAGS
set -euo pipefail

prefix=$1
work=$2
consumer=$3
flags=$4

for static in OFF ON; do
    folder=$work/cmake-$static
    cmake -S "$consumer" -B "$folder" -DCMAKE_PREFIX_PATH="$prefix" -DCONSUMER_STATIC=$static \
        -DCMAKE_C_FLAGS="$flags" -DCMAKE_CXX_FLAGS="$flags" >/dev/null
    cmake --build "$folder" >/dev/null
    grep -q "^ckitchen_DIR:PATH=$prefix/" "$folder/CMakeCache.txt" || {
        echo "CMake took another ckitchen than that in $prefix"
        exit 1
    }
    "$folder/consumer"
done

PKG_CONFIG_PATH=$(dirname "$(find "$prefix" -name ckitchen.pc -print -quit)")
export PKG_CONFIG_PATH
# shellcheck disable=SC2046,SC2086  # flags are words
cc $flags -std=c99 $(pkg-config --cflags ckitchen) "$consumer/consumer.c" -o "$work/by-pkg-config" $(pkg-config --libs ckitchen)
LD_LIBRARY_PATH=$(pkg-config --variable=libdir ckitchen) "$work/by-pkg-config"
# shellcheck disable=SC2046,SC2086
cc $flags -std=c99 -DCK_STATIC $(pkg-config --cflags ckitchen) "$consumer/consumer.c" -o "$work/static-by-pkg-config" \
    "$(pkg-config --variable=libdir ckitchen)/libckitchen.a" $(pkg-config --static --libs ckitchen | sed 's/-lckitchen //')
"$work/static-by-pkg-config"
case $(pkg-config --variable=includedir ckitchen) in
    "$prefix"/*) ;;
    *) echo "ckitchen.pc points outside the installed tree" && exit 1 ;;
esac
echo 'clients by CMake and by pkg-config, shared and static, work'
