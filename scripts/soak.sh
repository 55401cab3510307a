#!/bin/sh
# Tests that take too long for `make test`: `make soak`, or sh scripts/soak.sh SECONDS. The
# swarm gets half of the time, and the fuzz targets a quarter. The readers in Python and the
# store share the remaining quarter. Seeds and inputs are new every time. The script prints
# findings with their seed or file, and then exits with status 1.
set -u
cd "$(dirname "$0")/.."
seconds=${1:-3600}
python=.venv/bin/python
export CARGO_TERM_QUIET=true
failed=0

step() {
    echo "== $1"
    shift
    "$@" || { failed=1; echo "FAILED: $*"; }
}

swarm() {
    cargo run --profile swarm --package tailback-swarm -- "$@"
}

from=$(date +%s)000000
step "swarm from seed $from" swarm run --from "$from" --seconds $((seconds / 2)) --jobs "$(nproc)"

targets=$(ls fuzz/targets | sed 's/\.rs$//')
each=$((seconds / 4 / $(echo "$targets" | wc -l)))
for target in $targets; do
    step "fuzz $target for $each s" sh scripts/fuzz.sh "$target" "$each" -verbosity=0
done

# These are some thousand files and numbers in an hour.
export TAILBACK_FUZZ=$((seconds / 2 + 10)) PROPTEST_CASES=$((seconds / 2 + 10))
step "readers in Python, $TAILBACK_FUZZ files each" $python -m pytest tests/test_fuzz.py
step "numbers that begin elsewhere" cargo test --package tailback-scenario --test shift

# Test the store with killed commands, failing system calls and damaged files.
step "kills" $python tests/faults/kill.py --tries $((seconds / 180 + 1)) --seed "$from"
step "faults" $python tests/faults/inject.py --tries $((seconds / 600 + 1))
step "damage" $python tests/faults/damage.py --every $((3600 / (seconds + 1) + 1))
exit $failed
