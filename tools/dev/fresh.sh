#!/usr/bin/env bash
# Runs a command on "a fresh machine": a clean clone of the committed HEAD inside a bare Debian 12.
#
#   tools/dev/fresh.sh [--refresh] [--keep] CMD [ARG...]
#
#   --refresh   build the cached base system anew (otherwise it is reused)
#   --keep      leave the system where it is afterwards, and print where
#
# The base is a minbase Debian 12, cached as ${XDG_CACHE_HOME:-~/.cache}/ckitchen/debian12-ARCH.tar. Each run unpacks it into a
# new folder, clones HEAD to /root/ckitchen in it (changes that are not committed are not seen) and runs CMD there as root, with its
# own mounts and process ids. Nothing of the host is visible but its network settings: Debian's own apt sources as the
# host has them (third-party lists are left out), apt's proxies and credentials, certificates, pip's configuration. GPUs are hidden.
# On exit everything is removed, whatever CMD left running is ended, and CMD's exit status is passed on.
#
# Needs root (uses sudo where it is not), and mmdebstrap (installed when missing). On a host that is not Debian 12, name an apt
# sources file for Debian 12 in CKITCHEN_FRESH_SOURCES.
set -euo pipefail

self=$(readlink -f "${BASH_SOURCE[0]}")
here=$(dirname "$self")
repo=$(dirname "$(dirname "$here")")
codename=bookworm

# shellcheck source=tools/dev/usage.sh
source "$here/usage.sh"

die() {
    printf 'fresh.sh: %s\n' "$*" >&2
    exit 2
}

# The second stage: process 1 of the new namespaces. Mounts made here vanish with the namespace, so no way of ending leaves any behind.
enter() {
    local root=$1
    shift
    mount -t proc proc "$root/proc"
    mount --rbind /sys "$root/sys"
    mount -t tmpfs -o mode=755,nosuid tmpfs "$root/dev"
    mkdir "$root/dev/pts" "$root/dev/shm"
    mount -t devpts -o newinstance,ptmxmode=0666,mode=620,gid=5 devpts "$root/dev/pts"
    mount -t tmpfs -o mode=1777,nosuid,nodev tmpfs "$root/dev/shm"
    local node
    for node in null zero full random urandom tty; do
        : >"$root/dev/$node"
        mount --bind "/dev/$node" "$root/dev/$node"
    done
    ln -s pts/ptmx "$root/dev/ptmx"
    ln -s /proc/self/fd "$root/dev/fd"
    ln -s /proc/self/fd/0 "$root/dev/stdin"
    ln -s /proc/self/fd/1 "$root/dev/stdout"
    ln -s /proc/self/fd/2 "$root/dev/stderr"
    # A fresh machine has no GPU: what the kernel tells of the host's is covered.
    local gpu
    for gpu in /sys/class/kfd /sys/class/drm /proc/driver/nvidia; do
        if [[ -d $root$gpu ]]; then mount -t tmpfs -o ro tmpfs "$root$gpu"; fi
    done

    local -a environment=(HOME=/root USER=root LOGNAME=root SHELL=/bin/bash LANG=C.UTF-8 "TERM=${TERM:-dumb}"
        PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin)
    local name
    for name in CI {http,https,ftp,all,no}_proxy {HTTP,HTTPS,FTP,ALL,NO}_PROXY \
        PIP_{INDEX_URL,EXTRA_INDEX_URL,TRUSTED_HOST,PROXY,CERT,DEFAULT_TIMEOUT} \
        SSL_CERT_{FILE,DIR} REQUESTS_CA_BUNDLE CURL_CA_BUNDLE; do
        if [[ -n ${!name:-} ]]; then environment+=("$name=${!name}"); fi
    done
    # Not exec: this shell stays process 1, reaps orphans, and lets CMD receive signals as an ordinary process does. INT and QUIT
    # are ignored in what a shell starts in the background, as it started this.
    # shellcheck disable=SC2016  # expanded by the inner shell
    chroot "$root" /usr/bin/env -i --default-signal=INT,QUIT "${environment[@]}" /bin/bash -c 'cd /root/ckitchen && exec "$@"' fresh "$@" || exit $?
    exit 0
}

