#!/usr/bin/env bash
# Installs what is missing, builds, runs every test and check, prints what each stage took and, last, ctest's closing line.
#
#   tools/test.sh [--full]
#
#   --full   the full conformance tier on the CPU too, and under the thread sanitizer the smoke tier and the tests
#            with simulated GPU runtimes
#
# Works from any folder. Builds in build/<preset>, or in CKITCHEN_BUILD_DIR/<preset> where that is set. A stage that fails does not keep
# later ones from running unless they need it; the exit status is 0 only when all passed.
# shellcheck disable=SC2317  # functions are called by name, through stage
set -euo pipefail

repo=$(dirname "$(dirname "$(readlink -f "${BASH_SOURCE[0]}")")")
# shellcheck source=tools/dev/stages.sh
source "$repo/tools/dev/stages.sh"
# shellcheck source=tools/dev/usage.sh
source "$repo/tools/dev/usage.sh"

full=0
for argument in "$@"; do
    case $argument in
        --full) full=1 ;;
        -h | --help)
            usage "${BASH_SOURCE[0]}"
            exit 0
            ;;
        *) refuse "${BASH_SOURCE[0]}" "$argument" ;;
    esac
done

build_root=${CKITCHEN_BUILD_DIR:-$repo/build}
jobs=$(nproc)
mkdir -p "$build_root"

# Tracked files only: what a clean clone has. A source archive has no git, and nothing but tracked files.
sources() {
    if git -C "$repo" rev-parse --git-dir >/dev/null 2>&1; then
        git -C "$repo" ls-files -z -- "$@"
    else
        local -a names=()
        local pattern
        for pattern in "$@"; do names+=(-o -name "$pattern"); done
        (cd "$repo" && find . -path "./build*" -prune -o -type f \( "${names[@]:1}" \) -print0)
    fi
}

install_packages() {
    "$repo/tools/dev/install.sh" build tests device gfxsim ffi packaging
}

configure() {
    local preset=$1
    # Warnings are errors in the release build; under sanitizers gcc 12 warns of code that it made itself.
    local werror=ON
    if [[ $preset != release ]]; then werror=OFF; fi
    # Debian's library folder, so that Debian's packages can be made of this build.
    local -a options=(-DCKITCHEN_BUILD_TESTS=ON -DCKITCHEN_WERROR="$werror" -DCKITCHEN_GPU_TARGETS=all
        "-DCMAKE_INSTALL_LIBDIR=lib/$(dpkg-architecture -qDEB_HOST_MULTIARCH)")
    # Nothing that needs the simulator runs under the address sanitizer.
    if [[ $preset == asan-ubsan ]]; then options+=(-DCKITCHEN_BUILD_GFXSIM=OFF); else options+=(-DCKITCHEN_BUILD_GFXSIM=ON); fi
    cmake -S "$repo" -B "$build_root/$preset" --preset "$preset" "${options[@]}"
}

build() {
    configure "$1"
    cmake --build "$build_root/$1" --parallel "$jobs"
}

# ctest's whole output is also kept, for its closing line.
run_tests() {
    local preset=$1
    shift
    local -a runner=(env)
    if [[ $preset != release ]]; then
        # Sanitizers place their shadow memory at fixed addresses, which strong address randomization can take from them.
        if setarch "$(uname -m)" -R true 2>/dev/null; then runner=(setarch "$(uname -m)" -R env); fi
        runner+=(ASAN_OPTIONS=detect_stack_use_after_return=1:strict_string_checks=1
            "LSAN_OPTIONS=suppressions=$repo/tests/leaks.txt:print_suppressions=0"
            UBSAN_OPTIONS=print_stacktrace=1 TSAN_OPTIONS=second_deadlock_stack=1)
    fi
    "${runner[@]}" ctest --test-dir "$build_root/$preset" --output-on-failure --no-tests=error --timeout 600 -j "$jobs" "$@" 2>&1 |
        tee "$build_root/ctest-$preset.log"
}

check_format() {
    sources '*.c' '*.h' '*.cpp' '*.hpp' '*.hip' | (cd "$repo" && xargs -0 -r clang-format-14 --dry-run -Werror)
}

check_scripts() {
    "$repo/tools/dev/check_scripts.sh"
    sources '*.sh' .ci/run | (cd "$repo" && xargs -0 -r shellcheck -x)
}

# The checks of .clang-tidy, with the flags that the release build compiled each file with.
check_tidy() {
    cd "$repo"
    # It colours its findings even in a file.
    run-clang-tidy-14 -quiet -p "$build_root/release" -j "$jobs" "^$repo/src/.*\.cpp\$" 2>&1 |
        sed 's/\x1b\[[0-9;]*m//g' >"$build_root/clang-tidy.log" || {
        grep -E '(warning|error):' -A 3 "$build_root/clang-tidy.log" || tail -n 40 "$build_root/clang-tidy.log"
        return 1
    }
}

# sanitized PRESET LABELS
sanitized() {
    local preset=$1
    stage "$preset build" build "$preset"
    if ((stage_status)); then
        stage_skip "$preset tests" 'its build failed'
    else
        stage "$preset tests" run_tests "$preset" -L "^($2)\$"
    fi
}

closing='ctest did not run'
stage 'packages' install_packages
if ((stage_status)); then
    stage_skip 'everything else' 'packages are missing'
else
    stage 'script check' check_scripts
    stage 'format check' check_format
    stage 'release build' build release
    if ((stage_status)); then
        stage_skip 'tests' 'the release build failed'
        stage_skip 'static checks' 'the release build failed'
    else
        rm -f "$build_root/ctest-release.log"
        tier=()
        if ((full)); then tier=(-C Full); fi
        stage 'tests' run_tests release "${tier[@]}"
        closing=$(grep -E '^[0-9]+% tests passed' "$build_root/ctest-release.log" || printf '%s' "$closing")
        stage 'static checks' check_tidy
    fi
    sanitized asan-ubsan smoke
    if ((full)); then sanitized tsan 'smoke|runtime'; fi
fi

stage_table
if ((stages_failed)); then printf '\ntest.sh: %d stage(s) FAILED\n' "$stages_failed"; fi
printf '\n%s\n' "$closing"
exit $((stages_failed ? 1 : 0))
