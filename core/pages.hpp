// Memory for kernel rows: pages of one size, cut from large slabs and reused.
//
// A row grows page by page, so that it is never copied to grow. A page that is given back is overwritten with zeros at
// once, so that kernel values of dropped rows do not stay in memory.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdlib>
#include <memory>
#include <new>
#include <vector>

#ifdef __linux__
#include <sys/mman.h>
#endif

namespace everlearn {

/// Floats in a page.
inline constexpr std::size_t kPage = 2048;

/// A kernel row in its pages. It does not keep the pages: see HeldRow (kernel_rows.hpp).
struct RowView {
  const float* const* pages;

  float operator[](std::size_t s) const { return pages[s / kPage][s % kPage]; }
};

class PagePool {
 public:
  /// A page of zeros.
  float* take() {
    if (!free_.empty()) return pop(free_);
    if (fresh_.empty()) add_slab();
    float* page = pop(fresh_);
    std::fill_n(page, kPage, 0.0f);
    return page;
  }
  void give(float* page) noexcept {
    std::fill_n(page, kPage, 0.0f);
    free_.push_back(page);  // add_slab() has reserved room for every page
  }

 private:
  struct Free {
    void operator()(float* p) const { std::free(p); }
  };

  static float* pop(std::vector<float*>& pages) {
    float* page = pages.back();
    pages.pop_back();
    return page;
  }

  void add_slab() {
    constexpr std::size_t kAlign = 2u << 20, kSlab = 2u << 20, kPages = kSlab / (kPage * sizeof(float));
    slabs_.reserve(slabs_.size() + 1);
    fresh_.reserve(kPages);
    free_.reserve((slabs_.size() + 1) * kPages);
    std::unique_ptr<float[], Free> slab(static_cast<float*>(std::aligned_alloc(kAlign, kSlab)));
    if (!slab) throw std::bad_alloc();
#ifdef __linux__
    madvise(slab.get(), kSlab, MADV_HUGEPAGE);  // a hint: passes over many rows then miss the page tables less often
#endif
    for (std::size_t p = kPages; p-- > 0;) fresh_.push_back(slab.get() + p * kPage);
    slabs_.push_back(std::move(slab));
  }

  std::vector<float*> free_, fresh_;  // pages given back, and pages never used
  std::vector<std::unique_ptr<float[], Free>> slabs_;
};

}  // namespace everlearn
