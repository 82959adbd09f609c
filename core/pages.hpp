// Memory for kernel rows: pages of one size, cut from large slabs and reused.
//
// A row grows page by page, so that it is never copied to grow. A page that is given back is overwritten with zeros at
// once, so that kernel values of dropped rows do not stay in memory.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdlib>
#include <memory>
#include <mutex>
#include <new>
#include <utility>
#include <vector>

#ifdef __linux__
#include <sys/mman.h>
#endif

#include "threads.hpp"

namespace everlearn {

/// Floats in a page.
inline constexpr std::size_t kPage = 2048;

/// A kernel row in its pages. It does not keep the pages: see HeldRow (kernel_rows.hpp).
struct RowView {
  const float* const* pages;

  float operator[](std::size_t s) const { return pages[s / kPage][s % kPage]; }
};

/// The memory that pages are cut from.
struct Slab {
  static constexpr std::size_t kBytes = 2u << 20, kPages = kBytes / (kPage * sizeof(float));

  struct Free {
    void operator()(float* p) const { std::free(p); }
  };
  using Pointer = std::unique_ptr<float[], Free>;

  static Pointer make() {
    Pointer slab(static_cast<float*>(std::aligned_alloc(kBytes, kBytes)));
    if (!slab) throw std::bad_alloc();
    return slab;
  }
};

/// A matrix of floats with room for `rows` rows, `stride` floats apart. What is in it is not known at first. A large one
/// asks for huge pages: it is written and read as a whole, in one round of a solver.
class BigMatrix {
 public:
  BigMatrix(std::size_t rows, std::size_t stride) : stride_(stride) {
    const std::size_t bytes = rows * stride * sizeof(float);
    const bool large = bytes >= Slab::kBytes;
    const std::align_val_t alignment{large ? Slab::kBytes : 64};
    values_ = {static_cast<float*>(::operator new(bytes, alignment)), Free{alignment}};
#ifdef __linux__
    if (large) madvise(values_.get(), bytes, MADV_HUGEPAGE);
#endif
  }
  float* row(std::size_t r) { return values_.get() + r * stride_; }
  const float* row(std::size_t r) const { return values_.get() + r * stride_; }

 private:
  struct Free {
    std::align_val_t alignment;
    void operator()(float* p) const { ::operator delete(p, alignment); }
  };

  std::size_t stride_;
  std::unique_ptr<float[], Free> values_{nullptr, Free{}};
};

/// Slabs of models that are gone, for the next one: the system takes longer to hand out 64 MB than a small problem takes
/// to solve. A process keeps at most this much.
class SpareSlabs {
 public:
  static constexpr std::size_t kMost = 32;

  static SpareSlabs& of_process() {
    static SpareSlabs* const spare = new SpareSlabs;  // never destroyed: models may outlive static objects
    return *spare;
  }
  /// A slab, or null. Whoever meets another thread here does without, so that a fork finds no lock taken.
  Slab::Pointer take() noexcept {
    const std::unique_lock lock(in_use_, std::try_to_lock);
    if (!lock || count_ == 0) return nullptr;
    return std::move(slabs_[--count_]);
  }
  void give(Slab::Pointer slab) noexcept {
    const std::unique_lock lock(in_use_, std::try_to_lock);
    if (lock && count_ < kMost) slabs_[count_++] = std::move(slab);
  }

 private:
  std::array<Slab::Pointer, kMost> slabs_;
  std::size_t count_ = 0;
  std::mutex in_use_;
};

class PagePool {
 public:
  PagePool() = default;
  PagePool(PagePool&&) = default;
  PagePool& operator=(PagePool&&) = delete;
  ~PagePool() {
    for (std::size_t s = 0; s < std::min(slabs_.size(), SpareSlabs::kMost); ++s)
      SpareSlabs::of_process().give(std::move(slabs_[s]));
  }

  /// A page of zeros.
  float* take() {
    if (!free_.empty()) return pop(free_);
    if (fresh_.empty()) add_slab();
    float* page = pop(fresh_);
    std::fill_n(page, kPage, 0.0f);
    return page;
  }
  /// Has so many pages ready, new ones filled with zeros by several threads, unless memory runs out.
  void make_room(std::size_t pages, int threads) noexcept {
    const std::size_t first = slabs_.size();
    std::vector<float*> unwritten;
    unwritten.swap(fresh_);
    try {
      while (free_.size() + unwritten.size() < pages) {
        add_slab();
        free_.insert(free_.end(), fresh_.begin(), fresh_.end());  // add_slab() has reserved room
        fresh_.clear();
      }
    } catch (const std::bad_alloc&) {
    }
    unwritten.swap(fresh_);
    parallel_each(threads, slabs_.size() - first,
                  [&](std::size_t s) { std::fill_n(slabs_[first + s].get(), Slab::kBytes / sizeof(float), 0.0f); });
  }
  void give(float* page) noexcept {
    std::fill_n(page, kPage, 0.0f);
    free_.push_back(page);  // add_slab() has reserved room for every page
  }

 private:
  static float* pop(std::vector<float*>& pages) {
    float* page = pages.back();
    pages.pop_back();
    return page;
  }

  void add_slab() {
    slabs_.reserve(slabs_.size() + 1);
    fresh_.reserve(Slab::kPages);
    free_.reserve((slabs_.size() + 1) * Slab::kPages);
    Slab::Pointer slab = slabs_.size() < SpareSlabs::kMost ? SpareSlabs::of_process().take() : nullptr;
    if (!slab) slab = Slab::make();
#ifdef __linux__
    // A hint: passes over many rows then miss the page tables less often. In a fresh process huge pages cost more than
    // that, because the system has to compact memory for them.
    if (slabs_.size() >= SpareSlabs::kMost) madvise(slab.get(), Slab::kBytes, MADV_HUGEPAGE);
#endif
    for (std::size_t p = Slab::kPages; p-- > 0;) fresh_.push_back(slab.get() + p * kPage);
    slabs_.push_back(std::move(slab));
  }

  std::vector<float*> free_, fresh_;  // pages given back, and pages never used
  std::vector<Slab::Pointer> slabs_;
};

}  // namespace everlearn
