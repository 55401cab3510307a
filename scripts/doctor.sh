#!/bin/sh
# Prints in one line what this machine needs for `make build`. Prints nothing if nothing is
# missing.
python=${PYTHON:-python3}
missing=
add() { missing="${missing:+$missing; }$1"; }

if ! command -v "$python" >/dev/null 2>&1; then
    add "Python 3.11 or later (Debian: apt install python3 python3-venv)"
elif ! "$python" -c 'import sys; sys.exit(sys.version_info < (3, 11))' 2>/dev/null; then
    add "Python 3.11 or later ($python is $("$python" -c 'import platform; print(platform.python_version())'); set PYTHON=...)"
elif ! "$python" -c 'import venv, ensurepip' 2>/dev/null; then
    add "Python's venv module (Debian: apt install python3-venv)"
fi
if ! command -v cargo >/dev/null 2>&1; then
    add "Rust stable with cargo (rustup.rs)"
else
    wanted=$(sed -n 's/^rust-version = "\(.*\)"/\1/p' Cargo.toml)
    found=$(rustc --version 2>/dev/null | cut -d ' ' -f 2)
    oldest=$(printf '%s\n%s\n' "$wanted" "$found" | sort -V | head -n 1)
    [ "$oldest" = "$wanted" ] || add "Rust $wanted or later (found ${found:-none}; rustup update stable)"
fi
command -v cc >/dev/null 2>&1 || add "a C compiler to link with (Debian: apt install gcc libc6-dev)"

[ -z "$missing" ] && exit 0
echo "tailback cannot be built, missing: $missing" >&2
exit 1
