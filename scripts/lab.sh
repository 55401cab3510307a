#!/bin/sh
# Prints in one line what this machine needs for `make lab`. Prints nothing if nothing is
# missing.
missing=
add() { missing="${missing:+$missing; }$1"; }

if ! command -v node >/dev/null 2>&1; then
    add "node 20 or later (nodejs.org)"
elif [ "$(node -p 'process.versions.node.split(".")[0]')" -lt 20 ]; then
    add "node 20 or later (found $(node --version); nodejs.org)"
fi
command -v npm >/dev/null 2>&1 || add "npm, which comes with node"
if ! command -v cargo >/dev/null 2>&1; then
    add "Rust stable with cargo (rustup.rs)"
elif [ ! -d "$(rustc --print sysroot)/lib/rustlib/wasm32-unknown-unknown" ]; then
    add "Rust's wasm target (rustup target add wasm32-unknown-unknown)"
fi

[ -z "$missing" ] && exit 0
echo "the laboratory cannot be built, missing: $missing" >&2
exit 1
