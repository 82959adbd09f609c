// Nothing of a forgotten row is left in memory: every block that is allocated is searched for a value, and for a column
// number, that only this row has. What the vectors of an expansion hold behind their last element is searched, too.
#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <functional>
#include <mutex>
#include <new>
#include <random>
#include <string>
#include <vector>

#include "check.hpp"
#include "gap.hpp"
#include "incremental.hpp"
#include "koil.hpp"
#include "lasvm.hpp"
#include "local.hpp"
#include "margin_learners.hpp"
#include "perceptrons.hpp"
#include "projectron.hpp"
#include "ramp.hpp"

namespace {

/// In front of each block.
struct alignas(64) Header {
  Header *before, *after;
  std::size_t bytes;
};
Header blocks{&blocks, &blocks, 0};
std::mutex in_use;

void* allocate(std::size_t bytes) {
  const std::size_t room = (sizeof(Header) + bytes + 63) / 64 * 64;
  auto* header = static_cast<Header*>(std::aligned_alloc(64, room));
  if (header == nullptr) throw std::bad_alloc();
  const std::lock_guard lock(in_use);
  *header = {&blocks, blocks.after, bytes};
  blocks.after->before = header;
  blocks.after = header;
  return header + 1;
}

void release(void* p) noexcept {
  if (p == nullptr) return;
  Header* header = static_cast<Header*>(p) - 1;
  const std::lock_guard lock(in_use);
  header->before->after = header->after;
  header->after->before = header->before;
  volatile char* bytes = static_cast<char*>(p);  // volatile, because a compiler may spare itself writes before free
  for (std::size_t at = 0; at < header->bytes; ++at) bytes[at] = 0;  // or the next block may begin with them
  std::free(header);
}

}  // namespace

void* operator new(std::size_t bytes) { return allocate(bytes); }
void* operator new(std::size_t bytes, std::align_val_t) { return allocate(bytes); }  // 64 at most
void operator delete(void* p) noexcept { release(p); }
void operator delete(void* p, std::size_t) noexcept { release(p); }
void operator delete(void* p, std::align_val_t) noexcept { release(p); }
void operator delete(void* p, std::size_t, std::align_val_t) noexcept { release(p); }

using namespace everlearn;

namespace {

constexpr double kValue =
    47.31652819463513;  // so far away that kernel values are 0, and every learner keep_idle the row
constexpr std::int32_t kColumn = 19739;
constexpr std::size_t kWidth = 20000, kRows = 150, kFeatures = 3;
constexpr std::int64_t kMarked = kRows - 1;  // the last one: nobody moves to its place when it goes

/// How often a number is in memory that is allocated.
template <class T>
std::size_t found(T wanted) {
  std::size_t count = 0;
  for (const Header* header = blocks.after; header != &blocks; header = header->after) {
    const char* bytes = reinterpret_cast<const char*>(header + 1);
    for (std::size_t at = 0; at + sizeof(T) <= header->bytes; at += sizeof(T)) {
      T value;
      std::memcpy(&value, bytes + at, sizeof(T));
      count += value == wanted;
    }
  }
  return count;
}

/// Rows in two clouds; the marked one lies far away, has a value and, if they are sparse, a column of its own. They are
/// the caller's, and gone when this is.
struct Table {
  std::vector<double> values;
  std::vector<std::int32_t> columns, labels;
  std::vector<std::int64_t> starts{0}, ids;
  std::vector<double> costs;
  bool is_sparse;

