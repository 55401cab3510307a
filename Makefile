# The targets that people and CI use. Everything is built into .venv and target.

PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
RUST := $(shell find crates \( -path '*/tests' -o -name 'tests.rs' \) -prune -o \( -name '*.rs' -o -name 'Cargo.toml' -o -name 'clippy.toml' \) -print 2>/dev/null) Cargo.toml Cargo.lock

LAB := web/build.mjs web/exhibits.json web/tsconfig.json $(wildcard web/src/*) $(wildcard python/tailback/examples/*.toml) $(wildcard python/tailback/teaching/lessons/*/*)

# cargo and maturin have to use the same interpreter; otherwise each of them
# discards what the other has built.
export PYO3_PYTHON := $(CURDIR)/$(BIN)/python
export VIRTUAL_ENV := $(CURDIR)/$(VENV)
unexport PYTHONHOME
export PIP_DISABLE_PIP_VERSION_CHECK := 1
export PIP_QUIET := 1

# `make soak` tests with random input and killed commands, for an hour by default.
# SOAK_SECONDS=N sets another duration.
SOAK_SECONDS ?= 3600

.PHONY: build wheel wheels cross-wheels wheel-arm targets test-arm test-windows test-wasm deb demo test soak coverage mutants bench bench-kernel bench-lab lab header msrv packages recipes docs pages fmt lint
.DEFAULT_GOAL := build

build: $(VENV)/.built

