#include "rows.hpp"

#include <algorithm>
#include <cmath>
#include <stdexcept>
#include <type_traits>

#include "aligned.hpp"

namespace everlearn {
namespace {

template <class T>
void run(const DenseJob<T>& job) {
  if constexpr (std::is_same_v<T, float>) loops().dense_f32(job);
  else loops().dense_f64(job);
}
template <class T>
void run(const SparseJob<T>& job) {
  if constexpr (std::is_same_v<T, float>) loops().sparse_f32(job);
  else loops().sparse_f64(job);
}
void run(const DenseJob<float, float, Half>& job) { loops().dense_f16(job); }
void run(const DenseJob<double, double>& job) { loops().dense_exact(job); }
void run(const SparseJob<double, double>& job) { loops().sparse_exact(job); }

[[noreturn]] void refuse_single_precision() {
  throw std::logic_error("exact kernel values need rows in double precision");
}

/// The norms of packed rows that a kernel needs: pair sums of rows with themselves.
template <class T>
void norms(const Kernel& kernel, const T* values, std::size_t m, std::size_t width, T* out) {
  const PairSum pair = traits_of(kernel.kind).pair;
  if constexpr (std::is_same_v<T, float>) loops().norms_f32(pair, values, m, width, out);
  else loops().norms_f64(pair, values, m, width, out);
}

// ---------------------------------------------------------------------------------------------- dense

template <class T>
struct DenseBatch : Batch {
  std::vector<T> values, norms;
};

/// Rows are computed with as T, and stored as Stored, to which they are rounded before anything else is done with them:
/// a kernel value is the same whether a row is kept or on its way.
template <class T, class Stored = T>
class DenseRows final : public Rows {
 public:
  DenseRows(std::size_t width, const Kernel& kernel, std::vector<double> center)
      : width_(width), kernel_(kernel), center_(std::move(center)) {}

  std::size_t size() const override { return size_; }
  std::size_t width() const override { return width_; }
  std::unique_ptr<Rows> sibling() const override { return std::make_unique<DenseRows>(width_, kernel_, center_); }
  const Kernel* kernel() const override { return std::is_same_v<T, Stored> ? &kernel_ : nullptr; }
  bool costly() const override { return width_ > 256; }
  bool worth_computing_again() const override { return width_ * sizeof(T) < 64 * sizeof(float); }

  std::unique_ptr<Batch> take(const Block& block, std::span<const std::int64_t> which, bool as_stored) const override {
    auto batch = std::make_unique<DenseBatch<T>>();
    batch->values.assign(which.size() * width_, T(0));
    std::vector<double> exact(std::is_same_v<T, Stored> ? 0 : width_);
    for (std::size_t r = 0; r < which.size(); ++r) {
      T* row = batch->values.data() + r * width_;
      const auto r_at = static_cast<std::size_t>(which[r]);
      if constexpr (std::is_same_v<T, Stored>) {
        read(block, r_at, as_stored, row);
      } else {
        std::fill(exact.begin(), exact.end(), 0.0);
        read(block, r_at, as_stored, exact.data());
        loops().to_halves(exact.data(), width_, row);
      }
    }
    measure(*batch, which.size());
    return batch;
  }

  std::unique_ptr<Batch> take_kept(std::span<const std::int64_t> slots) const override {
    auto batch = std::make_unique<DenseBatch<T>>();
    batch->values.resize(slots.size() * width_);
    batch->norms.resize(slots.size());
    for (std::size_t r = 0; r < slots.size(); ++r) {
      const Stored* lane = lane_of(static_cast<std::size_t>(slots[r]));
      for (std::size_t k = 0; k < width_; ++k) batch->values[r * width_ + k] = static_cast<T>(lane[k * kPanel]);
      batch->norms[r] = norms_[static_cast<std::size_t>(slots[r])];
    }
    return batch;
  }

