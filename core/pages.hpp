// Memory for kernel rows: pages of one size, taken from large slabs and given back for the next row.
//
// A row grows page by page, so it is never copied to grow, and memory is asked of the system once. A page that is given
// back is overwritten with zeros at once, so that kernel values of dropped rows do not stay in memory.
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

/// A kernel row as it lies in pages.
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
  void give(float* page) {
    std::fill_n(page, kPage, 0.0f);
    free_.push_back(page);
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
    constexpr std::size_t kAlign = 2u << 20, kSlab = 2u << 20;
    std::unique_ptr<float[], Free> slab(static_cast<float*>(std::aligned_alloc(kAlign, kSlab)));
    if (!slab) throw std::bad_alloc();
#ifdef __linux__
    madvise(slab.get(), kSlab, MADV_HUGEPAGE);  // a sweep over the rows misses the page tables less; a wish only
#endif
    constexpr std::size_t pages = kSlab / (kPage * sizeof(float));
    for (std::size_t p = pages; p-- > 0;) fresh_.push_back(slab.get() + p * kPage);
    slabs_.push_back(std::move(slab));
  }

  std::vector<float*> free_, fresh_;  // given back, and never used
  std::vector<std::unique_ptr<float[], Free>> slabs_;
};

}  // namespace everlearn