  explicit Table(bool sparse) : is_sparse(sparse) {
    std::mt19937_64 random(3);
    std::normal_distribution<double> normal;
    for (std::size_t r = 0; r < kRows; ++r) {
      const bool marked = r == static_cast<std::size_t>(kMarked);
      labels.push_back(static_cast<std::int32_t>(random() % 2));
      costs.push_back(1.0);
      ids.push_back(static_cast<std::int64_t>(r));
      for (std::size_t k = 0; k < kFeatures; ++k) {
        const double value = normal(random) + (k == 0 ? labels.back() : 0);
        const bool own = marked && k + 1 == kFeatures;
        values.push_back(own ? kValue : value);
        columns.push_back(own ? kColumn : static_cast<std::int32_t>(k));
      }
      starts.push_back(static_cast<std::int64_t>(values.size()));
    }
  }
  LabeledRows rows() const {
    Block block{Precision::f64, is_sparse, kRows, is_sparse ? kWidth : kFeatures, values.data(), nullptr, nullptr};
    if (is_sparse) block.columns = columns.data(), block.starts = starts.data();
    return {block, labels, costs, ids};
  }
};

template <class Solver>
void check_traces(const std::string& name, const std::function<void(Solver&)>& set_up, const auto& build) {
  for (const bool sparse : {false, true}) {
    check::context = name + (sparse ? ", sparse" : ", dense");
    const Kernel kernel{KernelKind::rbf, 0.5, 0, 3};
    Expansion expansion(
        make_rows(sparse ? Layout::sparse : Layout::dense, Precision::f64, sparse ? kWidth : kFeatures, kernel, {}), 1,
        1 << 20);
    Solver solver = build(expansion);
    set_up(solver);
    {
      const Table table(sparse);
      for (std::size_t begin = 0; begin < kRows; begin += 30) {
        std::vector<std::int64_t> which;
        for (std::size_t r = begin; r < begin + 30; ++r) which.push_back(static_cast<std::int64_t>(r));
        solver.learn(table.rows(), which);
      }
    }
    CHECK(expansion.find(kMarked) >= 0);
    CHECK(found(kValue) == 1);
    if (sparse) CHECK(found(kColumn) == 1);
    // Others go first: those behind them move up, and leave copies in the places where they were.
    solver.forget(std::vector<std::int64_t>{expansion.id(0), expansion.id(1)});
    solver.forget(std::vector<std::int64_t>{kMarked});
    CHECK(expansion.find(kMarked) < 0);
    CHECK(found(kValue) == 0);
    if (sparse) CHECK(found(kColumn) == 0);
  }
}

template <class Solver>
void check_traces(const std::string& name, const std::function<void(Solver&)>& set_up = [](Solver&) {}) {
  check_traces<Solver>(name, set_up, [](Expansion& expansion) { return Solver(expansion); });
}

void test_pages() {
  check::context = "pages";
  PagePool pool;
  float* page = pool.take();
  CHECK(std::all_of(page, page + kPage, [](float value) { return value == 0; }));
  std::fill_n(page, kPage, 1.0f);
  pool.give(page);
  CHECK(std::all_of(page, page + kPage, [](float value) { return value == 0; }));
  CHECK(pool.take() == page);
}

/// A cached row holds nothing behind the values that are known.
void test_cached_rows() {
  check::context = "cached rows";
  constexpr std::size_t n = 2 * kPage + 100;
  RowCache cache(1 << 24);
  RowCache::Entry& entry = cache.touch(5, n);
  for (std::size_t s = 0; s < n; ++s) entry[s] = 1.0f + static_cast<float>(s);
  entry.valid = n;
  std::vector<std::int64_t> kept;
  for (std::size_t s = 3; s < n; ++s)
    if (s % 3 != 0) kept.push_back(static_cast<std::int64_t>(s));
  cache.keep(3, kept);
  const RowCache::Entry* moved = cache.find(4);  // of those from 3 on the second one stays in the second place
  CHECK(moved != nullptr && moved->valid == 3 + kept.size());
  bool right = true, rest = true;
  for (std::size_t t = 0; t < kept.size(); ++t) right &= (*moved)[3 + t] == 1.0f + static_cast<float>(kept[t]);
  for (std::size_t s = moved->valid; s < moved->pages.size() * kPage; ++s) rest &= (*moved)[s] == 0;
  CHECK(right);
  CHECK(rest);
}

}  // namespace

int main() {
  check_traces<Perceptron>("perceptron");
  check_traces<Perceptron>("averaged perceptron", [](Perceptron& solver) { solver.averaging = Averaging::mean; });
  check_traces<PassiveAggressive>("passive-aggressive");
  check_traces<Norma>("NORMA");
  check_traces<Projectron>("Projectron");
  check_traces<Koil>("KOIL");
  check_traces<RampLoss>(
      "ramp loss", [](RampLoss& solver) { solver.min_support = 1000; },
      [](Expansion& expansion) { return RampLoss(expansion, 2); });
  check_traces<Gap>("gap", [](Gap&) {}, [](Expansion& expansion) { return Gap(expansion, 2); });
  check_traces<Lasvm>(
      "LASVM", [](Lasvm& solver) { solver.keep_idle = true; },
      [](Expansion& expansion) { return Lasvm(expansion, 2); });
  check_traces<LocalUpdates>("local updates");
  check_traces<Incremental>("incremental");
  test_pages();
  test_cached_rows();
  return check::summary();
}
