#!/bin/sh
# Fuzzes one reader with libFuzzer, on stable Rust:
#   sh scripts/fuzz.sh TARGET [SECONDS [options of libFuzzer]]
# TARGET is a file of fuzz/targets without its ending. What libFuzzer learns stays in
# target/fuzz/corpus/TARGET ($TAILBACK_CORPUS/TARGET), an input that fails in
# target/fuzz/artifacts; ends with 1 if there is one.
set -eu
cd "$(dirname "$0")/.."
target=${1:?"a target: $(ls fuzz/targets | sed 's/\.rs//' | tr '\n' ' ')"}
seconds=${2:-60}
shift; [ $# -eq 0 ] || shift

# Every key, option and word that scenarios know.
if [ "$target" = scenario ]; then
    mkdir -p target/fuzz
    cargo run --quiet --profile swarm --package tailback-swarm -- words >target/fuzz/scenario.dict
    set -- -dict=target/fuzz/scenario.dict -max_len=512 "$@"
fi

# What cargo-fuzz passes to a nightly compiler, which coverage does not need. Comparisons are
# not traced: that took half of the time, and scenarios have a dictionary.
export RUSTFLAGS="--cfg fuzzing -Cpasses=sancov-module \
-Cllvm-args=-sanitizer-coverage-level=4 \
-Cllvm-args=-sanitizer-coverage-inline-8bit-counters \
-Cllvm-args=-sanitizer-coverage-pc-table"
host=$(rustc -vV | sed -n 's/^host: //p')
# With a target named, build scripts and macros are not instrumented.
cargo build --quiet --release --manifest-path fuzz/Cargo.toml --target-dir target/fuzz \
    --target "$host" --bin "$target"

corpus=${TAILBACK_CORPUS:-target/fuzz/corpus}/$target
mkdir -p "$corpus" target/fuzz/artifacts
exec "target/fuzz/$host/release/$target" -max_total_time="$seconds" -timeout=20 -rss_limit_mb=4096 \
    -artifact_prefix="target/fuzz/artifacts/$target-" "$@" "$corpus" "fuzz/seeds/$target"
