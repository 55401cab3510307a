#!/bin/sh
# Makes a Debian source package in the new folder target/deb, and builds it without a network into dist.
# `make deb` calls this from the root, with the environment's bin in PATH.
set -e
root=$PWD
missing=
for tool in dpkg-buildpackage dh cargo; do
    command -v "$tool" >/dev/null 2>&1 || missing="$missing $tool"
done
if [ -n "$missing" ]; then
    echo "error: missing:$missing (Debian: dpkg-dev, debhelper; Rust from rustup)" >&2
    exit 1
fi

tree=$root/target/deb/tailback
mkdir -p "$tree/.cargo" dist
git ls-files -z --cached --others --exclude-standard |
    xargs -0 cp --no-dereference --parents -t "$tree"
cp -r packaging/debian "$tree/debian"
version=$(sed -n 's/^version = "\(.*\)"$/\1/p' Cargo.toml | head -1)
if [ "$(dpkg-parsechangelog -l "$tree/debian/changelog" -S Version)" != "$version" ]; then
    echo "error: packaging/debian/changelog does not begin with version $version" >&2
    exit 1
fi
[ ! -f web/dist/single.html ] || cp web/dist/single.html "$tree/python/tailback/interop/lab/"

# Vendor everything that the build would download.
cargo vendor --quiet --locked "$tree/vendor" >"$tree/.cargo/config.toml"
sed -i "s#$tree/##" "$tree/.cargo/config.toml"
pip download --quiet --no-deps --only-binary=:all: --dest "$tree/wheels" -r requirements.txt

cd "$tree"
# Do not check the build dependencies, because apt does not know the Rust that rustup
# installed.
unshare --net true 2>/dev/null && offline="unshare --net" || offline=
$offline dpkg-buildpackage --unsigned-source --unsigned-changes --no-check-builddeps
cp ../tailback_*.deb ../tailback_*.dsc ../tailback_*.tar.* "$root/dist"
