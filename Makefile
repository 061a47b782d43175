# Everything here works on a fresh Debian 12, as root or with sudo.
.PHONY: help run build install test check asan tsan soak compat bench generate clean
.DEFAULT_GOAL := help

help:
	@echo 'make run    install what is needed, build, and run a search with a live display'
	@echo 'make build  build/release/cadre, the library and the Python package'
	@echo 'make install  the programs, the library and the Python package below PREFIX=/usr/local'
	@echo 'make test   install everything, build, run all tests'
	@echo 'make check  format, clang-tidy on changed files, layers, headers that compile alone, generated files'
	@echo 'make asan   all tests under address and undefined-behaviour sanitizers'
	@echo 'make tsan   all tests under the thread sanitizer'
	@echo 'make soak   fuzzers (SOAK_SECONDS=60 each, SOAK_LIVE_SECONDS=600 on a live cluster), SEEDS=2000 of the'
	@echo '            simulated cluster, planted errors, and long simulations'
	@echo 'make compat programs of an older version and of this one in one cluster'
	@echo 'make bench  benchmarks'

run: build
	@tools/run_example
	@echo
	@echo 'Where to look next:'
	@echo '  docs/getting-started.md  a cluster of your own: build/release/cadre up'
	@echo '  docs/experiments.md      a search of your own; more in examples/experiments'
	@echo '  docs/remote.md           your own classes on a cluster, in C++ and Python'
	@echo '  docs/components.md       groups of processes that exchange messages'
	@echo '  docs/planner.md          how the scheduler decides, and how to try it'

build:
	@tools/install_packages run
	@tools/build release cadre cadre_library cadre_python

install: build
	@tools/install

test:
	@tools/run_tests release

asan:
	@tools/run_tests debug

tsan:
	@tools/run_tests tsan

soak:
	@SEEDS='$(SEEDS)' tools/soak

compat:
	@tools/compat

check:
	@tools/check

bench: build
	@tools/bench

generate: build
	tools/generate

clean:
	rm -rf build