# One-line apt sources of Debian 12 itself, as this host reaches it.
debian_sources() {
    if [[ -n ${CKITCHEN_FRESH_SOURCES:-} ]]; then
        cat -- "$CKITCHEN_FRESH_SOURCES"
        return
    fi
    # apt tells who signed a list only after it has fetched it.
    local format="deb \$(REPO_URI) \$(CODENAME) \$(COMPONENT)"
    local -a query=(apt-get indextargets --format "$format" 'Created-By: Packages' 'Origin: Debian' 'Component: main'
        "Architecture: $(dpkg --print-architecture)")
    local found
    found=$("${query[@]}" | grep -E " $codename(-updates|-security)? main\$" || true)
    if ! grep -q " $codename main\$" <<<"$found"; then
        apt-get update -qq >&2
        found=$("${query[@]}" | grep -E " $codename(-updates|-security)? main\$" || true)
    fi
    grep -q " $codename main\$" <<<"$found" ||
        die "this host has no apt source for Debian 12 ($codename main): name a sources file in CKITCHEN_FRESH_SOURCES"
    sort -u <<<"$found"
}

# apt's settings for reaching archives (proxies, time-outs, certificates), not those for what it keeps.
apt_settings() {
    apt-config dump --format '%F "%v";%n' |
        grep -E '^Acquire::' |
        grep -Ev '^Acquire::(IndexTargets|Changelogs|CompressionTypes|cdrom|GzipIndexes|AllowInsecure|AllowWeak|AllowDowngrade)' |
        grep -Ev '""|Auto-?Detect' || true
}

# Copies a host file or folder to the same place in the new system.
carry() {
    local root=$1 path
    shift
    for path in "$@"; do
        [[ -e $path ]] || continue
        mkdir -p "$root$(dirname "$path")"
        cp -RL --preserve=mode -T -- "$path" "$root$path"
    done
}

build_base() {
    local base=$1 work=$2
    "$here/install.sh" fresh
    printf '== fresh.sh: building the base system\n'
    mkdir -p "$(dirname "$base")"
    # Sources and settings are laid into each run from the host as it is then, so the cached base carries none.
    # shellcheck disable=SC2016  # expanded by mmdebstrap's shell
    if ! mmdebstrap --variant=minbase --mode=root --format=tar --aptopt="$work/apt.conf" \
        --keyring="$work/keyrings" \
        --customize-hook='rm -rf "$1"/etc/apt/sources.list "$1"/etc/apt/sources.list.d/* "$1"/etc/apt/apt.conf.d/99mmdebstrap' \
        --customize-hook='rm -f "$1"/etc/resolv.conf "$1"/etc/hostname' \
        "$codename" "$work/base.tar" "$work/sources.list" >"$work/base.log" 2>&1; then
        cat "$work/base.log" >&2
        die "the base system could not be built"
    fi
    mv -- "$work/base.tar" "$base.$$"
    mv -- "$base.$$" "$base"
}

work=
child=

# shellcheck disable=SC2317  # called by the trap
clean_up() {
    # The death of unshare is the death of process 1 of the namespace, and so of all that runs in it.
    if [[ -n $child ]]; then
        kill -KILL "$child" 2>/dev/null || true
        wait "$child" 2>/dev/null || true
    fi
    if [[ -z $work ]]; then return; fi
    # What is being killed may still write for a moment.
    rm -rf --one-file-system -- "$work" 2>/dev/null || { sleep 1 && rm -rf --one-file-system -- "$work"; }
}

