#!/bin/sh
# Fuzzes one reader with libFuzzer, on stable Rust:
#   sh scripts/fuzz.sh TARGET [SECONDS [options of libFuzzer]]
# TARGET is a file of fuzz/targets without its extension. The corpus is kept in
# target/fuzz/corpus/TARGET ($TAILBACK_CORPUS/TARGET), failing inputs in
# target/fuzz/artifacts. The exit status is 1 if an input fails.
set -eu
cd "$(dirname "$0")/.."
target=${1:?"a target: $(ls fuzz/targets | sed 's/\.rs//' | tr '\n' ' ')"}
seconds=${2:-60}
shift; [ $# -eq 0 ] || shift

# Scenarios have a dictionary of every key, option and word.
if [ "$target" = scenario ]; then
    mkdir -p target/fuzz
    cargo run --quiet --profile swarm --package tailback-swarm -- words >target/fuzz/scenario.dict
    set -- -dict=target/fuzz/scenario.dict -max_len=512 "$@"
fi

# The flags that cargo-fuzz passes; coverage does not need a nightly compiler. Comparisons are
# not traced, because that took half of the time and scenarios have a dictionary.
export RUSTFLAGS="--cfg fuzzing -Cpasses=sancov-module \
-Cllvm-args=-sanitizer-coverage-level=4 \
-Cllvm-args=-sanitizer-coverage-inline-8bit-counters \
-Cllvm-args=-sanitizer-coverage-pc-table"
host=$(rustc -vV | sed -n 's/^host: //p')
# With an explicit target, build scripts and macros are not instrumented.
cargo build --quiet --release --manifest-path fuzz/Cargo.toml --target-dir target/fuzz \
    --target "$host" --bin "$target"

corpus=${TAILBACK_CORPUS:-target/fuzz/corpus}/$target
mkdir -p "$corpus" target/fuzz/artifacts
exec "target/fuzz/$host/release/$target" -max_total_time="$seconds" -timeout=20 -rss_limit_mb=4096 \
    -artifact_prefix="target/fuzz/artifacts/$target-" "$@" "$corpus" "fuzz/seeds/$target"