  void append(const Batch& any) override {
    const auto& batch = static_cast<const DenseBatch<T>&>(any);
    const std::size_t count = batch.norms.size();
    panels_.resize(round_up(size_ + count, kPanel) * width_, Stored());
    norms_.resize(round_up(size_ + count, kPanel), T(0));
    std::copy(batch.norms.begin(), batch.norms.end(), norms_.begin() + static_cast<std::ptrdiff_t>(size_));
    for (std::size_t r = 0; r < count;) {
      const T* const row = batch.values.data() + r * width_;
      Stored* const lane = const_cast<Stored*>(lane_of(size_));
      if constexpr (std::is_same_v<T, float> && std::is_same_v<Stored, float>)
        if (size_ % kPanel == 0 && r + kPanel <= count) {  // a whole panel, in squares
          loops().transpose(row, width_, kPanel, width_, lane, kPanel);
          r += kPanel, size_ += kPanel;
          continue;
        }
      for (std::size_t k = 0; k < width_; ++k) lane[k * kPanel] = stored(row[k]);
      ++r, ++size_;
    }
  }

  void keep(std::size_t from, std::span<const std::int64_t> keep) override {
    std::size_t to = from;
    for (const auto slot : keep) {
      const auto s = static_cast<std::size_t>(slot);
      if (s != to) {
        const Stored* source = lane_of(s);
        Stored* target = const_cast<Stored*>(lane_of(to));
        for (std::size_t k = 0; k < width_; ++k) target[k * kPanel] = source[k * kPanel];
        norms_[to] = norms_[s];
      }
      ++to;
    }
    const std::size_t end = round_up(to, kPanel);
    for (std::size_t s = to; s < std::min(end, size_); ++s) wipe(s);
    std::fill(panels_.begin() + static_cast<std::ptrdiff_t>(end * width_), panels_.end(), Stored());
    std::fill(norms_.begin() + static_cast<std::ptrdiff_t>(to), norms_.end(), T(0));
    size_ = to;
    panels_.resize(end * width_);
    norms_.resize(end);
  }

  void evaluate(const Batch& any, std::size_t r0, std::size_t r1, std::size_t begin, std::size_t end,
                float* const* out) const override {
    const auto& batch = static_cast<const DenseBatch<T>&>(any);
    run(DenseJob<T, float, Stored>{kernel_, batch.values.data() + r0 * width_, batch.norms.data() + r0, r1 - r0, width_,
                                   panels_.data(), norms_.data(), begin, end, out});
  }

  void evaluate_exactly(const Batch& any, std::size_t r0, std::size_t r1, std::size_t begin, std::size_t end,
                        double* const* out) const override {
    if constexpr (std::is_same_v<T, double>) {
      const auto& batch = static_cast<const DenseBatch<T>&>(any);
      run(DenseJob<T, double>{kernel_, batch.values.data() + r0 * width_, batch.norms.data() + r0, r1 - r0, width_,
                              panels_.data(), norms_.data(), begin, end, out});
    } else {
      refuse_single_precision();
    }
  }

  void wipe(std::size_t slot) override {
    Stored* lane = const_cast<Stored*>(lane_of(slot));
    for (std::size_t k = 0; k < width_; ++k) lane[k * kPanel] = Stored();
    norms_[slot] = T(0);
  }

  RowsImage image(std::span<const std::int64_t> slots, bool as_stored) const override {
    RowsImage image;
    const bool shifted = !as_stored && !center_.empty();
    image.values.resize(slots.size() * width_);
    for (std::size_t r = 0; r < slots.size(); ++r) {
      const Stored* lane = lane_of(static_cast<std::size_t>(slots[r]));
      for (std::size_t k = 0; k < width_; ++k)
        image.values[r * width_ + k] = double(static_cast<T>(lane[k * kPanel])) + (shifted ? center_[k] : 0.0);
    }
    return image;
  }

 private:
  /// A value of a batch, which has been rounded.
  static Stored stored(T value) {
    if constexpr (std::is_same_v<T, Stored>) return value;
    else return Stored::of_rounded(value);
  }
  /// Copies a row of the block, less the center unless it comes as it was stored, over zeros.
  template <class V>
  void read(const Block& block, std::size_t r, bool as_stored, V* row) const {
    if (as_stored || center_.empty()) {
      visit_row(block, r, [&](std::int32_t k, auto v) { row[k] = static_cast<V>(v); });
    } else {
      for (std::size_t k = 0; k < width_; ++k) row[k] = static_cast<V>(-center_[k]);
      visit_row(block, r, [&](std::int32_t k, auto v) { row[k] = static_cast<V>(double(v) - center_[k]); });
    }
  }
  const Stored* lane_of(std::size_t slot) const {
    return panels_.data() + slot / kPanel * kPanel * width_ + slot % kPanel;
  }
  void measure(DenseBatch<T>& batch, std::size_t count) const {
    batch.norms.resize(count);
    norms(kernel_, batch.values.data(), count, width_, batch.norms.data());
  }

