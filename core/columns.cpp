// The columns of an expansion: who is a member, what the coefficients are, and the scores that follow.
#include <algorithm>
#include <cmath>
#include <limits>

#include "expansion.hpp"
#include "score.hpp"
#include "threads.hpp"

namespace everlearn {

void Expansion::each_column(FunctionRef<void(std::size_t)> work) {
  const std::size_t k = columns_.size();
  parallel_each(threads(), k + kernel_.chunks_ahead(), [&](std::size_t i) {
    if (i < k) work(i);
    else kernel_.evaluate_ahead(i - k);
  });
  kernel_.end_ahead();
}

void Expansion::join(std::size_t c, std::size_t s) noexcept {
  Column& column = columns_[c];
  if (column.member[s]) return;
  column.member[s] = 1;
  column.edge[s] = sign(c, s) * costs_[s];
  set_alpha(c, s, 0.0);
}

void Expansion::leave(std::size_t c, std::size_t s) noexcept {
  Column& column = columns_[c];
  column.member[s] = 0;
  column.gate[s] = 0;
  column.edge[s] = 0;
}

void Expansion::set_alpha(std::size_t c, std::size_t s, double alpha) noexcept {
  Column& column = columns_[c];
  column.above += static_cast<std::size_t>(alpha > 0) - static_cast<std::size_t>(column.alpha[s] > 0);
  column.below += static_cast<std::size_t>(alpha < 0) - static_cast<std::size_t>(column.alpha[s] < 0);
  column.alpha[s] = alpha;
  column.gate[s] =
      static_cast<std::uint8_t>((alpha < upper(c, s) ? kMayRise : 0) | (alpha > lower(c, s) ? kMayFall : 0));
  if (alpha == 0.0 && !column.is_idle[s]) {
    column.is_idle[s] = 1;
    column.idle.push_back(static_cast<std::int64_t>(s));  // resize() has reserved room
  }
}

void Expansion::unlearn(std::size_t c, std::size_t s) {
  const HeldRow row = hold(s);
  const RowView view = row.view();
  const double move = -columns_[c].alpha[s];
  descend(c, {&view, 1}, {&move, 1});
  set_alpha(c, s, 0.0);
}

void Expansion::set_edge(std::size_t c, std::size_t s, double edge) noexcept {
  columns_[c].edge[s] = edge;
  set_alpha(c, s, columns_[c].alpha[s]);
}

const std::vector<std::int64_t>& Expansion::idle(std::size_t c) {
  Column& column = columns_[c];
  std::erase_if(column.idle, [&](std::int64_t slot) {
    const auto s = static_cast<std::size_t>(slot);
    column.is_idle[s] = column.member[s] && column.alpha[s] == 0.0;
    return !column.is_idle[s];
  });
  return column.idle;
}

std::size_t Expansion::leave_idle(std::size_t c, std::size_t most, FunctionRef<double(std::size_t)> key) {
  struct Candidate {
    double key;
    std::int64_t slot;
    bool operator<(const Candidate& other) const { return key < other.key || (key == other.key && slot < other.slot); }
  };
  if (idle(c).size() <= most) return 0;
  std::vector<Candidate> candidates;
  for (const auto slot : idle(c)) candidates.push_back({key(static_cast<std::size_t>(slot)), slot});
  std::nth_element(candidates.begin(), candidates.begin() + static_cast<std::ptrdiff_t>(most), candidates.end());
  for (std::size_t k = most; k < candidates.size(); ++k) leave(c, static_cast<std::size_t>(candidates[k].slot));
  return candidates.size() - most;
}

double Expansion::free_margin() const {
  constexpr double kInf = std::numeric_limits<double>::infinity();
  double most = -1;
  for (std::size_t s = 0; s < size(); ++s) {
    const bool free = std::any_of(columns_.begin(), columns_.end(), [&](const Column& column) {
      return column.alpha[s] != 0 && column.alpha[s] != column.edge[s];
    });
    if (!free) continue;
    double first = -kInf, second = -kInf;  // the two largest scores
    for (std::size_t c = 0; c < columns(); ++c) {
      const double f = sign(c, s) - columns_[c].g[s] + columns_[c].bias;
      second = std::max(second, std::min(first, f));
      first = std::max(first, f);
    }
    most = std::max(most, columns() == 1 ? std::abs(first) : first - second);
  }
  return most;
}

void Expansion::decide(const Block& block, int threads, double* out) const {
  const std::size_t k = columns_.size();
  for_each_tile<float>(*rows_, block, threads, {64, 1024}, [&] {
    return [&](const Tile<float>& tile) {
      for (std::size_t r = 0; r < tile.rows; ++r)
        for (std::size_t c = 0; c < k; ++c) {
          double& f = out[(tile.r0 + r) * k + c];
          if (tile.first) f = columns_[c].bias;
          f += loops().dot(tile.lines[r], columns_[c].alpha.data() + tile.s0, tile.slots);
        }
    };
  });
}

}  // namespace everlearn
