# shellcheck shell=bash
# Sourced by the scripts that do a job in stages: runs each with a heading, times it, remembers how it went.

stage_names=()
stage_seconds=()
stage_results=()
stage_status=0 # of the latest stage
stages_failed=0

# stage NAME CMD [ARG...]: CMD may be a function; it runs in a subshell that stops at its first failing command. Returns 0
# always, for stages that follow may be worth running: look at stage_status.
stage() {
    local name=$1 begun=$SECONDS
    shift
    printf '\n== %s\n' "$name"
    set +e
    (
        set -e
        "$@"
    )
    stage_status=$?
    set -e
    local result=ok
    if ((stage_status)); then
        result="FAILED ($stage_status)"
        stages_failed=$((stages_failed + 1))
    fi
    stage_names+=("$name")
    stage_seconds+=($((SECONDS - begun)))
    stage_results+=("$result")
    printf '== %s: %s, %d s\n' "$name" "$result" $((SECONDS - begun))
}

# stage_skip NAME REASON: keeps what did not run in the table, so that nobody takes it for passed.
stage_skip() {
    stage_names+=("$1")
    stage_seconds+=(-)
    stage_results+=("not run: $2")
}

stage_table() {
    local i total=0
    printf '\n%-28s %8s  %s\n' stage seconds result
    for i in "${!stage_names[@]}"; do
        printf '%-44s %8s  %s\n' "${stage_names[i]}" "${stage_seconds[i]}" "${stage_results[i]}"
        if [[ ${stage_seconds[i]} != - ]]; then total=$((total + stage_seconds[i])); fi
    done
    printf '%-44s %8d\n' total "$total"
}
