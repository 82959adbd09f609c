// Kernel values, for every instruction set of this machine.
#include <initializer_list>
#include <limits>
#include <string>
#include <thread>
#include <vector>

#include "arch/loops.hpp"
#include "check.hpp"
#include "problems.hpp"

using namespace everlearn;
using namespace problems;

namespace {

constexpr double kInf = std::numeric_limits<double>::infinity();

void run(const Loops& loops, const DenseJob<float>& job) { loops.dense_f32(job); }
void run(const Loops& loops, const DenseJob<double>& job) { loops.dense_f64(job); }
void run(const Loops& loops, const SparseJob<float>& job) { loops.sparse_f32(job); }
void run(const Loops& loops, const SparseJob<double>& job) { loops.sparse_f64(job); }
void norms(const Loops& loops, PairSum pair, const float* rows, std::size_t m, std::size_t width, float* out) {
  loops.norms_f32(pair, rows, m, width, out);
}
void norms(const Loops& loops, PairSum pair, const double* rows, std::size_t m, std::size_t width, double* out) {
  loops.norms_f64(pair, rows, m, width, out);
}

std::vector<Kernel> kernels(std::size_t width) {
  const double gamma = 1.0 / static_cast<double>(width);
  return {{KernelKind::linear, 1, 0, 1},           {KernelKind::polynomial, gamma, 1.0, 3},
          {KernelKind::polynomial, gamma, 0.5, 0}, {KernelKind::polynomial, gamma, 0.5, 6},
          {KernelKind::rbf, gamma, 0, 1},          {KernelKind::sigmoid, gamma, -0.25, 1},
          {KernelKind::cosine, 1, 0, 1},           {KernelKind::laplacian, gamma, 0, 1}};
}

/// A table, kept in each of the layouts, and jobs that meet some of its rows with a range of them all.
template <class T>
struct Paths {
  const Loops& loops;
  const Table<T>& table;
  std::vector<T> panels, norms_dense, norms_sparse;
  std::vector<std::int32_t> far;  // columns spread out over a width beyond which rows are looked up in a table
  std::size_t far_width;

  Paths(const Loops& l, const Table<T>& t, std::size_t wide, KernelKind kind)
      : loops(l),
        table(t),
        panels(round_up(t.rows, kPanel) * t.width),
        norms_dense(round_up(t.rows, kPanel)),
        norms_sparse(t.rows),
        far(t.columns),
        far_width(wide) {
    const PairSum pair = traits_of(kind).pair;
    for (std::size_t r = 0; r < t.rows; ++r) {
      const auto begin = static_cast<std::size_t>(t.starts[r]), end = static_cast<std::size_t>(t.starts[r + 1]);
      norms(l, pair, t.entries.data() + begin, 1, end - begin, &norms_sparse[r]);
      for (std::size_t k = 0; k < t.width; ++k) panels[(r / kPanel * t.width + k) * kPanel + r % kPanel] = t.row(r)[k];
    }
    norms(l, pair, t.values.data(), t.rows, t.width, norms_dense.data());
    const auto apart = static_cast<std::int32_t>(wide / t.width);
    for (auto& column : far) column = (column + 1) * apart - 1;
  }

