#!/bin/sh
# The C++ tests that use threads, under the thread sanitizer.
# Usage, from the root of the repository: sh tests/sanitize/threads.sh VENV
set -eu
bin=$(cd "$1/bin" && pwd)
# GCC's runtime of the same age reports std::shared_mutex and condition variables that Clang's knows.
compiler=g++
if command -v clang++ >/dev/null; then compiler=clang++; fi
echo "tsan: $($compiler --version | head -n 1)"
folder=build/tsan-$compiler
"$bin/cmake" -S . -B $folder -G Ninja -DCMAKE_MAKE_PROGRAM="$bin/ninja" -DCMAKE_CXX_COMPILER=$compiler \
  -DEVERLEARN_SANITIZE=thread -DEVERLEARN_WERROR=ON -DEVERLEARN_PYTHON=OFF -DEVERLEARN_TESTS=ON >/dev/null
"$bin/cmake" --build $folder --target test_threads test_expansion test_working_set test_one_pass test_local
TSAN_OPTIONS=halt_on_error=1 "$bin/ctest" --test-dir $folder --output-on-failure -R '^(threads|expansion|working_set|one_pass|local)$'
