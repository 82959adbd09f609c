#!/bin/sh
# Builds both modules into build/cuda and runs the tests of the CUDA backend, then its sanitizers.
set -eu
cd "$(dirname "$0")/../.."
python=${PYTHON:-python3}
cmake -S . -B build/cuda -G Ninja -DEVERLEARN_CUDA=ON -Dnanobind_DIR="$($python -m nanobind --cmake_dir)" \
  -DPython_EXECUTABLE="$(command -v "$python")" ${CUDA_ARCHITECTURES:+-DCMAKE_CUDA_ARCHITECTURES=$CUDA_ARCHITECTURES}
cmake --build build/cuda
rm -rf build/cuda/package
mkdir -p build/cuda/package/everlearn-0.dist-info
cp -r src/everlearn build/cuda/package/
cp build/cuda/_core*.so build/cuda/_cuda*.so build/cuda/package/everlearn/
version=$(sed -n 's/^version = "\(.*\)"/\1/p' pyproject.toml)
printf 'Metadata-Version: 2.1\nName: everlearn\nVersion: %s\n' "$version" > build/cuda/package/everlearn-0.dist-info/METADATA
export PYTHONPATH="$PWD/build/cuda/package" EVERLEARN_TEST_CUDA=1
$python -m pytest -q -c /dev/null --rootdir=. -p no:cacheprovider --confcutdir=tests/cuda tests/cuda
if command -v compute-sanitizer > /dev/null; then
  for tool in memcheck racecheck; do
    compute-sanitizer --tool $tool --error-exitcode 1 "$python" tests/cuda/small_fits.py
  done
else
  echo "compute-sanitizer is not installed: memory errors and races were not looked for"
fi