  enum Path { dense, sparse, indirect };
  void evaluate(Path path, const Kernel& kernel, std::size_t row, std::size_t m, std::size_t begin, std::size_t end,
                float* const* out) const {
    if (path == dense) {
      run(loops, DenseJob<T>{kernel, table.row(row), norms_dense.data() + row, m, table.width, panels.data(),
                             norms_dense.data(), begin, end, out});
      return;
    }
    const CsrView<T> view{table.entries.data(), path == indirect ? far.data() : table.columns.data(),
                          table.starts.data(), norms_sparse.data()};
    run(loops, SparseJob<T>{kernel, view, row, m, path == indirect ? far_width : table.width, view, begin, end, out});
  }
};

template <class T>
void test_values(const Loops& loops, std::size_t width, double filled) {
  constexpr std::size_t n = 83;
  Random random(width);
  const Table<T> table = random_table<T>(random, n, width, filled);
  const double tolerance = width < 100 ? 1e-6 : 1e-5;  // a long sum rounds more often
  using P = Paths<T>;
  for (const Kernel& kernel : kernels(width)) {
    check::context = std::string(loops.name) + (sizeof(T) == 4 ? " f32" : " f64") + " width " + std::to_string(width) +
                     " kernel " + std::string(traits_of(kernel.kind).name);
    // Tables of 64 lanes leave 16 MiB at the first width, those of a single lane at the second.
    const P tiles(loops, table, (std::size_t{16} << 20) / (64 * sizeof(T)) + 1, kernel.kind);
    const P singles(loops, table, (std::size_t{16} << 20) / sizeof(T) + 1, kernel.kind);
    CHECK(same_bits(tiles.norms_dense.data(), tiles.norms_sparse.data(), n));
    Matrix truth(n, n);  // one dense row at a time; everything else must equal it bit for bit
    for (std::size_t r = 0; r < n; ++r) tiles.evaluate(P::dense, kernel, r, 1, 0, n, truth.rows.data() + r);
    bool symmetric = true, close = true, ones = true;
    for (std::size_t r = 0; r < n; ++r)
      for (std::size_t s = 0; s < n; ++s) {
        const double plain = plain_kernel(kernel, table.row(r), table.row(s), width);
        close &= std::abs(double(truth[r][s]) - plain) <= tolerance * std::max(1.0, std::abs(plain));
        symmetric &= same_bits(truth[r] + s, truth[s] + r, 1);
        if (repeats(r) == repeats(s)) ones &= truth[r][s] == 1.0f;
      }
    CHECK(close);
    CHECK(symmetric);
    CHECK(ones || !traits_of(kernel.kind).of_distance);

    const auto equal = [&](const P& paths, typename P::Path path, std::size_t row, std::size_t m, std::size_t begin,
                           std::size_t end) {
      Matrix out(m, n);
      paths.evaluate(path, kernel, row, m, begin, end, out.rows.data());
      bool good = true;
      for (std::size_t r = 0; r < m; ++r)
        for (std::size_t s = 0; s < n; ++s)
          good &= same_bits(out[r] + s, s >= begin && s < end ? truth[row + r] + s : &Matrix::kUntouched, 1);
      return good;
    };
    for (std::size_t m = 1; m <= 61; ++m) CHECK(equal(tiles, P::dense, below(random, n - m), m, 0, n));
    for (const std::size_t m : {1, 2, 15, 16, 17, 31, 48, 63, 64, 65, 79, 80, 81, 83}) {
      CHECK(equal(tiles, P::sparse, below(random, n - m + 1), m, 0, n));
      if (m >= 16 && m <= 64) CHECK(equal(tiles, P::indirect, below(random, n - m + 1), m, 0, n));
    }
    for (int t = 0; t < 40; ++t) {
      const std::size_t m = 1 + below(random, 70), row = below(random, n - m + 1);
      const std::size_t begin = below(random, n), end = begin + below(random, n - begin + 1);
      CHECK(equal(tiles, P::dense, row, m, begin, end));
      CHECK(equal(tiles, P::sparse, row, m, begin, end));
      if (m >= 16) CHECK(equal(tiles, P::indirect, row, std::min<std::size_t>(m, 64), begin, end));
      CHECK(equal(singles, P::indirect, row, 1, begin, end));
    }
  }
}

/// All finite halves: a number comes back as it went, and one between two of them goes to the nearer, or to the even one.
void test_halves() {
  check::context = "halves";
  const auto half = [](unsigned bits) {
    Half found;
    found.bits = static_cast<std::uint16_t>(bits);
    return found;
  };
  bool same = true, nearest = true, exact = true;
  for (unsigned bits = 0; bits < 0x7c00; ++bits) {
    const double value = double(float(half(bits))), next = bits == 0x7bff ? 65536.0 : double(float(half(bits + 1)));
    const double plain = bits < 0x400 ? std::ldexp(bits, -24) : std::ldexp(1024 + bits % 1024, int(bits / 1024) - 25);
    const double middle = (value + next) / 2;
    exact &= value == plain && float(half(bits | 0x8000)) == -float(value);
    same &= Half(value).bits == bits && Half(-value).bits == (bits | 0x8000);
    same &= Half::of_rounded(float(value)).bits == bits && Half::of_rounded(-float(value)).bits == (bits | 0x8000);
    nearest &= Half(std::nextafter(middle, 0)).bits == bits && Half(std::nextafter(middle, kInf)).bits == bits + 1;
    nearest &= Half(middle).bits == bits + bits % 2 && Half(-middle).bits == ((bits + bits % 2) | 0x8000);
  }
  CHECK(exact);
  CHECK(same);
  CHECK(nearest);
  CHECK(Half(1e300).bits == 0x7c00);
  CHECK(Half(-kInf).bits == 0xfc00);
  CHECK(Half(1e-300).bits == 0);
}

/// Kept rows in 16 bits have, bit for bit, the kernel values of the same rows in 32 bits.
void test_half_rows(const Loops& loops, std::size_t width) {
  constexpr std::size_t n = 83;
  Random random(width);
  Table<float> table = random_table<float>(random, n, width, 0.8);
  for (float& value : table.values) value = float(Half(value * std::ldexp(1.0, int(below(random, 12)) - 10)));
  for (const Kernel& kernel : kernels(width)) {
    check::context = std::string(loops.name) + " f16 width " + std::to_string(width) + " kernel " +
                     std::string(traits_of(kernel.kind).name);
    const Paths<float> paths(loops, table, width, kernel.kind);
    std::vector<Half> panels(paths.panels.size());
    for (std::size_t e = 0; e < panels.size(); ++e) panels[e] = Half(paths.panels[e]);
    for (std::size_t m = 1; m <= 61; ++m) {
      const std::size_t row = below(random, n - m + 1), begin = below(random, n), end = n - below(random, n - begin);
      Matrix wide(m, n), narrow(m, n);
      paths.evaluate(Paths<float>::dense, kernel, row, m, begin, end, wide.rows.data());
      loops.dense_f16({kernel, table.row(row), paths.norms_dense.data() + row, m, width, panels.data(),
                       paths.norms_dense.data(), begin, end, narrow.rows.data()});
      CHECK(same_bits(wide.values, narrow.values));
    }
  }
}

/// Every finite half, as the only value of a row; and numbers around it, rounded.
void test_loading_halves(const Loops& loops) {
  check::context = std::string(loops.name) + " loading halves";
  std::vector<Half> all(0x10000);
  for (unsigned bits = 0; bits < all.size(); ++bits)
    if ((bits & 0x7fff) < 0x7c00) all[bits].bits = static_cast<std::uint16_t>(bits);
  const std::vector<float> norms(all.size());
  const float one = 1, norm = 1;
  Matrix out(1, all.size());
  loops.dense_f16(
      {{KernelKind::linear, 1, 0, 1}, &one, &norm, 1, 1, all.data(), norms.data(), 0, all.size(), out.rows.data()});
  bool same = true;
  for (std::size_t s = 0; s < all.size(); ++s) same &= out[0][s] == float(all[s]);
  CHECK(same);
  Random random(2);
  std::vector<double> near;
  for (const Half half : all) near.push_back(double(float(half)) * (1 + uniform(random, -1e-3, 1e-3)));
  std::vector<float> rounded(near.size());
  loops.to_halves(near.data(), near.size(), rounded.data());
  bool right = true;
  for (std::size_t s = 0; s < near.size(); ++s) right &= rounded[s] == float(Half(near[s]));
  CHECK(right);
}

/// The first rows that a thread looks up in a table of columns have no entries at all.
template <class T>
void test_empty_rows(const Loops& loops) {
  check::context = std::string(loops.name) + " empty rows";
  std::vector<T> values(20 * 2, T(0));
  values[38] = T(0.5), values[39] = T(-1);
  const Table<T> table(20, 2, values);
  for (const std::size_t m : {1, 16})
    std::thread([&] {
      const Paths<T> paths(loops, table, (std::size_t{16} << 20) / sizeof(T) + 1, KernelKind::rbf);
      Matrix out(16, 20);
      paths.evaluate(Paths<T>::indirect, {KernelKind::rbf, 1, 0, 1}, 0, m, 0, 20, out.rows.data());
      for (std::size_t r = 0; r < m; ++r) {
        CHECK(out[r][0] == 1.0f);
        CHECK_NEAR(out[r][19], std::exp(-1.25), 1e-6);
      }
    }).join();
}

/// Rows of any length: the squares of the longest and shortest would overflow or vanish if they were multiplied.
template <class T>
void test_cosine(const Loops& loops) {
  check::context = std::string(loops.name) + " cosine";
  const T far = sizeof(T) == 4 ? T(1e18) : T(1e150), near = 1 / far;
  const std::vector<T> lengths{1, far, near, 3, far / 7, 0, 5 * near};
  const std::size_t n = lengths.size();
  std::vector<T> values;
  for (const T length : lengths)
    for (const T part : {T(0.3), T(-0.7), T(0.2)}) values.push_back(length * part);
  const Table<T> table(n, 3, values);
  const Paths<T> paths(loops, table, 3, KernelKind::cosine);
  Matrix out(n, n);
  paths.evaluate(Paths<T>::dense, {KernelKind::cosine, 1, 0, 1}, 0, n, 0, n, out.rows.data());
  for (std::size_t r = 0; r < n; ++r)
    for (std::size_t s = 0; s < n; ++s) {
      const bool zero = lengths[r] == 0 || lengths[s] == 0;
      CHECK_NEAR(out[r][s], zero ? 0.0 : 1.0, r == s || zero ? 0.0 : 4e-7);
      CHECK(out[r][s] <= 1.0f);
    }
}

/// Exact values: right to almost the last digit, symmetric, and the same from dense and from sparse rows, except for
/// kernels of distances, which dense rows take from differences.
void test_exact(const Loops& loops, std::size_t width, double filled) {
  constexpr std::size_t n = 37;
  Random random(width);
  const Table<double> table = random_table<double>(random, n, width, filled);
  for (const Kernel& kernel : kernels(width)) {
    check::context = std::string(loops.name) + " exact width " + std::to_string(width) + " kernel " +
                     std::string(traits_of(kernel.kind).name);
    const Paths<double> paths(loops, table, width, kernel.kind);
    const CsrView<double> view{table.entries.data(), table.columns.data(), table.starts.data(),
                               paths.norms_sparse.data()};
    std::vector<double> dense(n * n), sparse(n * n), part(n * n, -7);
    std::vector<double*> to_dense(n), to_sparse(n), to_part(n);
    for (std::size_t r = 0; r < n; ++r)
      to_dense[r] = dense.data() + r * n, to_sparse[r] = sparse.data() + r * n, to_part[r] = part.data() + r * n;
    const auto meet = [&](std::size_t begin, std::size_t end, double* const* out) {
      loops.dense_exact({kernel, table.row(0), paths.norms_dense.data(), n, width, paths.panels.data(),
                         paths.norms_dense.data(), begin, end, out});
    };
    meet(0, n, to_dense.data());
    meet(5, 21, to_part.data());
    loops.sparse_exact({kernel, view, 0, n, width, view, 0, n, to_sparse.data()});
    CHECK(traits_of(kernel.kind).of_distance || same_bits(dense.data(), sparse.data(), n * n));
    bool symmetric = true, close = true, within = true;
    for (std::size_t r = 0; r < n; ++r)
      for (std::size_t s = 0; s < n; ++s) {
        const double plain = plain_kernel(kernel, table.row(r), table.row(s), width);
        close &= std::abs(dense[r * n + s] - plain) <= 2e-14 * std::max(1.0, std::abs(plain));
        close &= std::abs(sparse[r * n + s] - plain) <= 2e-14 * std::max(1.0, std::abs(plain));
        symmetric &= same_bits(&dense[r * n + s], &dense[s * n + r], 1);
        within &= part[r * n + s] == (s >= 5 && s < 21 ? dense[r * n + s] : -7);
      }
    CHECK(close);
    CHECK(symmetric);
    CHECK(within);
  }
}

void test_exact_exp(const Loops& loops) {
  check::context = std::string(loops.name) + " exact exp";
  // Rows of one column: the kernel value with 0 is exp(-x^2).
  std::vector<double> x{0.0, 1e-300, 1e-17, 708.0, 708.1, 1e300};
  for (int t = 0; t < 200000; ++t) x.push_back(708.0 * t / 200000);
  const std::size_t n = x.size();
  x.resize(round_up(n, kPanel));
  std::vector<double> roots(x.size());
  for (std::size_t s = 0; s < n; ++s) roots[s] = std::sqrt(x[s]), x[s] = roots[s] * roots[s];
  const std::vector<double> zeros(x.size());
  std::vector<double> values(n);
  double* const out = values.data();
  loops.dense_exact(
      {{KernelKind::rbf, 1, 0, 1}, zeros.data(), zeros.data(), 1, 1, roots.data(), zeros.data(), 0, n, &out});
  double worst = 0;
  for (std::size_t s = 0; s < n; ++s) {
    if (x[s] > 708.0) CHECK(values[s] == 0.0);
    else worst = std::max(worst, std::abs(values[s] / std::exp(-x[s]) - 1));
  }
  CHECK(values[0] == 1.0);
  CHECK(worst <= 5e-16);
}

void test_exp(const Loops& loops) {
  check::context = std::string(loops.name) + " exp";
  // Rows of zeros with made-up norms: the kernel value is exp(-norm).
  std::vector<double> x{0.0, 1e-30, 1e-8, 87.0, std::nextafter(87.0f, 88.0f), 88.0, 104.0, 1e10, 1e300, kInf};
  Random random(1);
  for (int t = 0; t < 200000; ++t) x.push_back(double(static_cast<float>(87.0 * t / 200000)));
  for (int t = 0; t < 20000; ++t) x.push_back(double(static_cast<float>(std::pow(10, uniform(random, -9, 1.9)))));
  const std::size_t n = x.size();
  x.resize(round_up(n, kPanel));
  const std::vector<double> zeros(x.size());
  Matrix out(1, n);
  run(loops,
      DenseJob<double>{
          {KernelKind::rbf, 1, 0, 1}, zeros.data(), zeros.data(), 1, 1, zeros.data(), x.data(), 0, n, out.rows.data()});
  double worst = 0;
  bool zero_below = true;
  for (std::size_t s = 0; s < n; ++s) {
    if (x[s] > 87.0) {
      zero_below &= out[0][s] == 0.0f;
      continue;
    }
    const double exact = std::exp(-x[s]);
    const double ulp = std::ldexp(1.0, std::ilogb(exact) - 23);
    worst = std::max(worst, std::abs(double(out[0][s]) - exact) / ulp);
  }
  CHECK(out[0][0] == 1.0f);
  CHECK(worst <= 3.0);
  CHECK(zero_below);
  // tanh far out, where exp(2x) is clamped
  std::vector<double> one(kPanel, 1.0);
  for (const double gamma : {0.0, 1.0, 20.0, 44.0, 60.0, 1e6, 1e30, -1.0, -20.0, -44.0, -60.0, -1e30}) {
    run(loops, DenseJob<double>{{KernelKind::sigmoid, gamma, 0, 1},
                                one.data(),
                                one.data(),
                                1,
                                1,
                                one.data(),
                                one.data(),
                                0,
                                1,
                                out.rows.data()});
    CHECK_NEAR(out[0][0], std::tanh(gamma), 2e-7);
  }
}

}  // namespace