  std::size_t width_, size_ = 0;
  Kernel kernel_;
  std::vector<double> center_;
  AlignedVector<Stored> panels_;
  AlignedVector<T> norms_;
};

// --------------------------------------------------------------------------------------------- sparse

/// CSR arrays with norms: both the kept rows and the ones on their way.
template <class T>
struct SparseArrays {
  std::vector<T> values, norms;
  std::vector<std::int32_t> columns;
  std::vector<std::int64_t> starts{0};

  std::size_t size() const { return norms.size(); }
  CsrView<T> view() const { return {values.data(), columns.data(), starts.data(), norms.data()}; }

  void reserve(std::size_t rows, std::size_t entries) {
    values.reserve(entries), columns.reserve(entries), norms.reserve(rows), starts.reserve(rows + 1);
  }
  std::size_t entries(std::size_t r) const { return static_cast<std::size_t>(starts[r + 1] - starts[r]); }
  /// Ends a row, whose entries lie before `end`.
  void end_row(const Kernel& kernel, std::size_t end) {
    const auto first = static_cast<std::size_t>(starts.back());
    T norm = 0;
    everlearn::norms(kernel, values.data() + first, 1, end - first, &norm);
    norms.push_back(norm);
    starts.push_back(static_cast<std::int64_t>(end));
  }
  void add_row(const SparseArrays& other, std::size_t r) {
    const auto first = other.starts[r], last = other.starts[r + 1];
    columns.insert(columns.end(), other.columns.begin() + first, other.columns.begin() + last);
    values.insert(values.end(), other.values.begin() + first, other.values.begin() + last);
    norms.push_back(other.norms[r]);
    starts.push_back(static_cast<std::int64_t>(values.size()));
  }
};

template <class T>
struct SparseBatch : Batch {
  SparseArrays<T> rows;
};

/// Values are rounded to Stored, so that sparse and dense rows have the same kernel values, but kept as T: their columns
/// take most of the memory.
template <class T, class Stored = T>
class SparseRows final : public Rows {
 public:
  SparseRows(std::size_t width, const Kernel& kernel) : width_(width), kernel_(kernel) {}

  std::size_t size() const override { return rows_.size(); }
  std::size_t width() const override { return width_; }
  std::unique_ptr<Rows> sibling() const override { return std::make_unique<SparseRows>(width_, kernel_); }
  const Kernel* kernel() const override { return std::is_same_v<T, Stored> ? &kernel_ : nullptr; }
  bool costly() const override { return rows_.values.size() > 32 * rows_.size(); }
  bool worth_computing_again() const override {
    return rows_.values.size() * sizeof(T) < 20 * rows_.size() * sizeof(float);
  }

  std::unique_ptr<Batch> take(const Block& block, std::span<const std::int64_t> which, bool) const override {
    auto batch = std::make_unique<SparseBatch<T>>();
    SparseArrays<T>& rows = batch->rows;
    const auto rounded = [](auto v) { return static_cast<T>(static_cast<Stored>(v)); };
    std::size_t entries = 0;  // counted first: growing while rows are read would touch twice the memory
    for (const auto r : which)
      visit_row(block, static_cast<std::size_t>(r), [&](std::int32_t, auto v) { entries += rounded(v) != 0; });
    // Without a branch on what is zero: every value is written, and the place to write advances if it is not zero. It
    // stays inside, also if another thread of the caller changes the block meanwhile.
    rows.reserve(which.size(), entries + 1);
    rows.values.resize(entries + 1), rows.columns.resize(entries + 1);
    std::size_t at = 0;
    for (const auto r : which) {
      visit_row(block, static_cast<std::size_t>(r), [&](std::int32_t k, auto v) {
        rows.columns[at] = k;
        rows.values[at] = rounded(v);
        at = std::min(at + static_cast<std::size_t>(rounded(v) != 0), entries);
      });
      rows.end_row(kernel_, at);
    }
    rows.values.resize(entries), rows.columns.resize(entries);
    return batch;
  }

