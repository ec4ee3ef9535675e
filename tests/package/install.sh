#!/usr/bin/env bash
# Installs a build into a folder and builds clients against it, then moves it.
#
#   install.sh BUILD_FOLDER INSTALL_FOLDER CONSUMER_FOLDER C_FLAGS
set -euo pipefail

here=$(dirname "$(readlink -f "${BASH_SOURCE[0]}")")
build=$1
prefix=$2
consumer=$3
flags=$4

rm -rf "$prefix"
cmake --install "$build" --prefix "$prefix/usr" >/dev/null
"$here/clients.sh" "$prefix/usr" "$prefix" "$consumer" "$flags"
"$prefix/usr/bin/ckitchen" --version >/dev/null

# Moved elsewhere, the CMake files still work.
mv "$prefix/usr" "$prefix/moved"
cmake -S "$consumer" -B "$prefix/cmake-moved" -DCMAKE_PREFIX_PATH="$prefix/moved" -DCMAKE_C_FLAGS="$flags" \
    -DCMAKE_CXX_FLAGS="$flags" >/dev/null
cmake --build "$prefix/cmake-moved" >/dev/null
"$prefix/cmake-moved/consumer"
echo 'the installed tree can be moved'