# Builds a wheel for every Python from 3.11 on, and an sdist, in dist. Empties dist first.
wheel: $(VENV)/.dev build
	@rm -rf data/data/share
	$(BIN)/python scripts/manual.py data/data/share
	$(BIN)/python python/tailback/plugins/shipping.py
	@rm -f python/tailback/interop/lab/single.html
	@if [ -f web/dist/single.html ]; then $(MAKE) --no-print-directory lab && \
		cp web/dist/single.html python/tailback/interop/lab/; \
	else echo "the wheel has no laboratory; run make lab first" >&2; fi
	@rm -rf dist
	$(BIN)/maturin build --release --strip --quiet --out dist
	$(BIN)/maturin sdist --out dist > /dev/null
	$(BIN)/auditwheel show dist/*.whl
	$(BIN)/python scripts/wheels.py $(if $(wildcard web/dist/single.html),,--no-laboratory) dist/*.whl
	@ls dist

# Checks whether the sources of the simulator and its binding compile for other systems. Nothing is
# linked.
TARGETS := aarch64-unknown-linux-gnu aarch64-apple-darwin x86_64-apple-darwin x86_64-pc-windows-gnu
targets:
	rustup target add $(TARGETS)
	@set -e; for target in $(TARGETS); do echo $$target; \
		PYO3_CROSS=1 PYO3_NO_PYTHON=1 cargo check --quiet --package tailback-python --target $$target; done

# Wheels for all systems in dist, cross-built by zig. Only the wheel for Linux on x86-64 has the
# guest of the kernel engine. docs/contributing/platforms.md says which of them are tested where.
CROSS := target/cross
wheels: wheel
	@$(MAKE) --no-print-directory cross-wheels

CROSS_WHEELS := $(TARGETS)
cross-wheels: $(VENV)/.dev build
	$(BIN)/pip install --no-deps -r requirements-wheels.txt
	@rm -rf target/tree
	PATH="$(CURDIR)/$(BIN):$$PATH" CARGO_TARGET_DIR=$(abspath $(CROSS)) sh scripts/cross.sh $(CROSS_WHEELS)
	$(BIN)/python scripts/wheels.py $(if $(wildcard web/dist/single.html),,--no-laboratory) dist/*.whl
	@ls dist

wheel-arm: CROSS_WHEELS := aarch64-unknown-linux-gnu
wheel-arm: cross-wheels

# A Debian source package that builds without a network, and the package that it builds, in dist.
deb: $(VENV)/.dev
	@rm -rf target/deb
	PATH="$(CURDIR)/$(BIN):$$PATH" sh scripts/deb.sh
	@ls dist

# Checks the recipes for conda, Homebrew and containers. It builds nothing.
recipes: $(VENV)/.dev
	$(BIN)/pip install --no-deps -r requirements-recipes.txt
	PATH="$(CURDIR)/$(BIN):$$PATH" $(BIN)/python scripts/recipes.py

# Runs the wheel for Windows in dist under Wine, with a Python for Windows from Maven Central.
test-windows: $(VENV)/.dev
	$(BIN)/python scripts/wine.py dist/*win_amd64.whl

# Checks whether results are the same bytes on ARM: runs the guard's scenarios under qemu-user
# (qemu-user-static).
test-arm: $(VENV)/.dev
	$(BIN)/pip install --no-deps -r requirements-wheels.txt
	rustup target add aarch64-unknown-linux-musl
	PATH="$(CURDIR)/$(BIN):$$PATH" CARGO_TARGET_DIR=$(CROSS) \
		CARGO_TARGET_AARCH64_UNKNOWN_LINUX_MUSL_RUNNER=qemu-aarch64-static \
		cargo-zigbuild test --release --package tailback-run --test guarded \
		--target aarch64-unknown-linux-musl

# Checks whether transport stacks give the same bytes in WebAssembly as on this machine.
# Needs node and clang.
WASM_STACKS := smoltcp quinn
# The test looks for the files there, too. cargo runs in the folder of a stack, because it reads
# .cargo/config.toml only there.
STACKS := $(abspath $(or $(CARGO_TARGET_DIR),target))/stacks
test-wasm: build
	rustup target add wasm32-unknown-unknown
	@set -e; for stack in $(WASM_STACKS); do echo $$stack; cd $(CURDIR)/stacks/$$stack; \
		build="cargo build --locked --release --quiet --no-default-features --example json \
			--target-dir $(STACKS)"; \
		$$build; cp $(STACKS)/release/examples/json $(STACKS)/$$stack-json; \
		$$build --target wasm32-unknown-unknown; \
		cp $(STACKS)/wasm32-unknown-unknown/release/examples/json.wasm $(STACKS)/$$stack.wasm; \
	done
	$(BIN)/pytest tests/test_sim_wasm.py

demo: build
	$(BIN)/tailback reproduce dctcp-internet-2014 --quick

test: lint build
	@sh scripts/tshark.sh
	@if sh scripts/lab.sh && $(MAKE) --no-print-directory web/node_modules/.package-lock.json; then \
		$(MAKE) --no-print-directory lab; \
	else echo "the tests of the laboratory are skipped" >&2; fi
	cargo test --workspace --quiet
	$(BIN)/python scripts/generate.py --check
	@$(MAKE) --no-print-directory docs
	$(BIN)/pytest

soak: $(VENV)/.dev build
	sh scripts/soak.sh $(SOAK_SECONDS)

coverage:
	$(PYTHON) scripts/coverage.py

# Takes hours; `MODULE=...`, `SAMPLE=N` and `SEED=N` select a part.
mutants: build $(VENV)/.dev
	PYTHONPATH=scripts $(PYTHON) -m mutants $(MODULE) $(if $(SEED),--seed $(SEED)) \
		$(if $(SAMPLE),--sample $(SAMPLE))

bench: build
	$(BIN)/python benches/bench.py
	$(BIN)/python benches/instructions.py

bench-kernel: build
	$(BIN)/tailback kernel build
	$(BIN)/python benches/kernel.py

# Builds the laboratory in the browser, web/dist. Optional: no other target needs
# it.
lab: web/dist/single.html

web/node_modules/.package-lock.json: web/package.json web/package-lock.json
	@sh scripts/lab.sh
	@cd web && npm ci --ignore-scripts --no-audit --no-fund --loglevel=error

web/dist/single.html: web/node_modules/.package-lock.json $(RUST) $(LAB)
	@sh scripts/lab.sh
	cargo build --profile wasm --target wasm32-unknown-unknown --package tailback-wasm --quiet
	cargo build --profile wasm --target wasm32-unknown-unknown --package tailback-sim --example json --quiet
	@cd web && node_modules/.bin/tsc
	@node web/build.mjs

bench-lab: build lab
	$(BIN)/python benches/lab.py

# Checks whether the library compiles with the oldest Rust that its packages
# state.
MSRV := $(shell sed -n 's/^rust-version = "\(.*\)"/\1/p' Cargo.toml)
msrv:
	rustup toolchain install $(MSRV) --profile minimal
	cargo +$(MSRV) check --package tailback-sim --target-dir target/msrv

# Checks whether each package of the library compiles from its own archive alone, and from the
# archives of the packages that it depends on. Nothing is published.
LIBRARY := tailback-record tailback-engine tailback-scenario tailback-sim
packages:
	cargo package --locked --allow-dirty --target-dir target/packages $(addprefix --package ,$(LIBRARY))

# Renews the header of crates/c. cbindgen is compiled into target/tools.
CBINDGEN := target/tools/bin/cbindgen
header:
	@test -x $(CBINDGEN) || cargo install cbindgen --version 0.29.2 --locked --quiet --root target/tools
	$(CBINDGEN) --quiet --config crates/c/cbindgen.toml --output crates/c/tailback.h crates/c/src/lib.rs

# Builds the site from stored results: build/docs/index.html opens without a network.
docs: $(VENV)/.dev build
	$(BIN)/sphinx-build -W --keep-going --jobs 2 --quiet -d build/doctrees docs build/docs
	@echo build/docs/index.html

# Renews the generated pages. Experiments run again unless their results are stored.
pages: build
	$(BIN)/python scripts/generate.py

fmt: $(VENV)/.dev
	cargo fmt --all
	$(BIN)/ruff check --quiet --fix .
	$(BIN)/ruff format --quiet .

lint: $(VENV)/.dev
	cargo fmt --all --check
	cargo clippy --workspace --all-targets --quiet -- -D warnings
	$(BIN)/ruff check --quiet .
	$(BIN)/ruff format --quiet --check .
	$(BIN)/mypy

# Prints in one line what is missing on this machine, before building anything.
$(VENV)/bin/python:
	@PYTHON="$(PYTHON)" sh scripts/doctor.sh
	$(PYTHON) -m venv $(VENV)

$(VENV)/.requirements: requirements.txt | $(VENV)/bin/python
	$(BIN)/pip install --no-deps -r requirements.txt
	@touch $@

$(VENV)/.dev: requirements-dev.txt $(VENV)/.requirements
	$(BIN)/pip install --no-deps -r requirements-dev.txt
	@touch $@

$(VENV)/.built: $(VENV)/.requirements pyproject.toml $(RUST)
	@PYTHON="$(PYTHON)" sh scripts/doctor.sh
	@# Dated to the start of the build: a file edited meanwhile is built the next time.
	@touch $@.begun
	@mkdir -p data/data/share
	$(BIN)/maturin develop --release --quiet
	cargo build --release --quiet --package tailback-guest --bin tailback-guest
	@# Stripped of symbols, because every guest reads it again.
	install --strip target/release/tailback-guest python/tailback/kernel/tailback-guest
	@# Its hash, to check it when it is used.
	sha256sum < python/tailback/kernel/tailback-guest | cut -d ' ' -f 1 \
		> python/tailback/kernel/tailback-guest.sha256
	@mv $@.begun $@