  std::unique_ptr<Batch> take_kept(std::span<const std::int64_t> slots) const override {
    auto batch = std::make_unique<SparseBatch<T>>();
    std::size_t entries = 0;
    for (const auto s : slots) entries += rows_.entries(static_cast<std::size_t>(s));
    batch->rows.reserve(slots.size(), entries);
    for (const auto s : slots) batch->rows.add_row(rows_, static_cast<std::size_t>(s));
    return batch;
  }

  void append(const Batch& any) override {
    const auto& batch = static_cast<const SparseBatch<T>&>(any).rows;
    if (size() == 0) rows_.reserve(batch.size(), batch.values.size());
    for (std::size_t r = 0; r < batch.size(); ++r) rows_.add_row(batch, r);
  }

  void keep(std::size_t from, std::span<const std::int64_t> keep) override {
    std::size_t to = from;
    std::int64_t end = rows_.starts[from];
    for (const auto slot : keep) {
      const auto s = static_cast<std::size_t>(slot);
      const std::int64_t first = rows_.starts[s], last = rows_.starts[s + 1];
      std::copy(rows_.values.begin() + first, rows_.values.begin() + last, rows_.values.begin() + end);
      std::copy(rows_.columns.begin() + first, rows_.columns.begin() + last, rows_.columns.begin() + end);
      rows_.norms[to] = rows_.norms[s];
      end += last - first;
      rows_.starts[++to] = end;
    }
    std::fill(rows_.values.begin() + end, rows_.values.end(), T(0));
    std::fill(rows_.columns.begin() + end, rows_.columns.end(), 0);
    std::fill(rows_.norms.begin() + static_cast<std::ptrdiff_t>(to), rows_.norms.end(), T(0));
    rows_.norms.resize(to);
    rows_.starts.resize(to + 1);
    rows_.values.resize(static_cast<std::size_t>(end));
    rows_.columns.resize(static_cast<std::size_t>(end));
  }

  void evaluate(const Batch& any, std::size_t r0, std::size_t r1, std::size_t begin, std::size_t end,
                float* const* out) const override {
    const auto& batch = static_cast<const SparseBatch<T>&>(any);
    run(SparseJob<T>{kernel_, batch.rows.view(), r0, r1 - r0, width_, rows_.view(), begin, end, out});
  }

  void evaluate_exactly(const Batch& any, std::size_t r0, std::size_t r1, std::size_t begin, std::size_t end,
                        double* const* out) const override {
    if constexpr (std::is_same_v<T, double>) {
      const auto& batch = static_cast<const SparseBatch<T>&>(any);
      run(SparseJob<T, double>{kernel_, batch.rows.view(), r0, r1 - r0, width_, rows_.view(), begin, end, out});
    } else {
      refuse_single_precision();
    }
  }

  void wipe(std::size_t slot) override {
    const std::int64_t first = rows_.starts[slot], last = rows_.starts[slot + 1];
    std::fill(rows_.values.begin() + first, rows_.values.begin() + last, T(0));
    std::fill(rows_.columns.begin() + first, rows_.columns.begin() + last,
              0);  // which columns it had says something, too
    rows_.norms[slot] = T(0);
  }

  RowsImage image(std::span<const std::int64_t> slots, bool) const override {
    RowsImage image;
    image.starts.push_back(0);
    for (const auto slot : slots) {
      const auto s = static_cast<std::size_t>(slot);
      for (auto e = rows_.starts[s]; e < rows_.starts[s + 1]; ++e) {
        image.columns.push_back(rows_.columns[static_cast<std::size_t>(e)]);
        image.values.push_back(double(rows_.values[static_cast<std::size_t>(e)]));
      }
      image.starts.push_back(static_cast<std::int64_t>(image.columns.size()));
    }
    return image;
  }

