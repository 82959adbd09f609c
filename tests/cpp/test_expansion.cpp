// Row stores and the expansion against models that remember everything and compute it again.
#include <initializer_list>
#include <stdexcept>
#include <string>
#include <vector>

#include "cached_rows.hpp"
#include "check.hpp"
#include "expansion.hpp"
#include "problems.hpp"
#include "score.hpp"
#include "script.hpp"

using namespace everlearn;
using namespace problems;

namespace {

// ------------------------------------------------------------------------------------------------ rows

/// Rows come and go; what is kept must answer as if it had been there alone. Rows stored in 16 bits must answer as if
/// the caller had rounded them.
template <class T>
void test_rows(Layout layout, KernelKind kind, bool halves = false) {
  check::context = std::string(layout == Layout::dense ? "dense" : "sparse") + " rows" +
                   (halves           ? " f16"
                    : sizeof(T) == 4 ? " f32"
                                     : " f64");
  constexpr std::size_t n = 60, width = 11;
  Random random(17);
  const Table<T> table = random_table<T>(random, n, width, 0.4);
  const Kernel kernel{kind, 0.3, 0.5, 2};
  std::vector<T> values = table.values;
  for (T& value : values) value = halves ? T(float(Half(value))) : value;
  const Table<T> rounded(n, width, values);
  const auto fresh = [&] {
    return make_rows(layout, halves ? Precision::f16 : Table<T>::precision(), width, kernel, {});
  };
  const Precision computed = halves ? Precision::f32 : Table<T>::precision();
  const auto truth = gram(*make_rows(layout, computed, width, kernel, {}), rounded.dense());
  auto rows = fresh();
  Slots model;  // the table's row in each slot
  for (int round = 0; round < 120; ++round) {
    if (model.size() < 80 && below(random, 3) > 0) {
      Slots which(below(random, 20));
      for (auto& row : which) row = static_cast<std::int64_t>(below(random, n));
      rows->append(*rows->take(below(random, 2) ? table.dense() : table.sparse(), which));
      model.insert(model.end(), which.begin(), which.end());
    } else {
      const std::size_t from = below(random, model.size() + 1), one_in = 1 + below(random, 4);
      Slots kept, left(model.begin(), model.begin() + static_cast<std::ptrdiff_t>(from));
      for (std::size_t s = from; s < model.size(); ++s)
        if (below(random, one_in) == 0) kept.push_back(static_cast<std::int64_t>(s)), left.push_back(model[s]);
      rows->keep(from, kept);
      model = left;
    }
    CHECK(rows->size() == model.size());
    const std::size_t size = model.size();
    const auto answers = [&](const Rows& store, const Batch& batch, const Slots& which) {
      Matrix out(which.size(), size);
      store.evaluate(batch, 0, which.size(), 0, size, out.rows.data());
      bool good = true;
      for (std::size_t r = 0; r < which.size(); ++r)
        for (std::size_t s = 0; s < size; ++s)
          good &= out[r][s] == (*truth)[static_cast<std::size_t>(which[r])][model[s]];
      return good;
    };
    const Slots slots = first(size);
    CHECK(answers(*rows, *rows->take(table.sparse(), first(n)), first(n)));
    CHECK(answers(*rows, *rows->take_kept(slots), model));
    const RowsImage image = rows->image(slots, true);
    std::vector<double> dense(size * width);
    for (std::size_t r = 0; r < size; ++r)
      std::copy_n(rounded.row(static_cast<std::size_t>(model[r])), width, dense.data() + r * width);
    const Table<double> want(size, width, dense);
    CHECK(same_bits(image.values, layout == Layout::dense ? want.values : want.entries));
    if (layout == Layout::sparse) CHECK(image.columns == want.columns && image.starts == want.starts);
    auto again = fresh();
    again->append(*again->take(layout == Layout::dense ? want.dense() : want.sparse(), slots, true));
    CHECK(answers(*again, *again->take_kept(slots), model));
  }
  // Part of a batch against part of the rows.
  const auto batch = rows->take(table.dense(), first(n));
  const std::size_t begin = rows->size() / 3, end = rows->size();
  Matrix out(2, end);
  rows->evaluate(*batch, 5, 7, begin, end, out.rows.data());
  for (std::size_t s = 0; s < end; ++s) CHECK(out[1][s] == (s < begin ? Matrix::kUntouched : (*truth)[6][model[s]]));
}

/// Far from the origin, distances keep their digits only if the offset is taken away.
template <class T>
void test_center(double offset, double tolerance) {
  check::context = std::string("center") + (sizeof(T) == 4 ? " f32" : " f64");
  constexpr std::size_t n = 20, width = 6;
  Random random(5);
  std::vector<T> values(n * width);
  for (auto& value : values) value = static_cast<T>(offset + uniform(random, -1, 1));
  const Table<T> table(n, width, values);
  const Kernel kernel{KernelKind::rbf, 0.5, 0, 1};
  const std::vector<double> center(width, offset + 0.125);
  const auto fresh = [&] { return make_rows(Layout::dense, Table<T>::precision(), width, kernel, center); };
  auto rows = fresh();
  const auto centered = gram(*rows, table.dense());
  for (std::size_t r = 0; r < n; ++r)
    for (std::size_t s = 0; s < n; ++s)
      CHECK_NEAR((*centered)[r][s], plain_kernel(kernel, table.row(r), table.row(s), width), 2e-6);
  const Slots all = first(n);
  const RowsImage given = rows->image(all, false), stored = rows->image(all, true);
  for (std::size_t k = 0; k < n * width; ++k) {
    CHECK_NEAR(given.values[k], double(values[k]), tolerance);
    CHECK(stored.values[k] == double(static_cast<T>(double(values[k]) - center[k % width])));
  }
  auto again = fresh();
  const Table<double> image(n, width, stored.values);
  again->append(*again->take(image.dense(), all, true));
  Matrix out(n, n);
  again->evaluate(*again->take(table.dense(), all), 0, n, 0, n, out.rows.data());
  CHECK(same_bits(out.values, centered->values));
}

void test_external_rows() {
  check::context = "rows external";
  auto rows = make_rows(Layout::external, Precision::f64, 0, {}, {});
  const Table<double> three(3, 3, {1, 2, 3, 4, 5, 6, 7, 8, 9});
  rows->append(*rows->take(three.dense(), Slots{0, 1, 2}));
  rows->keep(1, Slots{2});
  CHECK(rows->size() == 2);
  const auto batch = rows->take(three.dense(), Slots{2, 0});
  Matrix out(2, 3);
  rows->evaluate(*batch, 0, 2, 1, 3, out.rows.data());
  CHECK(out[0][0] == Matrix::kUntouched && out[0][1] == 8.0f && out[0][2] == 9.0f && out[1][1] == 2.0f);
  CHECK_THROWS(std::logic_error, rows->evaluate(*batch, 0, 2, 0, 4, out.rows.data()));
  CHECK_THROWS(std::logic_error, rows->take_kept(Slots{0}));
}

// ------------------------------------------------------------------------------------------- expansion

/// Blocks come and rows go; the cache is large, none, or holds about a third.
template <class T>
void test_scripts(Layout layout, std::size_t columns, std::size_t width) {
  Random random(99);
  const Table<T> table = random_table<T>(random, 260, width, 0.6);
  std::vector<double> traces[3];
  const std::size_t caches[] = {std::size_t{1} << 40, 0, 50 * CachedRows::bytes_of(1)};
  for (int run = 0; run < (layout == Layout::external ? 1 : 3); ++run) {
    check::context = "expansion layout " + std::to_string(static_cast<int>(layout)) +
                     (sizeof(T) == 4 ? " f32" : " f64") + " columns " + std::to_string(columns) + " width " +
                     std::to_string(width) + " cache " + std::to_string(caches[run]);
    Script<T> script(columns, table, layout, columns, caches[run]);
    script.play(60, 14, run == 0);
    if (run == 2) script.verify();
    traces[run] = script.trace;
    CHECK(script.expansion.size() > 60);
    CHECK(same_bits(traces[run], traces[0]));
    CHECK(script.expansion.kernel().cache().bytes() <=
          std::max<std::size_t>(caches[run], 41 * CachedRows::bytes_of(1)));
  }
}

/// Large enough that rows take several pages and that every loop that can be shared out is.
void test_threads() {
  Random random(7);
  const Table<float> table = random_table<float>(random, 5000, 3, 1.0);
  std::vector<double> traces[4];
  const std::size_t rows_that_fit[] = {10000, 2, 300, 600};
  for (int run = 0; run < 4; ++run) {
    check::context = "expansion with " + std::to_string(run + 1) + " threads";
    Script<float> script(4, table, Layout::dense, 1, rows_that_fit[run] * CachedRows::bytes_of(2));
    script.expansion.set_threads(run + 1);
    script.one_leaves_in = 40;
    script.play(30, 400, false);
    const std::size_t most = script.expansion.size();
    CHECK(most > kPage + 100);
    if (run == 2) script.verify();
    script.one_leaves_in = 1;
    script.play(4, 50, false);
    CHECK(script.expansion.size() < most * 3 / 4);
    script.verify();
    traces[run] = script.trace;
    CHECK(same_bits(traces[run], traces[0]));
  }
}

/// Ties between pages: the lowest slot wins, as it does within a page.
void test_ties() {
  check::context = "ties";
  constexpr std::size_t n = 2 * kPage + 10;
  Expansion expansion(make_rows(Layout::dense, Precision::f32, 1, {KernelKind::linear, 1, 0, 1}, {}), 1, 1 << 24);
  const Table<float> zeros(n, 1, std::vector<float>(n));
  std::vector<std::int32_t> labels(n);
  for (std::size_t s = 0; s < n; ++s) labels[s] = s % 3 == 1;
  const Slots ids = first(n);
  const std::vector<double> costs(n, 1.0);
  expansion.open_block(*expansion.rows().take(zeros.dense(), ids), {ids, labels, costs});
  for (std::size_t s = 5; s < n; ++s) expansion.join(0, s);
  const Extremes ends = expansion.descend_pair(0, expansion.hold(7), expansion.hold(5), 0.5);
  CHECK(ends.up == 7 && ends.down == 5 && ends.high == 1.0 && ends.low == -1.0);
  CHECK(expansion.scan(0).up == 7 && expansion.scan(0).down == 5);
}

/// A row whose kernel with itself is not finite is refused, and leaves nothing behind.
void test_overflow() {
  check::context = "overflow";
  Expansion expansion(make_rows(Layout::dense, Precision::f64, 1, {KernelKind::polynomial, 1, 0, 9}, {}), 1, 1 << 20);
  const Table<double> rows(3, 1, {1, 2, 1e5});
  const std::vector<std::int32_t> labels{0, 1, 1};
  const std::vector<double> costs(3, 1.0);
  const auto open = [&](const Slots& which) {
    Slots ids;
    for (const auto r : which) ids.push_back(10 + r);
    expansion.open_block(*expansion.rows().take(rows.dense(), which), {ids, labels, costs});
  };
  open({0});
  expansion.join(0, 0);
  expansion.close_block(false);
  CHECK_THROWS(std::invalid_argument, open({1, 2}));
  CHECK(expansion.size() == 1 && expansion.rows().size() == 1);
  CHECK(expansion.find(10) == 0 && expansion.find(11) == -1 && expansion.find(12) == -1);
  open({1});
  CHECK(expansion.size() == 2 && expansion.find(11) == 1);
  CHECK(expansion.hold(0)[1] == 512.0f && expansion.hold(1)[0] == 512.0f);
}

/// Sums of kernel values between rows of a block, against the kernel matrix; sources come in several parts.
void test_kernel_sums(Layout layout, std::size_t columns) {
  check::context = "kernel sums";
  constexpr std::size_t n = 60, width = 11, m = 5000;
  Random random(23);
  const Table<float> table = random_table<float>(random, n, width, 0.4);
  auto rows = make_rows(layout, Table<float>::precision(), width, {KernelKind::rbf, 0.3, 0, 0}, {});
  const auto truth = gram(*rows, table.dense());
  Slots sources(m), targets;
  std::vector<double> weights(columns * m);
  for (auto& source : sources) source = static_cast<std::int64_t>(below(random, n));
  for (auto& weight : weights) weight = 0.01 * static_cast<double>(below(random, 200)) - 1;
  for (std::size_t t = 0; t < n; t += 2) targets.push_back(static_cast<std::int64_t>(t));
  std::vector<double> sums(n * columns, 0.5), again = sums;
  add_kernel_sums(*rows, table.dense(), sources, weights, targets, columns, 1, sums.data());
  add_kernel_sums(*rows, table.sparse(), sources, weights, targets, columns, 2, again.data());
  CHECK(sums == again);
  for (std::size_t r = 0; r < n; ++r)
    for (std::size_t c = 0; c < columns; ++c) {
      double expected = 0.5;
      for (std::size_t j = 0; j < m && r % 2 == 0; ++j)
        expected += weights[c * m + j] * (*truth)[r][static_cast<std::size_t>(sources[j])];
      CHECK_NEAR(sums[r * columns + c], expected, 1e-9);
    }
}

}  // namespace

int main() {
  for (const Layout layout : {Layout::dense, Layout::sparse})
    for (const std::size_t columns : {1, 3}) test_kernel_sums(layout, columns);
  for (const Layout layout : {Layout::dense, Layout::sparse})
    for (const KernelKind kind : {KernelKind::rbf, KernelKind::polynomial}) {
      test_rows<float>(layout, kind);
      test_rows<double>(layout, kind);
      test_rows<float>(layout, kind, true);
      test_rows<double>(layout, kind, true);
    }
  test_center<float>(1000, 1e-4);
  test_center<double>(1e6, 1e-9);
  test_external_rows();
  for (const std::size_t columns : {1, 3})
    for (const std::size_t width : {5, 300}) {  // above 256 columns values are looked up rather than computed
      test_scripts<float>(Layout::dense, columns, width);
      test_scripts<double>(Layout::sparse, columns, width);
      check::guard([&] { test_scripts<float>(Layout::external, columns, width); });
    }
  test_scripts<double>(Layout::dense, 1, 5);
  test_scripts<float>(Layout::sparse, 1, 5);
  test_threads();
  test_ties();
  test_overflow();
  return check::summary();
}