main() {
    local refresh=0 keep=0
    while (($#)); do
        case $1 in
            --refresh) refresh=1 ;;
            --keep) keep=1 ;;
            -h | --help)
                usage "$self"
                exit 0
                ;;
            --)
                shift
                break
                ;;
            -*) refuse "$self" "$1" ;;
            *) break ;;
        esac
        shift
    done
    (($#)) || die "no command given (see --help)"

    if ((EUID != 0)); then
        command -v sudo >/dev/null || die "needs root, and there is no sudo"
        local -a options=()
        if ((refresh)); then options+=(--refresh); fi
        if ((keep)); then options+=(--keep); fi
        exec sudo -E -- "$self" "${options[@]}" -- "$@"
    fi

    local started=$SECONDS
    work=$(mktemp -d -p "${TMPDIR:-/var/tmp}" ckitchen-fresh.XXXXXXXX)
    chmod 755 "$work"  # apt reads keys as a user of its own
    trap clean_up EXIT
    trap 'exit 130' INT
    trap 'exit 143' TERM HUP

    debian_sources >"$work/sources.list"
    apt_settings >"$work/apt.conf"
    # Every key that the host trusts for these sources; the new system has no source besides them.
    mkdir "$work/keyrings"
    local key
    for key in /etc/apt/trusted.gpg /etc/apt/trusted.gpg.d/*.{gpg,asc} /usr/share/keyrings/debian-archive-*.gpg; do
        if [[ -s $key ]]; then cp -L -- "$key" "$work/keyrings/"; fi
    done
    while read -r key; do
        if [[ -s $key ]]; then cp -L -- "$key" "$work/keyrings/"; fi
    done < <(cat /etc/apt/sources.list /etc/apt/sources.list.d/*.{list,sources} 2>/dev/null |
        grep -oiP 'signed-by\s*[:=]\s*\K/[^] ,]+' | sort -u || true)

    local base
    base=${XDG_CACHE_HOME:-$HOME/.cache}/ckitchen/debian12-$(dpkg --print-architecture).tar
    if ((refresh)) || [[ ! -s $base ]]; then build_base "$base" "$work"; fi

    local root=$work/root
    mkdir "$root"
    tar -xf "$base" -C "$root" --numeric-owner --xattrs --xattrs-include='*'

    cp "$work/sources.list" "$root/etc/apt/sources.list"
    cp "$work/apt.conf" "$root/etc/apt/apt.conf.d/90host"
    cp "$work"/keyrings/* "$root/etc/apt/trusted.gpg.d/"
    local named
    # Certificates and the like that apt's settings name by path.
    while read -r named; do
        if [[ -f $named ]]; then carry "$root" "$named"; fi
    done < <(grep -oE '"/[^"]+"' "$work/apt.conf" | tr -d '"' || true)
    carry "$root" /etc/apt/auth.conf /etc/apt/auth.conf.d /etc/resolv.conf /etc/hosts \
        /etc/ssl/certs/ca-certificates.crt /usr/local/share/ca-certificates /etc/pip.conf
    local settings
    for settings in .config/pip/pip.conf .pip/pip.conf; do
        if [[ -f $HOME/$settings ]]; then
            install -D -m 600 "$HOME/$settings" "$root/root/$settings"
        fi
    done
    # No service is started inside, as in any container.
    printf '#!/bin/sh\nexit 101\n' >"$root/usr/sbin/policy-rc.d"
    chmod 755 "$root/usr/sbin/policy-rc.d"

    # A bundle: one git process reads the repository, whoever owns it, and no object is shared with it.
    local -a git=(git -c "safe.directory=$repo" -C "$repo")
    local changes
    changes=$("${git[@]}" status --porcelain | wc -l)
    if ((changes)); then printf '== fresh.sh: note: %s uncommitted files are not part of this run\n' "$changes" >&2; fi
    "${git[@]}" bundle create --quiet "$work/head.bundle" HEAD
    git clone --quiet "$work/head.bundle" "$root/root/ckitchen" 2>/dev/null
    git -C "$root/root/ckitchen" remote remove origin
    printf '== fresh.sh: %s on a bare Debian %s: %s\n' "$("${git[@]}" rev-parse --short HEAD)" \
        "$(cat "$root/etc/debian_version")" "$*"

    # In the background and waited for: a trap runs at once during wait, but only after a foreground command.
    local status=0 begun=$SECONDS
    unshare --mount --propagation private --pid --fork --kill-child -- "$self" --enter "$root" "$@" <&0 &
    child=$!
    wait "$child" || status=$?
    child=
    printf '== fresh.sh: exit status %d, command %s, in all %s minutes\n' "$status" \
        "$(minutes $((SECONDS - begun)))" "$(minutes $((SECONDS - started)))"
    if ((keep)); then
        work=
        printf '== fresh.sh: kept in %s\n' "$root"
    fi
    exit "$status"
}

minutes() {
    printf '%d.%d' $(($1 / 60)) $(($1 % 60 * 10 / 60))
}

if [[ ${1:-} == --enter ]]; then
    shift
    enter "$@"
fi
main "$@"