 private:
  std::size_t width_;
  Kernel kernel_;
  SparseArrays<T> rows_;
};

// ------------------------------------------------------------------------------------------- external

/// Rows whose kernel values the caller computed: row r of the block against the kept rows, in their order,
/// then against the rows of the batch themselves.
struct ExternalBatch : Batch {
  std::vector<double> values;
  std::size_t count = 0, stride = 0;
};

class ExternalRows final : public Rows {
 public:
  std::size_t size() const override { return size_; }
  std::size_t width() const override { return 0; }
  std::unique_ptr<Rows> sibling() const override { return std::make_unique<ExternalRows>(); }
  bool external() const override { return true; }
  bool costly() const override { return true; }
  bool worth_computing_again() const override { return false; }

  std::unique_ptr<Batch> take(const Block& block, std::span<const std::int64_t> which, bool) const override {
    auto batch = std::make_unique<ExternalBatch>();
    batch->count = which.size();
    batch->stride = block.width;
    for (const auto r : which)
      visit_row(block, static_cast<std::size_t>(r),
                [&](std::int32_t, auto v) { batch->values.push_back(static_cast<double>(v)); });
    return batch;
  }
  std::unique_ptr<Batch> take_kept(std::span<const std::int64_t>) const override {
    throw std::logic_error("kernel rows from the caller cannot be computed again");
  }
  void append(const Batch& batch) override { size_ += static_cast<const ExternalBatch&>(batch).count; }
  void keep(std::size_t from, std::span<const std::int64_t> keep) override { size_ = from + keep.size(); }
  void evaluate(const Batch& any, std::size_t r0, std::size_t r1, std::size_t begin, std::size_t end,
                float* const* out) const override {
    copy(any, r0, r1, begin, end, out);
  }
  void evaluate_exactly(const Batch& any, std::size_t r0, std::size_t r1, std::size_t begin, std::size_t end,
                        double* const* out) const override {
    copy(any, r0, r1, begin, end, out);
  }
  void wipe(std::size_t) override {}
  RowsImage image(std::span<const std::int64_t>, bool) const override { return {}; }

 private:
  template <class Out>
  static void copy(const Batch& any, std::size_t r0, std::size_t r1, std::size_t begin, std::size_t end,
                   Out* const* out) {
    const auto& batch = static_cast<const ExternalBatch&>(any);
    if (end > batch.stride) throw std::logic_error("the caller's kernel block has too few columns");
    for (std::size_t r = r0; r < r1; ++r)
      std::transform(batch.values.data() + r * batch.stride + begin, batch.values.data() + r * batch.stride + end,
                     out[r - r0] + begin, [](double value) { return static_cast<Out>(value); });
  }

  std::size_t size_ = 0;
};

}  // namespace

Magnitudes magnitudes(const Block& block, std::span<const double> center) {
  Magnitudes found;
  double middle = 0;  // what a sparse row may have where it has no entry
  for (const double value : center) middle = std::max(middle, block.is_sparse ? std::abs(value) : 0.0);
  for (std::size_t r = 0; r < block.rows; ++r) {
    double size = middle;
    visit_row(block, r, [&](std::int32_t k, auto v) {
      size = std::max(size, std::abs(double(v) - (center.empty() ? 0.0 : center[static_cast<std::size_t>(k)])));
    });
    found.highest = std::max(found.highest, size);
    if (size > 0) found.lowest = std::min(found.lowest, size);
  }
  return found;
}

std::unique_ptr<Rows> make_rows(Layout layout, Precision precision, std::size_t width, const Kernel& kernel,
                                std::vector<double> center) {
  const auto dense = [&]<class T, class Stored>() -> std::unique_ptr<Rows> {
    return std::make_unique<DenseRows<T, Stored>>(width, kernel, std::move(center));
  };
  const auto sparse = [&]<class T, class Stored>() -> std::unique_ptr<Rows> {
    return std::make_unique<SparseRows<T, Stored>>(width, kernel);
  };
  const auto stored = [&](const auto& make) {
    switch (precision) {
      case Precision::f16: return make.template operator()<float, Half>();
      case Precision::f32: return make.template operator()<float, float>();
      case Precision::f64: return make.template operator()<double, double>();
    }
    throw std::logic_error("unknown precision");
  };
  switch (layout) {
    case Layout::dense: return stored(dense);
    case Layout::sparse: return stored(sparse);
    case Layout::external: return std::make_unique<ExternalRows>();
  }
  throw std::logic_error("unknown layout");
}

}  // namespace everlearn
