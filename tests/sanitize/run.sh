#!/bin/sh
# The C++ tests, and random calls of every learner from Python, under the address and undefined-behavior sanitizers.
# Usage, from the root of the repository: sh tests/sanitize/run.sh VENV [options of random_calls.py]
set -eu
venv=$1
shift
bin=$(cd "$venv/bin" && pwd)
sanitizers=address,undefined
export ASAN_OPTIONS=strict_string_checks=1 UBSAN_OPTIONS=print_stacktrace=1

configure() { # compiler, build folder, more options
  compiler=$1 folder=$2
  shift 2
  "$bin/cmake" -S . -B "$folder" -G Ninja -DCMAKE_MAKE_PROGRAM="$bin/ninja" -DCMAKE_CXX_COMPILER="$compiler" \
    -DEVERLEARN_SANITIZE=$sanitizers -DEVERLEARN_WERROR=ON "$@" >/dev/null
  "$bin/cmake" --build "$folder"
}

for compiler in g++ clang++; do
  if ! command -v $compiler >/dev/null; then
    echo "sanitize: $compiler is not installed; the C++ tests do NOT run under its sanitizers"
    continue
  fi
  echo "sanitize: C++ tests, $($compiler --version | head -n 1)"
  configure $compiler build/sanitize-$compiler -DEVERLEARN_PYTHON=OFF -DEVERLEARN_TESTS=ON
  # GCC's stack frames for this check are aligned to less than a 64-byte vector needs, so that a plain store faults.
  after_return=0
  if [ $compiler = clang++ ]; then after_return=1; fi
  ASAN_OPTIONS=$ASAN_OPTIONS:detect_stack_use_after_return=$after_return \
    "$bin/ctest" --test-dir build/sanitize-$compiler --output-on-failure
done

if ! command -v g++ >/dev/null; then
  echo "sanitize: g++ is not installed; the calls from Python do NOT run under sanitizers"
  exit 0
fi
echo "sanitize: calls from Python, $(g++ --version | head -n 1)"
folder=build/sanitize-python
configure g++ $folder -DPython_EXECUTABLE="$bin/python" -Dnanobind_DIR="$("$bin/python" -m nanobind --cmake_dir)"
# The package with the sanitized module in it. -S keeps the editable install, which has the plain one, out of the way.
rm -rf $folder/package && mkdir -p $folder/package/everlearn
for path in src/everlearn/*; do ln -s "$PWD/$path" $folder/package/everlearn/; done
ln -s "$PWD"/$folder/_core*.so $folder/package/everlearn/
site=$("$bin/python" -c 'import sysconfig; print(sysconfig.get_path("platlib"))')
# Python itself is not instrumented: the runtime comes first of all libraries, and what Python still holds at its end is
# no leak of ours. PYTHONMALLOC, because Python's own pools would hide errors.
libraries=
for library in libasan.so libubsan.so libstdc++.so; do libraries="$libraries $(g++ -print-file-name=$library)"; done
env LD_PRELOAD="${libraries# }" ASAN_OPTIONS=$ASAN_OPTIONS:detect_leaks=0 PYTHONMALLOC=malloc \
  OPENBLAS_NUM_THREADS=1 OMP_NUM_THREADS=1 PYTHONPATH="$folder/package:$site" \
  "$bin/python" -S tests/sanitize/random_calls.py "$@"