int main() {
  for (const KernelTraits& kernel : kKernels) {
    CHECK(Kernel::named(kernel.name, 2, 0, 1).kind == kernel.kind);
    bool tested = false;
    for (const Kernel& other : kernels(1)) tested |= other.kind == kernel.kind;
    CHECK(tested);
  }
  CHECK_THROWS(std::invalid_argument, Kernel::named("unknown", 1, 0, 1));
  CHECK(loops_named("baseline") != nullptr);
  CHECK(loops_named("unknown") == nullptr);
  test_halves();
  for (const char* name : {"baseline", "avx2", "avx512"}) {
    const Loops* loops = loops_named(name);
    if (loops == nullptr) continue;
    CHECK(std::string(loops->name) == name);
    for (const double filled : {0.15, 1.0})
      for (const std::size_t width : {1, 9, 40}) {
        test_values<float>(*loops, width, filled);
        test_values<double>(*loops, width, filled);
        test_exact(*loops, width, filled);
      }
    for (const double filled : {0.15, 1.0}) {  // so wide that sparse rows are met in ranges of columns
      test_values<float>(*loops, 300, filled);
      test_values<double>(*loops, 300, filled);
    }
    for (const std::size_t width : {1, 9, 40}) test_half_rows(*loops, width);
    test_loading_halves(*loops);
    test_exp(*loops);
    test_exact_exp(*loops);
    test_cosine<float>(*loops);
    test_cosine<double>(*loops);
    test_empty_rows<float>(*loops);
    test_empty_rows<double>(*loops);
  }
  return check::summary();
}
