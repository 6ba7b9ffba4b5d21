# SPDX-License-Identifier: MIT
# A thin front to CMake. `make help` lists the targets; each builds what it needs first.

.DEFAULT_GOAL := help
.NOTPARALLEL:
MAKEFLAGS += --no-print-directory

JOBS         ?= $(shell nproc 2>/dev/null || echo 2)
PREFIX       ?= /usr/local
FUZZ_SECONDS ?= 60
RELEASE      := build/release

# the inner build has its own number of jobs
CMAKE := env -u MAKEFLAGS -u MFLAGS -u MAKELEVEL cmake
CTEST := ctest --output-on-failure --no-tests=error -j $(JOBS)

# configures when needed and builds one preset: everything, or one target of it
define build_preset
@test -e build/$(1)/Makefile || $(CMAKE) --preset $(1)
@$(CMAKE) --build build/$(1) --parallel $(JOBS) $(if $(2),--target $(2))
endef

.PHONY: run build inference test test-faults test-python test-python-asan wheel test-levels test-aarch64 test-device test-cluster device-counts bench bench-report lint format install sanitize valgrind coverage fuzz soak symbols debug clean help packages

run: packages ## install what is missing, build the tool, and run the main job
	$(call build_preset,release,sparc_cli)
	@scripts/run.sh $(RELEASE)

build: packages ## the release build; leaves the tool at build/release/sparc
	$(call build_preset,release)

test: build ## build and run every test
	@$(CTEST) --test-dir $(RELEASE)

test-faults: build ## every allocation and every call on files of the tool's commands fails once
	@SPARC_FAULTS=all $(CTEST) --test-dir $(RELEASE) --timeout 7200 -R '^cli.faults$$'

test-levels: build ## every test once per set of kernels that this machine can run
	@scripts/test-levels.sh $(RELEASE) $(JOBS)

test-python: packages ## build the wheel, install it in an environment without a compiler, and run its tests there
	@scripts/test-python.sh build/python

test-python-asan: packages ## the Python tests against an ASan build of the library, with the sanitizer preloaded
	$(call build_preset,asan)
	@scripts/test-python-asan.sh build/asan

test-device: build ## every gate of the kernels of devices (docs/gpu.md); reports what ran and what was skipped
	@scripts/install-packages.sh device || true
	@scripts/test-device.sh $(RELEASE)

test-cluster: build ## a grid on a real Slurm of this machine and under GNU parallel, runs on ranks killed 20 times (docs/cluster.md)
	@scripts/install-packages.sh cluster || true
	@scripts/test-cluster.sh $(RELEASE)

device-counts: build ## bytes and issue slots per mode of the kernels of devices (docs/gpu.md); needs nvcc and nvdisasm
	@scripts/device-counts.py $(RELEASE) --out docs/gpu
	@scripts/device-bounds.py --out docs/gpu >/dev/null

test-aarch64: packages ## cross-compile for 64-bit ARM; golden vectors, kernel and property tests under qemu
	@scripts/test-aarch64.sh build/aarch64 $(JOBS) || test $$? = 77

inference: ## only a small library that uses trained models, in build/inference (docs/embedding.md)
	$(call build_preset,inference)

bench: build ## measure the kernels
	@$(RELEASE)/sparc bench

bench-report: build ## one page of this machine's figures, bench-report.html, to look at and to send; some ten minutes
	@$(RELEASE)/sparc bench --html bench-report.html limits goals train || test $$? = 1
	@echo "bench-report.html"

wheel: packages ## a Python wheel with the library and the tool inside, in dist/
	@python3 -m pip wheel ./python --no-deps --wheel-dir dist

debug: packages ## the debug build, in build/debug
	$(call build_preset,debug)

lint: build ## clang-format, clang-tidy and cppcheck; any warning fails
	@scripts/install-packages.sh lint
	@scripts/lint.sh $(RELEASE) $(JOBS)

format: ## lay out every C file with clang-format
	@scripts/install-packages.sh lint
	@find include src tests examples \( -name '*.[ch]' -o -name '*.cc' \) -print0 2>/dev/null | xargs -0 clang-format -i

install: build ## install below PREFIX (default /usr/local); DESTDIR is honoured
	@$(CMAKE) --install $(RELEASE) --prefix "$(PREFIX)"
	@if [ -z "$(DESTDIR)" ] && [ "$$(id -u)" = 0 ] && command -v ldconfig >/dev/null; then ldconfig; fi

sanitize: packages ## the tests under AddressSanitizer with UBSan, then under ThreadSanitizer
	$(call build_preset,asan)
	@$(CTEST) --test-dir build/asan
	$(call build_preset,tsan)
	@$(CTEST) --test-dir build/tsan

valgrind: build ## the unit tests that read files or own memory, under valgrind
	@scripts/install-packages.sh valgrind
	@scripts/valgrind.sh $(RELEASE) $(JOBS)

coverage: packages ## the tests with gcov counters, and a table of line coverage
	$(call build_preset,coverage)
	@find build/coverage -name '*.gcda' -delete
	@$(CTEST) --test-dir build/coverage
	@scripts/coverage.sh build/coverage

fuzz: packages ## every fuzz target for FUZZ_SECONDS (default 60)
	@scripts/install-packages.sh fuzz
	$(call build_preset,fuzz)
	@scripts/fuzz.sh build/fuzz $(FUZZ_SECONDS)

soak: build ## for hours: SOAK_EXECUTIONS (1e6) per fuzz target and SOAK_KILLS (1000) kills, resumable; tests/soak/log.tsv
	@scripts/install-packages.sh fuzz
	$(call build_preset,fuzz)
	@scripts/soak.sh $(RELEASE)/sparc build/fuzz

symbols: build ## rewrite tests/exported-symbols.txt from the built library
	@tests/exported-symbols.sh --update $(RELEASE)/libsparc.so

packages: ## install missing Debian packages; silent when there are none
	@scripts/install-packages.sh build

clean: ## remove every build
	rm -rf build

help: ## this list
	@awk -F ':.*## ' '/^[a-z0-9-]+:.*## / { printf "  make %-12s %s\n", $$1, $$2 }' Makefile
