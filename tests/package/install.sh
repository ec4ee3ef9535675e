#!/usr/bin/env bash
# Installs a build into a folder and builds the same client against it by CMake (shared and static) and by pkg-config.
#
#   install.sh BUILD_FOLDER INSTALL_FOLDER CONSUMER_FOLDER C_FLAGS
set -euo pipefail

build=$1
prefix=$2
consumer=$3
flags=$4

rm -rf "$prefix"
cmake --install "$build" --prefix "$prefix/usr" >/dev/null

for static in OFF ON; do
    folder=$prefix/cmake-$static
    cmake -S "$consumer" -B "$folder" -DCMAKE_PREFIX_PATH="$prefix/usr" -DCONSUMER_STATIC=$static \
        -DCMAKE_C_FLAGS="$flags" -DCMAKE_CXX_FLAGS="$flags" >/dev/null
    cmake --build "$folder" >/dev/null
    "$folder/consumer"
done

"$prefix/usr/bin/ckitchen" --version >/dev/null

libdir=$(dirname "$(find "$prefix/usr" -name ckitchen.pc)")
export PKG_CONFIG_PATH=$libdir
# shellcheck disable=SC2046,SC2086  # flags are words
cc $flags -std=c99 $(pkg-config --cflags ckitchen) "$consumer/consumer.c" -o "$prefix/by-pkg-config" $(pkg-config --libs ckitchen)
LD_LIBRARY_PATH=$(pkg-config --variable=libdir ckitchen) "$prefix/by-pkg-config"
# shellcheck disable=SC2046,SC2086
cc $flags -std=c99 -DCK_STATIC $(pkg-config --cflags ckitchen) "$consumer/consumer.c" -o "$prefix/static-by-pkg-config" \
    "$(pkg-config --variable=libdir ckitchen)/libckitchen.a" $(pkg-config --static --libs ckitchen | sed 's/-lckitchen //')
"$prefix/static-by-pkg-config"
case $(pkg-config --variable=includedir ckitchen) in
    "$prefix"/*) ;;
    *) echo "ckitchen.pc points outside the installed tree" && exit 1 ;;
esac

# Moved elsewhere, the CMake files still work.
mv "$prefix/usr" "$prefix/moved"
cmake -S "$consumer" -B "$prefix/cmake-moved" -DCMAKE_PREFIX_PATH="$prefix/moved" -DCMAKE_C_FLAGS="$flags" \
    -DCMAKE_CXX_FLAGS="$flags" >/dev/null
cmake --build "$prefix/cmake-moved" >/dev/null
"$prefix/cmake-moved/consumer"
echo 'clients by CMake (shared, static, moved) and by pkg-config (shared, static) work'
