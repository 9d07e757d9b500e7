# shellcheck shell=bash
# What the scripts of dev/ share. Sourced, never run.
set -euo pipefail

root=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
cache=${TETHER_DEV_CACHE:-${XDG_CACHE_HOME:-$HOME/.cache}/tether-dev}
export CARGO_TARGET_DIR=${CARGO_TARGET_DIR:-$root/target}
export CARGO_TERM_COLOR=${CARGO_TERM_COLOR:-never}

say() { printf '== %s\n' "$*"; }
die() { printf 'error: %s\n' "$*" >&2; exit 1; }

# Debian packages, only those that are missing; says what it installs.
need_packages() {
  local missing=() package
  for package in "$@"; do
    dpkg-query -W -f='${Status}' "$package" 2>/dev/null | grep -q 'ok installed' || missing+=("$package")
  done
  [ ${#missing[@]} -eq 0 ] && return
  command -v apt-get >/dev/null || die "install these packages first: ${missing[*]}"
  say "installing Debian packages: ${missing[*]}"
  local sudo=()
  [ "$(id -u)" -eq 0 ] || sudo=(sudo)
  "${sudo[@]}" env DEBIAN_FRONTEND=noninteractive apt-get update -qq
  "${sudo[@]}" env DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends "${missing[@]}" >/dev/null
}

# A command, from its Debian package when it is missing.
need_command() { # COMMAND PACKAGE
  command -v "$1" >/dev/null || need_packages "$2"
  command -v "$1" >/dev/null || die "there is no $1, and the package $2 did not bring it"
}

# cargo of at least the workspace's rust-version.
need_rust() {
  local want have
  want=$(sed -n 's/^rust-version = "\(.*\)"/\1/p' "$root/Cargo.toml" | head -n 1)
  have=$(cargo --version 2>/dev/null | awk '{print $2}') || have=
  if [ -z "$have" ] || [ "$(printf '%s\n%s\n' "$want" "$have" | sort -V | head -n 1)" != "$want" ]; then
    say "cargo $want or newer is needed (found: ${have:-none}); trying rustup"
    command -v rustup >/dev/null || need_packages rustup || true
    command -v rustup >/dev/null || die "install Rust $want first: https://rustup.rs"
    rustup toolchain install "$want" --profile minimal --component clippy --component rustfmt
    export RUSTUP_TOOLCHAIN=$want
  fi
}

# What building needs.
need_build_tools() {
  need_command cc gcc
  need_command git git
  # The lance crates compile their message formats, and those import the ones that come with protoc.
  need_command protoc protobuf-compiler
  if ! printf 'syntax = "proto3"; import "google/protobuf/empty.proto";' |
    protoc --proto_path=/dev --descriptor_set_out=/dev/null /dev/stdin 2>/dev/null; then
    need_packages libprotobuf-dev
  fi
  need_rust
}

# The Python package of the same format, for the interop tests and the benchmarks; prints its executable.
python_package() {
  local version=0.1.0b7 venv=$cache/tether-vcs-0.1.0b7
  if [ ! -x "$venv/bin/tether" ]; then
    need_command python3 python3 >&2
    python3 -c 'import ensurepip' 2>/dev/null || need_packages python3-venv >&2
    say "installing tether-vcs $version (PyPI) into $venv" >&2
    rm -rf "$venv" && mkdir -p "$(dirname "$venv")"
    python3 -m venv "$venv" >&2
    "$venv/bin/pip" install -q --disable-pip-version-check "tether-vcs[cli]==$version" >&2
  fi
  printf '%s\n' "$venv/bin/tether"
}
