#!/bin/sh
# The CUDA backend on a machine with a GPU: run.sh [build] [test] [memcheck] [racecheck], all of them by default.
#
# CUDA_ARCHITECTURES  what to compile for, such as 90-real; by default all that are shipped
# SECONDS_EACH        the limit of each case under a sanitizer, 600 by default: racecheck is slow
# AT_ONCE             cases at the same time, 1 by default
# LOGS                a folder for the logs of the sanitizers, build/cuda/logs by default
set -eu
cd "$(dirname "$0")/../.."
python=${PYTHON:-python3}
package="$PWD/build/cuda/package"
export PYTHONPATH="$package${PYTHONPATH:+:$PYTHONPATH}" EVERLEARN_TEST_CUDA=1

# Both modules, and a package of them that no installation has to know of.
build() {
  cmake -S . -B build/cuda -G Ninja -DEVERLEARN_CUDA=ON -Dnanobind_DIR="$($python -m nanobind --cmake_dir)" \
    -DPython_EXECUTABLE="$(command -v "$python")" ${CUDA_ARCHITECTURES:+-DCMAKE_CUDA_ARCHITECTURES=$CUDA_ARCHITECTURES}
  cmake --build build/cuda
  rm -rf "$package"
  mkdir -p "$package/everlearn-0.dist-info"
  cp -r src/everlearn "$package/"
  rm -f "$package"/everlearn/*.so
  cp build/cuda/_core*.so build/cuda/_cuda*.so "$package/everlearn/"
  version=$(sed -n 's/^version = "\(.*\)"/\1/p' pyproject.toml)
  printf 'Metadata-Version: 2.1\nName: everlearn\nVersion: %s\n' "$version" > "$package/everlearn-0.dist-info/METADATA"
}

run_tests() {
  $python -m pytest -q -c /dev/null --rootdir=. -p no:cacheprovider --confcutdir=tests/cuda tests/cuda
}

# Each case is a process with a limit of its own, so that one that is slow does not hide the others.
sanitize() {
  if ! command -v compute-sanitizer > /dev/null; then
    echo "compute-sanitizer is not installed: no $1"
    [ "$all" = yes ]
    return
  fi
  logs=${LOGS:-build/cuda/logs}
  mkdir -p "$logs"
  cases=$($python -c 'import sys; sys.path.insert(0, "tests/cuda"); import small_fits; print(*range(len(small_fits.CASES)))') || return 1
  [ -n "$cases" ] || return 1
  # shellcheck disable=SC2016
  printf '%s\n' $cases | xargs -P "${AT_ONCE:-1}" -I '{}' sh -c '
    log=$1/$2-$3.log start=$(date +%s) found=0
    timeout "$5" compute-sanitizer --tool "$2" --error-exitcode 9 "$4" tests/cuda/small_fits.py "$3" > "$log" 2>&1 ||
      found=$?
    summary=$(sed -n "s/^=* *\(.*SUMMARY.*\)/\1/p" "$log" | tail -n 1)
    [ $found -eq 124 ] && summary="not finished in $5 s"
    echo "$2, case $3: ${summary:-no summary}, exit code $found, $(($(date +%s) - start)) s"
    [ $found -eq 0 ] || { tail -n 20 "$log"; exit 1; }
  ' sanitizer "$logs" "$1" '{}' "$python" "${SECONDS_EACH:-600}"
}

all=no
[ $# -gt 0 ] || { all=yes; set -- build test memcheck racecheck; }
failed=0
for part in "$@"; do
  case $part in
    build) build ;;
    test) run_tests || failed=1 ;;
    memcheck | racecheck) sanitize "$part" || failed=1 ;;
    *) echo "run.sh: unknown part $part; choose from build, test, memcheck, racecheck" >&2 && exit 2 ;;
  esac
done
exit $failed
