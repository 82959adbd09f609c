# Every target sets up what it needs in .venv; on a fresh machine `make run` and `make test` are enough.
PYTHON ?= python3
VENV   := .venv
BIN    := $(VENV)/bin
NATIVE := $(shell find core CMakeLists.txt pyproject.toml -type f)

.PHONY: run serve test test-cuda test-label-studio lint docs wheel cross bench bench-compare reproduce torture soak fuzz sanitize tsan clean

run: $(VENV)/run.stamp
	$(BIN)/python examples/fraud_stream.py

# A service with rows arriving and a page to answer on, from nothing. `make serve ARGS="--port 0 --colleagues 2"`.
serve: $(VENV)/serve.stamp
	$(BIN)/python examples/serve_demo.py $(ARGS)

# `EVERLEARN_THOROUGH=1 make test` draws three times as many examples for property tests, and kills more often.
test: $(VENV)/browser.stamp
	$(BIN)/cmake -S . -B build/cpp -G Ninja -DCMAKE_MAKE_PROGRAM=$(abspath $(BIN))/ninja \
	  -DEVERLEARN_PYTHON=OFF -DEVERLEARN_TESTS=ON -DEVERLEARN_WERROR=ON
	$(BIN)/cmake --build build/cpp
	$(BIN)/ctest --test-dir build/cpp --output-on-failure
	$(BIN)/python -m pytest -n 2

lint: $(VENV)/lint.stamp
	$(BIN)/ruff check . && $(BIN)/ruff format --check .
	find core tests/cpp -name '*.[ch]pp' -o -name '*.cu' -o -name '*.cuh' | xargs $(BIN)/clang-format --dry-run -Werror
	$(BIN)/mypy

# The site, in build/docs. Needs no network; a warning is an error. Examples that have not changed are not run again.
docs: $(VENV)/docs.stamp
	$(BIN)/python -m sphinx --builder html --fail-on-warning --keep-going --quiet --doctree-dir build/doctrees docs build/docs
	@echo "The site: build/docs/index.html"

# Source distribution and wheel in dist/, repaired by auditwheel, then installed and tried where there is no compiler.
wheel: $(VENV)/release.stamp
	$(BIN)/python tests/packaging/build.py $(ARGS)

# The C++ core for Linux on aarch64 and for macOS, with Zig's compiler; tests run in qemu if it is installed. Minutes.
cross: $(VENV)/cross.stamp
	$(BIN)/python tests/packaging/cross.py $(ARGS)

# The CUDA backend, on a machine with a GPU of compute capability 8.0 or higher, nvcc and this project's test
# requirements; compute-sanitizer, if it is there, looks for memory errors and races.
test-cuda:
	sh tests/cuda/run.sh

# The service beside the real Label Studio, which is installed into an environment of its own (about 1 GB); minutes.
test-label-studio: $(VENV)/test.stamp
	test -x $(VENV)-label-studio/bin/label-studio || { $(PYTHON) -m venv $(VENV)-label-studio && \
	  $(VENV)-label-studio/bin/python -m pip install --quiet "label-studio==1.23.*"; }
	$(BIN)/python tests/serve/with_label_studio.py --label-studio $(VENV)-label-studio/bin/label-studio

# Memory errors and undefined behavior, in the C++ tests and in random calls from Python; about a quarter of an hour.
# `make sanitize ARGS="--seed 1 --calls 50000"` for other calls.
sanitize: $(VENV)/test.stamp
	sh tests/sanitize/run.sh $(VENV) $(ARGS)

# Data races, in the C++ tests that use threads; minutes.
tsan: $(VENV)/test.stamp
	sh tests/sanitize/threads.sh $(VENV)

bench: $(VENV)/bench.stamp
	$(BIN)/python -m benchmarks.lasvm table $(ARGS)

# The claims of the papers and ours: `make reproduce ARGS="run wang-table-1 --quick"`, `make reproduce ARGS=report`.
reproduce: $(VENV)/bench.stamp
	$(BIN)/python -m benchmarks.reproduce $(or $(ARGS),list)

# A short, fixed subset on two commits, interleaved, each built in an environment of its own: `make bench-compare A=main~5 B=main`.
bench-compare: $(VENV)/bench.stamp
	$(BIN)/python -m benchmarks.compare "$(A)" "$(B)" $(ARGS)

# Kills, power cuts, full disks and other processes at a store; minutes. `make torture ARGS="--seed 1"`.
torture: $(VENV)/test.stamp
	cd tests && ../$(BIN)/python -m torture $(ARGS)

# Mutated model files and snapshots: refused, or survived; minutes. `make fuzz ARGS="--count 1000 --seed 1"`.
fuzz: $(VENV)/test.stamp
	cd tests && ../$(BIN)/python -m fuzz $(ARGS)

# Ten million rows through a store on disk; goes on where it was interrupted.
soak: $(VENV)/bench.stamp
	$(BIN)/python -m benchmarks.soak stream $(ARGS)

clean:
	rm -rf $(VENV) $(VENV)-label-studio build dist out docs/gallery docs/reference/generated

$(VENV)/base.stamp: $(NATIVE)
	test -x $(BIN)/python || $(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --upgrade pip setuptools wheel "scikit-build-core>=0.10" "nanobind>=2.8" cmake ninja
	touch $@

# One recipe for all flavors: an editable install with the extra that the target names.
$(VENV)/run.stamp: EXTRA := plot,cli
$(VENV)/serve.stamp: EXTRA := serve
$(VENV)/test.stamp: EXTRA := test
$(VENV)/lint.stamp: EXTRA := lint
$(VENV)/bench.stamp: EXTRA := bench
# dedupe, a peer, needs affinegap: its source distribution holds C for Python 3.10, unless Cython writes it anew.
$(VENV)/bench.stamp: BUILD := cython
$(VENV)/docs.stamp: EXTRA := docs
$(VENV)/release.stamp: EXTRA := release
$(VENV)/cross.stamp: EXTRA := cross
$(VENV)/%.stamp: $(VENV)/base.stamp
	$(if $(BUILD),$(BIN)/python -m pip install --quiet $(BUILD))
	$(BIN)/python -m pip install --quiet --no-build-isolation --editable ".[$(EXTRA)]"
	touch $@

# Pages are tested in a browser. If none can be had, the other tests still run, and their summary says so.
$(VENV)/browser.stamp: $(VENV)/test.stamp
	$(BIN)/python tests/browser.py
	touch $@
