// The passes of an expansion over the gradients of a column, page by page, because kernel rows lie in pages.
#include <algorithm>
#include <cmath>
#include <limits>

#include "expansion.hpp"
#include "threads.hpp"

namespace everlearn {
namespace {

constexpr double kInf = std::numeric_limits<double>::infinity();

/// Merges the extremes of the slots from `at` on into those of the slots before; the lower slot wins ties.
void merge(Extremes& best, const Extremes& here, std::size_t at) {
  if (here.up >= 0 && here.high > best.high) best.high = here.high, best.up = here.up + static_cast<std::int64_t>(at);
  if (here.down >= 0 && here.low < best.low) best.low = here.low, best.down = here.down + static_cast<std::int64_t>(at);
}

void merge(Gain& best, const Gain& here, std::size_t at) {
  if (here.gain > best.gain) best = {here.gain, here.slot + static_cast<std::int64_t>(at)};
}

/// The part of a move that concerns the slots from `at` on; none if there are fewer moves.
Descent page(std::span<const Move> moves, std::size_t which, std::size_t at) {
  if (which >= moves.size()) return {};
  return {moves[which].row.pages[at / kPage], moves[which].length};
}

}  // namespace

void Expansion::descend(std::size_t c, std::span<const RowView> rows, std::span<const double> moves) {
  double* g = columns_[c].g.data();
  const std::size_t pages = (size() + kPage - 1) / kPage;
  std::vector<const float*> values(pages * rows.size());  // before any gradient changes, because it may throw
  for (std::size_t p = 0; p < pages; ++p)
    for (std::size_t r = 0; r < rows.size(); ++r) values[p * rows.size() + r] = rows[r].pages[p];
  const int workers = rows.size() * size() < kWorthThreads ? 1 : threads();
  parallel_ranges(workers, size(), kPage, [&](std::size_t begin, std::size_t end) {
    for (std::size_t at = begin; at < end; at += kPage)
      loops().rank_update(g + at, values.data() + at / kPage * rows.size(), moves.data(), rows.size(), 0,
                          std::min(kPage, end - at));
  });
}

void Expansion::descend(std::size_t c, std::span<const std::int64_t> slots, std::span<const double> moves) {
  double* g = columns_[c].g.data();
  kernel_.sweep(slots, [&](std::size_t first, std::size_t begin, std::size_t end, std::span<float* const> lines) {
    loops().rank_update(g + begin, lines.data(), moves.data() + first, lines.size(), 0, end - begin);
  });
}

Extremes Expansion::descend_pair(std::size_t c, const HeldRow& first, const HeldRow& second, double length) {
  Column& column = columns_[c];
  const RowView ki = first.view(), kj = second.view();
  Extremes best{-kInf, kInf, -1, -1};
  for (std::size_t at = 0; at < size(); at += kPage) {
    const Extremes here = loops().step(column.g.data() + at, column.gate.data() + at, ki.pages[at / kPage],
                                       kj.pages[at / kPage], length, std::min(kPage, size() - at));
    merge(best, here, at);
  }
  return best;
}

Extremes Expansion::scan(std::size_t c) const {
  return loops().scan(columns_[c].g.data(), columns_[c].gate.data(), size());
}

/// A pass writes to the gradients only if it is given a move.
CoefficientView Expansion::view(std::size_t c, std::size_t at) const {
  const Column& column = columns_[c];
  return {const_cast<double*>(column.g.data()) + at,
          column.gate.data() + at,
          column.alpha.data() + at,
          column.edge.data() + at,
          diagonal_.data() + at,
          inverse_.data() + at};
}

Survey Expansion::survey(std::size_t c) const { return survey_pass(c, {}); }
Survey Expansion::survey(std::size_t c, std::span<const Move> moves) { return survey_pass(c, moves); }

Survey Expansion::survey_pass(std::size_t c, std::span<const Move> moves) const {
  Survey all{{-kInf, kInf, -1, -1}, 0, 0, 0};
  for (std::size_t at = 0; at < size(); at += kPage) {
    const Survey here =
        loops().survey(view(c, at), page(moves, 0, at), page(moves, 1, at), std::min(kPage, size() - at));
    merge(all.ends, here.ends, at);
    all.gap += here.gap;
    all.loss += here.loss;
    all.squared_loss += here.squared_loss;
  }
  return all;
}

Gain Expansion::best_gain(std::size_t c, double tolerance) const { return gain_pass(c, tolerance, {}); }
Gain Expansion::best_gain(std::size_t c, double tolerance, std::span<const Move> moves) {
  return gain_pass(c, tolerance, moves);
}

Gain Expansion::gain_pass(std::size_t c, double tolerance, std::span<const Move> moves) const {
  Gain best{0, -1};
  for (std::size_t at = 0; at < size(); at += kPage) {
    const std::size_t n = std::min(kPage, size() - at);
    merge(best, loops().best_gain(view(c, at), page(moves, 0, at), page(moves, 1, at), tolerance, n), at);
  }
  return best;
}

Gain Expansion::partner(std::size_t c, const HeldRow& row, const Pivot& pivot) const {
  const RowView k = row.view();
  Gain best{0, -1};
  for (std::size_t at = 0; at < size(); at += kPage) {
    Pivot here = pivot;
    here.slot -= static_cast<std::int64_t>(at);
    merge(best, loops().partner(view(c, at), k.pages[at / kPage], here, std::min(kPage, size() - at)), at);
  }
  return best;
}

}  // namespace everlearn
