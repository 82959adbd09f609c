// The passes over gradients, for every instruction set of this machine.
#include <initializer_list>
#include <limits>
#include <string>
#include <vector>

#include "arch/loops.hpp"
#include "check.hpp"
#include "problems.hpp"

using namespace everlearn;
using namespace problems;

namespace {

constexpr double kInf = std::numeric_limits<double>::infinity();

/// n values that may be read, but must not count, up to the next multiple of kPad.
template <class T, class F>
std::vector<T> padded(std::size_t n, T behind, F&& value) {
  std::vector<T> out(round_up(n, kPad), behind);
  for (std::size_t s = 0; s < n; ++s) out[s] = static_cast<T>(value());
  return out;
}

Extremes plain_extremes(const std::vector<double>& g, const std::vector<std::uint8_t>& gate, std::size_t n) {
  Extremes ends{-kInf, kInf, -1, -1};
  for (std::size_t s = 0; s < n; ++s) {
    if ((gate[s] & kMayRise) && g[s] > ends.high) ends.high = g[s], ends.up = static_cast<std::int64_t>(s);
    if ((gate[s] & kMayFall) && g[s] < ends.low) ends.low = g[s], ends.down = static_cast<std::int64_t>(s);
  }
  return ends;
}

bool operator==(const Extremes& a, const Extremes& b) {
  return a.high == b.high && a.low == b.low && a.up == b.up && a.down == b.down;
}

void test_passes(const Loops& loops, std::size_t n, int gates, Random& random) {
  check::context = std::string(loops.name) + " passes n " + std::to_string(n) + " gates " + std::to_string(gates);
  // Multiples of a quarter: every sum below is exact, so that ties are ties and order does not matter.
  const auto coarse = [&](std::size_t reach) {
    return [&random, reach] { return 0.25 * (double(below(random, 2 * reach + 1)) - double(reach)); };
  };
  const auto fine = [&] { return uniform(random, -1, 1); };
  const auto gate = padded<std::uint8_t>(n, 0, [&] { return gates < 4 ? std::size_t(gates) : below(random, 4); });
  const double step = 0.5;
  auto g = padded<double>(n, 1e300, coarse(4));
  const auto ki = padded<float>(n, 1e30f, coarse(4)), kj = padded<float>(n, -1e30f, coarse(4));
  CHECK(loops.scan(g.data(), gate.data(), n) == plain_extremes(g, gate, n));
  auto moved = g;
  for (std::size_t s = 0; s < n; ++s) moved[s] -= step * (double(ki[s]) - double(kj[s]));
  const Extremes ends = loops.step(g.data(), gate.data(), ki.data(), kj.data(), step, n);
  CHECK(same_bits(g.data(), moved.data(), n));
  CHECK(ends == plain_extremes(moved, gate, n));

  double plain = 0, plain_fine = 0;
  const auto real = padded<float>(n, 1e30f, fine);
  const auto weights = padded<double>(n, 1e300, fine);
  for (std::size_t s = 0; s < n; ++s) plain += ki[s] * moved[s], plain_fine += real[s] * weights[s];
  CHECK(loops.dot(ki.data(), g.data(), n) == plain);
  CHECK_NEAR(loops.dot(real.data(), weights.data(), n), plain_fine, 1e-12);

  for (const std::size_t count : {0, 1, 3, 4, 5, 9}) {
    std::vector<std::vector<float>> k;
    std::vector<const float*> rows;
    std::vector<double> steps;
    for (std::size_t r = 0; r < count; ++r) {
      k.push_back(padded<float>(n, 1e30f, coarse(8)));
      steps.push_back(coarse(8)());
    }
    for (const auto& row : k) rows.push_back(row.data());
    const std::size_t begin = below(random, n + 1), end = begin + below(random, n - begin + 1);
    auto updated = padded<double>(n, 1e300, coarse(8));
    auto want = updated;
    for (std::size_t s = begin; s < end; ++s)
      for (std::size_t r = 0; r < count; ++r) want[s] -= steps[r] * k[r][s];
    loops.rank_update(updated.data(), rows.data(), steps.data(), count, begin, end);
    CHECK(same_bits(updated, want));
    // A range in two pieces, as threads share it out, rounds as in one.
    for (auto& row : k) row = padded<float>(n, 1e30f, fine);
    for (std::size_t r = 0; r < count; ++r) rows[r] = k[r].data(), steps[r] = fine();
    auto whole = weights, pieces = weights;
    const std::size_t cut = below(random, n / kPad + 1) * kPad;
    loops.rank_update(whole.data(), rows.data(), steps.data(), count, 0, n);
    loops.rank_update(pieces.data(), rows.data(), steps.data(), count, cut, n);
    loops.rank_update(pieces.data(), rows.data(), steps.data(), count, 0, cut);
    CHECK(same_bits(whole, pieces));
    for (std::size_t s = 0; s < n; s += 5) {
      double value = weights[s];
      for (std::size_t r = 0; r < count; ++r) value -= steps[r] * k[r][s];
      CHECK_NEAR(whole[s], value, 1e-13);
    }
  }

  // Curvatures 4, 2, 1, 1/2 and none at all.
  const float choices[] = {-1.0f, 0.0f, 0.5f, 0.75f, 1.0f};
  const auto diagonal = padded<float>(n, 1.0f, [] { return 1; });
  for (const std::size_t kinds : {5, 4, 1}) {
    const auto near = padded<float>(n, 0.0f, [&] { return choices[below(random, kinds)]; });
    for (const double high : {0.5, -100.0, 100.0}) {
      std::int64_t want = -1;
      double most = 0;
      for (std::size_t s = 0; s < n; ++s) {
        const double fall = high - g[s], gain = fall * fall / std::max(2.0 - 2.0 * double(near[s]), 1e-12);
        if ((gate[s] & kMayFall) && fall > 0 && gain > most) most = gain, want = static_cast<std::int64_t>(s);
      }
      CHECK(loops.second_order(g.data(), gate.data(), near.data(), diagonal.data(), 1.0, high, n) == want);
    }
  }
}

/// Values that move without being computed with.
void test_moves(const Loops& loops, Random& random) {
  float next = 0;
  const auto number = [&] { return ++next; };
  for (const std::size_t rows : {0, 1, 7, 16, 33, 128})
    for (const std::size_t columns : {0, 1, 15, 16, 50}) {
      check::context = std::string(loops.name) + " transpose " + std::to_string(rows) + " x " + std::to_string(columns);
      const std::size_t from_stride = columns + 3, to_stride = rows + 2;
      const auto from = padded<float>(rows * from_stride, -1.0f, number);
      std::vector<float> to(columns * to_stride, -7.0f), want = to;
      for (std::size_t r = 0; r < rows; ++r)
        for (std::size_t c = 0; c < columns; ++c) want[c * to_stride + r] = from[r * from_stride + c];
      loops.transpose(from.data(), from_stride, rows, columns, to.data(), to_stride);
      CHECK(same_bits(to, want));
    }
  for (std::size_t n = 0; n < 100; ++n)
    for (const std::size_t gap : {0, 1, 20}) {  // between the first value and where it goes
      check::context = std::string(loops.name) + " compress " + std::to_string(n) + " gap " + std::to_string(gap);
      auto values = padded<float>(gap + n, -1.0f, number);
      const auto stays = padded<std::uint8_t>(n, 1, [&] { return below(random, 3) > 0; });
      std::vector<float> want;
      for (std::size_t s = 0; s < n; ++s)
        if (stays[s]) want.push_back(values[gap + s]);
      const std::vector<float> behind(values.begin() + static_cast<std::ptrdiff_t>(gap + n), values.end());
      CHECK(loops.compress(values.data() + gap, stays.data(), n, values.data()) == want.size());
      CHECK(same_bits(values.data(), want.data(), want.size()));
      CHECK(same_bits(values.data() + gap + n, behind.data(), behind.size()));
    }
}

}  // namespace

int main() {
  for (const char* name : {"baseline", "avx2", "avx512"}) {
    const Loops* loops = loops_named(name);
    if (loops == nullptr) continue;
    Random random(3);
    for (std::size_t n = 0; n <= 200; n = n < 70 ? n + 1 : n + 13)
      for (int gates = 0; gates < 7; ++gates) test_passes(*loops, n, gates, random);
    test_passes(*loops, 1500, 4, random);
    test_moves(*loops, random);
  }
  return check::summary();
}
