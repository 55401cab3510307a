#!/bin/sh
# Installs tshark for `make test`, because some tests read captures with it. It installs
# tshark only if the user is root, as on a clean CI machine. Without tshark, those tests
# are skipped.
command -v tshark >/dev/null 2>&1 && exit 0
{ [ "$(id -u)" = 0 ] && command -v apt-get >/dev/null 2>&1; } || exit 0
echo "installing tshark for the tests" >&2
export DEBIAN_FRONTEND=noninteractive
{ apt-get -qq update && apt-get -qq install --yes --no-install-recommends tshark; } \
    >/dev/null 2>&1 || echo "tshark could not be installed: the tests with it are skipped" >&2
