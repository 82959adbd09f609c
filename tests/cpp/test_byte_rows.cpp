// Kernel values in bytes: which rows have a step, and every instruction set of this machine against double precision.
#include "byte_rows.hpp"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <string>
#include <vector>

#include "check.hpp"
#include "problems.hpp"

using namespace everlearn;
using namespace problems;

namespace {

/// Rows of whole numbers, 0 to `most`, times a step.
template <class T>
Table<T> in_steps(Random& random, std::size_t n, std::size_t width, std::size_t most, double step) {
  std::vector<T> values(n * width);
  for (auto& value : values) value = static_cast<T>(static_cast<double>(below(random, most + 1)) * step);
  return {n, width, values};
}

template <class T>
double step_of(std::vector<T> values) {
  const std::size_t n = values.size();
  return byte_step(Table<T>(n, 1, std::move(values)).dense());
}

template <class T>
void test_step() {
  check::context = "step";
  Random random(1);
  for (const double step : {1.0, 1.0 / 255, 0.1, 1.0 / 16}) {
    const auto table = in_steps<T>(random, 300, 20, 255, step);
    CHECK_NEAR(byte_step(table.dense()), step, 1e-6 * step);
    CHECK_NEAR(byte_step(table.sparse()), step, 1e-6 * step);
  }
  CHECK_NEAR(step_of<T>({0, 6, 9, 15, 600}), 3, 1e-6);  // the smallest value is two steps
  CHECK_NEAR(step_of<T>({0, 1, 0}), 1, 1e-6);
  CHECK(step_of<T>({0, 0}) == 0);
  CHECK(step_of<T>({0, 1, -1}) == 0);
  CHECK(step_of<T>({1, 2, T(2.001)}) == 0);
  CHECK(step_of<T>({1, 256}) == 0);
  CHECK(step_of<T>({1, 1e30f}) == 0);
  CHECK(step_of<T>({T(1e9), T(1e9 + 256), T(1e9 + 512)}) == 0);  // times: all are about one step, and differ
  CHECK_NEAR(step_of<T>({T(1e9), T(1e9), 0, T(2e9)}), 1e9, 1e3);
  CHECK(step_of<T>({0, T(1e-37f), T(2e-37f)}) == 0);
  CHECK(step_of<T>({0, T(1e36f), T(2e36f)}) == 0);
  auto late = in_steps<T>(random, 1 << 17, 1, 255, 1);
  late.values.back() = T(0.5);  // behind the sample
  CHECK(byte_step(late.dense()) == 0);
  const auto wide = in_steps<T>(random, 2, kMostByteColumns + 1, 3, 1);
  CHECK(byte_step(wide.dense()) == 0);
  std::vector<T> few(800);
  few[3] = 2;
  CHECK(byte_step(Table<T>(10, 80, few).sparse()) == 0);
  CHECK(byte_step(Table<T>(10, 80, few).dense()) > 0);
}

/// Sources and targets of all small shapes against exp(-gamma |a - b|^2) in double precision.
template <class T>
void test_values(const ByteLoops& loops, std::size_t width, std::size_t most, double step) {
  check::context = std::string(loops.name) + ", " + std::to_string(width) + " columns";
  Random random(width);
  constexpr std::size_t n = 40;
  const auto table = in_steps<T>(random, n, width, most, step);
  const double gamma = 3 / (static_cast<double>(width) * std::pow(static_cast<double>(most) * step, 2));
  for (const bool sparse : {false, true}) {
    const Block block = sparse ? table.sparse() : table.dense();
    const ByteRows rows(block, step, gamma, loops);
    for (const std::size_t m : {1, 3, 12, 13, 25}) {
      for (const std::size_t targets : {1, 16, 33}) {
        const Slots from = first(m), to = first(targets);
        const std::size_t room = round_up(targets, kPanel);
        std::vector<float> values(m * room, -1);
        std::vector<float*> out(m);
        for (std::size_t r = 0; r < m; ++r) out[r] = values.data() + r * room;
        rows.evaluate(rows.sources(from), rows.targets(to), out.data());
        for (std::size_t r = 0; r < m; ++r)
          for (std::size_t t = 0; t < targets; ++t) {
            double apart = 0;
            for (std::size_t k = 0; k < width; ++k)
              apart += std::pow(double(table.values[r * width + k]) - double(table.values[t * width + k]), 2);
            CHECK_NEAR(out[r][t], std::exp(-gamma * apart), 2e-6);
          }
      }
    }
  }
}

/// The largest distance that there is: all bits of the sums are used.
void test_extremes(const ByteLoops& loops) {
  check::context = std::string(loops.name) + ", extremes";
  constexpr std::size_t width = kMostByteColumns;
  std::vector<float> values(2 * width, 0);
  std::fill_n(values.begin(), width, 255.0f);
  const Table<float> table(2, width, std::move(values));
  const double gamma = 1 / (255.0 * 255.0 * width);
  const ByteRows rows(table.dense(), 1, gamma, loops);
  std::vector<float> room(2 * kPanel);
  float* const out[] = {room.data(), room.data() + kPanel};
  rows.evaluate(rows.sources(first(2)), rows.targets(first(2)), out);
  CHECK(out[0][0] == 1.0f && out[1][1] == 1.0f);
  CHECK_NEAR(out[0][1], std::exp(-1), 1e-6);
  CHECK_NEAR(out[1][0], std::exp(-1), 1e-6);
}

}  // namespace

int main() {
  test_step<float>();
  test_step<double>();
  for (const char* name : {"baseline", "vnni"})
    if (const ByteLoops* loops = byte_loops_named(name)) {
      std::printf("loops: %s\n", name);
      for (const std::size_t width : {1, 4, 7, 64, 130}) {
        test_values<float>(*loops, width, 255, 1.0 / 255);
        test_values<double>(*loops, width, 16, 1.0);
      }
      test_extremes(*loops);
    }
  return check::summary();
}
