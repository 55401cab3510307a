#!/bin/sh
# Builds a wheel for each target on the command line, into dist, from the new folder target/tree.
# zig links for Linux and macOS, mingw-w64 for Windows. `make wheels` calls this from the root, with
# the environment's bin in PATH.
set -e
root=$PWD
tree=$root/target/tree

case "$*" in *-windows-gnu*)
    if ! command -v x86_64-w64-mingw32-gcc >/dev/null 2>&1; then
        echo "error: install mingw-w64 (Debian: gcc-mingw-w64-x86-64-win32)" >&2
        exit 1
    fi ;;
esac

# Build from a copy of the sources, to which the guest is not added. A wheel contains every
# file below python/, but the guest of the kernel engine runs only on Linux on x86-64.
mkdir -p "$tree" dist
git ls-files -z --cached --others --exclude-standard |
    xargs -0 cp --no-dereference --parents -t "$tree"
cd "$tree"
python scripts/manual.py data/data/share
python python/tailback/plugins/shipping.py
page=$root/web/dist/single.html
if [ -f "$page" ]; then
    cp "$page" python/tailback/interop/lab/
else
    echo "the wheels have no laboratory; run make lab first" >&2
fi

# The list of CoreFoundation's functions replaces Apple's SDK.
export CARGO_TARGET_AARCH64_APPLE_DARWIN_RUSTFLAGS="-L framework=$root/scripts/darwin"
export CARGO_TARGET_X86_64_APPLE_DARWIN_RUSTFLAGS="-L framework=$root/scripts/darwin"
for target in "$@"; do
    echo "$target"
    rustup --quiet target add "$target"
    # maturin makes zig export a function that does not exist on Windows.
    case $target in *-windows-gnu) linker= ;; *) linker=--zig ;; esac
    maturin build --release --strip --quiet $linker --target "$target" --out "$root/dist"
done
