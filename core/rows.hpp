// Rows of features and the kernel values between them.
//
// `Block` is a view of the caller's rows. `Rows` keeps the rows of an expansion in the layout that the kernel loops
// need: dense rows in panels, sparse rows as CSR, or no features at all when the caller passes kernel values. A `Batch`
// is a few rows taken from a Block or out of the store, ready to be evaluated against the kept rows or to be appended
// to them.
#pragma once

#include <cstdint>
#include <limits>
#include <memory>
#include <span>
#include <vector>

#include "arch/loops.hpp"
#include "kernel.hpp"

namespace everlearn {

enum class Layout { dense, sparse, external };
/// Of values: those of the caller are f32 or f64, those that are kept may also be f16.
enum class Precision { f16, f32, f64 };

/// The caller's rows: dense row-major, or CSR with ascending columns, or kernel values (external).
struct Block {
  Precision precision = Precision::f32;
  bool is_sparse = false;
  std::size_t rows = 0, width = 0;
  const void* values = nullptr;
  const std::int32_t* columns = nullptr;
  const std::int64_t* starts = nullptr;
};

/// Calls visit(column, value) for the stored entries of a row of the caller's block.
template <class V>
void visit_row(const Block& block, std::size_t r, V&& visit) {
  const auto typed = [&](const auto* values) {
    if (block.is_sparse) {
      for (auto e = block.starts[r]; e < block.starts[r + 1]; ++e) visit(block.columns[e], values[e]);
    } else {
      for (std::size_t k = 0; k < block.width; ++k) visit(static_cast<std::int32_t>(k), values[r * block.width + k]);
    }
  };
  if (block.precision == Precision::f32) typed(static_cast<const float*>(block.values));
  else typed(static_cast<const double*>(block.values));
}

/// Plain arrays of kept rows, for saving and for support_vectors_.
struct RowsImage {
  std::vector<double> values;
  std::vector<std::int32_t> columns;
  std::vector<std::int64_t> starts;
};

class Batch {
 public:
  virtual ~Batch() = default;
};

class Rows {
 public:
  virtual ~Rows() = default;

  virtual std::size_t size() const = 0;
  virtual std::size_t width() const = 0;
  /// An empty store for rows of the same kind.
  virtual std::unique_ptr<Rows> sibling() const = 0;

  /// Takes the named rows of a block; `as_stored` says that they come from image(..., true).
  virtual std::unique_ptr<Batch> take(const Block& block, std::span<const std::int64_t> which,
                                      bool as_stored = false) const = 0;
  /// Takes kept rows.
  virtual std::unique_ptr<Batch> take_kept(std::span<const std::int64_t> slots) const = 0;
  virtual void append(const Batch& batch) = 0;
  /// Overwrites the features of a kept row, which is to be dropped later.
  virtual void wipe(std::size_t slot) = 0;
  /// Drops the rows from `from` on, except `keep` (ascending slots), which move up in order. The memory behind the
  /// last row is overwritten: values of a dropped row are nowhere in the store.
  virtual void keep(std::size_t from, std::span<const std::int64_t> keep) = 0;

  /// out[r][s] = K(row r of the batch, kept row s) for r in [r0, r1) and s in [begin, end).
  virtual void evaluate(const Batch& batch, std::size_t r0, std::size_t r1, std::size_t begin, std::size_t end,
                        float* const* out) const = 0;

  /// The same in double precision; rows must be kept so, too.
  virtual void evaluate_exactly(const Batch& batch, std::size_t r0, std::size_t r1, std::size_t begin, std::size_t end,
                                double* const* out) const = 0;

  /// The kernel, if rows are kept as they are; null if they are rounded or their kernel values come from the caller.
  virtual const Kernel* kernel() const { return nullptr; }
  /// Whether kernel values come from the caller and cannot be computed again.
  virtual bool external() const { return false; }
  /// Whether a kernel value of a single pair costs more than fetching one from memory at a random place.
  virtual bool costly() const = 0;
  /// Whether it takes less time to compute the kernel values of many pairs again than to get memory for them, write it
  /// and read it. Between these values and costly ones are those that are worth keeping but not worth a fetch.
  virtual bool worth_computing_again() const = 0;

  /// The features of kept rows: as the caller gave them, or, to be read back bit for bit, as stored.
  virtual RowsImage image(std::span<const std::int64_t> slots, bool as_stored) const = 0;
};

/// The largest magnitude of a value in each row, after the center is subtracted: the highest of all, and the lowest of
/// the rows that are not zero.
struct Magnitudes {
  double highest = 0, lowest = std::numeric_limits<double>::infinity();
};
Magnitudes magnitudes(const Block& block, std::span<const double> center);

/// `center` (empty, or one value for each column) is subtracted from every dense row: kernels of differences and a
/// linear machine with a bias give the same results, and distances far from the origin keep their digits.
std::unique_ptr<Rows> make_rows(Layout layout, Precision precision, std::size_t width, const Kernel& kernel,
                                std::vector<double> center);

}  // namespace everlearn
