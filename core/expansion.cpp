#include "expansion.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <stdexcept>

#include "threads.hpp"

namespace everlearn {

/// Cached rows that are completed at the end of a block; measured, nearly all touches are of these.
constexpr std::size_t kRecent = 2048;
/// Where a value costs little to compute, rows that were not used for so long are not worth their memory. Measured
/// on a9a with a limit of 1 GB: less than half the memory in about the same time (1.99 s against 2.24 s, medians
/// of six runs that scatter by more than that).
constexpr std::size_t kUsefulRows = 6144;

Expansion::Expansion(std::unique_ptr<Rows> rows, std::size_t columns, std::size_t cache_bytes)
    : rows_(std::move(rows)), cache_(cache_bytes), columns_(columns) {}

std::int64_t Expansion::find(std::int64_t id) const {
  const auto at = slot_of_.find(id);
  return at == slot_of_.end() ? -1 : at->second;
}

std::vector<std::uint8_t> Expansion::flag(std::span<const std::int64_t> ids) const {
  std::vector<std::uint8_t> flags(size(), 0);
  for (const auto id : ids) {
    if (find(id) < 0) throw std::invalid_argument("row " + std::to_string(id) + " is not kept");
    flags[static_cast<std::size_t>(find(id))] = 1;
  }
  return flags;
}

void Expansion::resize(std::size_t n) {
  ids_.resize(n);
  labels_.resize(n);
  costs_.resize(n);
  const std::size_t padded = round_up(n, kPad);
  diagonal_.resize(padded, 0.0f);
  inverse_.resize(padded, 0.0f);
  for (Column& column : columns_) {
    column.alpha.resize(padded, 0.0);
    column.g.resize(padded, 0.0);
    column.edge.resize(padded, 0.0);
    column.gate.resize(padded, 0);
    column.member.resize(padded, 0);
    column.is_idle.resize(padded, 0);
    column.changed.resize(padded, 0);
  }
}

void Expansion::name_slot(std::size_t s, const Arrivals& arrivals, std::size_t r) {
  ids_[s] = arrivals.ids[r];
  labels_[s] = arrivals.labels[r];
  costs_[s] = arrivals.costs[r];
  slot_of_[ids_[s]] = static_cast<std::int64_t>(s);
}

void Expansion::set_diagonal(std::size_t s, float value) {
  diagonal_[s] = value;
  inverse_[s] = value > 1e-12f ? 1.0f / value : 1e30f;
}

void Expansion::evaluate(const Batch& batch, std::size_t count, float* const* out) {
  // Threads share out the kept rows: each needs the whole batch, but only its part of the store.
  parallel_ranges(count * rows_->size() < 20000 ? 1 : threads_, rows_->size(), kPad,
                  [&](std::size_t begin, std::size_t end) {
                    rows_->evaluate(batch, 0, count, begin, end, out);
                  });
  evaluations_ += count * rows_->size();
}

/// Takes back the slots from `begin` on and says why, if one of them has a kernel with itself that is no number.
void Expansion::refuse_endless(std::size_t begin) {
  for (std::size_t s = begin; s < size(); ++s)
    if (!std::isfinite(diagonal_[s])) {
      const std::int64_t id = ids_[s];
      keep_slots(begin, {});
      open_ = false;
      throw std::invalid_argument("the kernel of row " + std::to_string(id) +
                                  " with itself is not a finite number: scale the features, or choose a smaller "
                                  "gamma, coef0 or degree");
    }
}

void Expansion::open_block(const Batch& batch, const Arrivals& arrivals) {
  if (open_) throw std::logic_error("a block is open already");
  const std::size_t count = arrivals.ids.size();
  block_begin_ = size();
  const std::size_t n = block_begin_ + count;
  block_stride_ = round_up(n, kPad) + 16;  // an odd number of cache lines: columns are read, too
  const std::size_t room = count * block_stride_ + kPage;  // the last row is read as whole pages, too
  if (room > block_.size()) {
    block_.clear();  // nothing in it is worth copying
    block_.resize(room + room / 4);
  }
  rows_->append(batch);
  cache_.set_most_rows(rows_->costly() ? ~std::size_t{0} : kUsefulRows);
  resize(n);
  std::vector<float*> out(count);
  for (std::size_t r = 0; r < count; ++r) out[r] = block_.data() + r * block_stride_;
  block_pages_.clear();
  for (std::size_t r = 0; r < count; ++r)
    for (std::size_t at = 0; at < n; at += kPage) block_pages_.push_back(out[r] + at);
  if (arrivals.kernel != nullptr) {
    for (std::size_t r = 0; r < count; ++r) std::copy_n(arrivals.kernel[r], block_begin_, out[r]);
    rows_->evaluate(batch, 0, count, block_begin_, n, out.data());
    evaluations_ += count * count;
  } else {
    evaluate(batch, count, out.data());
  }
  open_ = true;
  for (std::size_t r = 0; r < count; ++r) {
    const std::size_t s = block_begin_ + r;
    std::fill(out[r] + n, out[r] + block_stride_, 0.0f);
    name_slot(s, arrivals, r);
    set_diagonal(s, out[r][s]);
  }
  refuse_endless(block_begin_);
  parallel_ranges(count * n * columns_.size() < kWorthThreads ? 1 : threads_, count, 1,
                  [&](std::size_t begin, std::size_t end) {
                    for (std::size_t r = begin; r < end; ++r) greet(block_begin_ + r, out[r]);
                  });
}

/// The gradients of a new slot: g = y - sum_t alpha_t K(slot, t) over the slots before the block.
void Expansion::greet(std::size_t s, const float* kernel) {
  for (std::size_t c = 0; c < columns_.size(); ++c) {
    Column& column = columns_[c];
    column.g[s] = sign(c, s);
    if (column.live) column.g[s] -= loops().dot(kernel, column.alpha.data(), block_begin_);
  }
}

/// Which slots are members of some column.
std::vector<std::uint8_t> Expansion::used() const {
  std::vector<std::uint8_t> any(size(), 0);
  for (const Column& column : columns_)
    for (std::size_t s = 0; s < any.size(); ++s) any[s] |= column.member[s];
  return any;
}

std::size_t Expansion::kept() const {
  const std::vector<std::uint8_t> any = used();
  return static_cast<std::size_t>(std::count(any.begin(), any.end(), 1));
}

std::vector<std::uint8_t> Expansion::kept_flags() const {
  std::vector<std::uint8_t> kept = used();
  if (std::none_of(columns_.begin(), columns_.end(), [](const Column& column) { return column.live; }))
    for (std::size_t s = 0; s < kept.size(); ++s) kept[s] = ids_[s] != kNobody;
  return kept;
}

void Expansion::let_go(std::span<const std::int64_t> ids) {
  std::vector<std::uint8_t> kept, gone;
  for (const auto id : ids) {
    const std::int64_t slot = find(id);
    if (slot < 0) continue;
    if (gone.empty()) kept = kept_flags(), gone.resize(size(), 0);
    gone[static_cast<std::size_t>(slot)] = !kept[static_cast<std::size_t>(slot)];
  }
  if (!gone.empty()) drop(gone);
}

namespace {

std::vector<std::int64_t> places_of(const std::vector<std::uint8_t>& flags, std::size_t from) {
  std::vector<std::int64_t> places;
  for (std::size_t s = from; s < flags.size(); ++s)
    if (flags[s]) places.push_back(static_cast<std::int64_t>(s));
  return places;
}

}  // namespace

void Expansion::close_block(bool keep_all) {
  const std::size_t old = block_begin_;
  std::vector<std::uint8_t> stays = used();
  if (keep_all) std::fill(stays.begin(), stays.end(), 1);
  const std::vector<std::int64_t> kept = places_of(stays, old);
  const std::size_t n = old + kept.size();
  keep_slots(old, kept);
  for (std::size_t t = 0; t < kept.size(); ++t) {
    const float* source = block_.data() + (static_cast<std::size_t>(kept[t]) - old) * block_stride_;
    RowCache::Entry& entry = cache_.touch(static_cast<std::int64_t>(old + t), n, 0);
    for (std::size_t at = 0; at < old; at += kPage)
      std::copy_n(source + at, std::min(kPage, old - at), entry.pages[at / kPage]);
    for (std::size_t u = 0; u < kept.size(); ++u) entry[old + u] = source[kept[u]];
    entry.valid = n;
  }
  // A row that was used lately will be used again soon: it gets its values for the new slots now, while they
  // are at hand.
  cache_.each_recent(kRecent, n, [&](RowCache::Entry& entry) {
    if (entry.valid != old) return;
    const float* column = block_.data() + entry.slot;
    for (std::size_t u = 0; u < kept.size(); ++u)
      entry[old + u] = column[(static_cast<std::size_t>(kept[u]) - old) * block_stride_];
    entry.valid = n;
  });
  std::fill_n(block_.data(), (stays.size() - old) * block_stride_, 0.0f);
  open_ = false;
  const auto unused = static_cast<std::size_t>(std::count(stays.begin(), stays.begin() + static_cast<std::ptrdiff_t>(old), 0));
  if (unused > 64 + n / 8) compact();
}

void Expansion::give_up_block() noexcept {
  try {
    // Nobody holds a row any more. What memory is left goes to the bookkeeping; the rows can be computed again.
    if (!rows_->external()) cache_.clear();
    if (open_) close_block(false);
  } catch (...) {
    open_ = false;
  }
}

void Expansion::append(const Batch& batch, const Arrivals& arrivals) {
  const std::size_t begin = size(), count = arrivals.ids.size();
  rows_->append(batch);
  resize(begin + count);
  for (std::size_t r = 0; r < count; ++r) {
    const std::size_t s = begin + r;
    float own = 0;
    float* const out = &own - s;
    rows_->evaluate(batch, r, r + 1, s, s + 1, &out);
    name_slot(s, arrivals, r);
    set_diagonal(s, own);
    for (std::size_t c = 0; c < columns_.size(); ++c) columns_[c].g[s] = sign(c, s);
  }
  evaluations_ += count;
  refuse_endless(begin);
}

std::vector<std::int64_t> Expansion::compact() {
  std::vector<std::uint8_t> gone = used();
  for (auto& flag : gone) flag = !flag;
  return drop(gone);
}

std::vector<std::int64_t> Expansion::drop(const std::vector<std::uint8_t>& gone) {
  std::vector<std::uint8_t> stays(gone.size());
  std::transform(gone.begin(), gone.end(), stays.begin(), [](std::uint8_t flag) { return !flag; });
  const auto first = static_cast<std::size_t>(std::find(stays.begin(), stays.end(), 0) - stays.begin());
  keep_slots(first, places_of(stays, first));
  return places_of(stays, 0);
}

void Expansion::wipe(std::size_t s) {
  for (std::size_t c = 0; c < columns(); ++c) leave(c, s);
  rows_->wipe(s);
  slot_of_.erase(ids_[s]);
  ids_[s] = kNobody;
}

void Expansion::relabel(std::size_t s, std::int32_t label, double factor) {
  labels_[s] = label;
  costs_[s] *= factor;
}

void Expansion::keep_slots(std::size_t from, const std::vector<std::int64_t>& kept) {
  if (from + kept.size() == size()) return;
  const auto renamed = [&](std::int64_t slot) -> std::int64_t {
    if (slot < static_cast<std::int64_t>(from)) return slot;
    const auto at = std::lower_bound(kept.begin(), kept.end(), slot);
    if (at == kept.end() || *at != slot) throw std::logic_error("a slot in use was dropped");
    return static_cast<std::int64_t>(from) + (at - kept.begin());
  };
  std::vector<Extremes> ends;  // before anything changes
  for (const Column& column : columns_) {
    ends.push_back(column.ends);
    if (column.live) ends.back().up = renamed(column.ends.up), ends.back().down = renamed(column.ends.down);
  }
  for (std::size_t s = from; s < size(); ++s) slot_of_.erase(ids_[s]);
  rows_->keep(from, kept);
  cache_.keep(from, kept);
  const auto squeeze = [&](auto& values) {
    for (std::size_t t = 0; t < kept.size(); ++t) values[from + t] = values[static_cast<std::size_t>(kept[t])];
    std::fill(values.begin() + static_cast<std::ptrdiff_t>(from + kept.size()), values.end(), 0);
  };
  squeeze(ids_);
  squeeze(labels_);
  squeeze(costs_);
  squeeze(diagonal_);
  squeeze(inverse_);
  for (std::size_t c = 0; c < columns_.size(); ++c) {
    Column& column = columns_[c];
    squeeze(column.alpha);
    squeeze(column.g);
    squeeze(column.edge);
    squeeze(column.gate);
    squeeze(column.member);
    squeeze(column.changed);
    std::erase_if(column.idle, [&](std::int64_t s) { return static_cast<std::size_t>(s) >= from; });
    squeeze(column.is_idle);
    for (std::size_t s = from; s < from + kept.size(); ++s)
      if (column.is_idle[s]) column.idle.push_back(static_cast<std::int64_t>(s));
    column.ends = ends[c];
  }
  resize(from + kept.size());
  for (std::size_t s = from; s < size(); ++s) slot_of_[ids_[s]] = static_cast<std::int64_t>(s);
}

void Expansion::each_column(const std::function<void(std::size_t)>& work) {
  parallel_ranges(threads_, columns_.size(), 1, [&](std::size_t begin, std::size_t end) {
    for (std::size_t c = begin; c < end; ++c) work(c);
  });
}

void Expansion::join(std::size_t c, std::size_t s) {
  Column& column = columns_[c];
  if (column.member[s]) return;
  column.member[s] = 1;
  column.edge[s] = sign(c, s) * costs_[s];
  set_alpha(c, s, 0.0);
}

void Expansion::leave(std::size_t c, std::size_t s) {
  Column& column = columns_[c];
  column.member[s] = 0;
  column.gate[s] = 0;
  column.edge[s] = 0;
}

void Expansion::unlearn(std::size_t c, std::size_t s) {
  const auto slot = static_cast<std::int64_t>(s);
  const RowView row = hold(slot);
  const double move = -columns_[c].alpha[s];
  set_alpha(c, s, 0.0);
  descend(c, {&row, 1}, {&move, 1});
  release(slot);
}

void Expansion::set_alpha(std::size_t c, std::size_t s, double alpha) {
  Column& column = columns_[c];
  column.above += static_cast<std::size_t>(alpha > 0) - static_cast<std::size_t>(column.alpha[s] > 0);
  column.below += static_cast<std::size_t>(alpha < 0) - static_cast<std::size_t>(column.alpha[s] < 0);
  column.alpha[s] = alpha;
  column.gate[s] = static_cast<std::uint8_t>((alpha < upper(c, s) ? kMayRise : 0) | (alpha > lower(c, s) ? kMayFall : 0));
  if (alpha == 0.0 && !column.is_idle[s]) {
    column.is_idle[s] = 1;
    column.idle.push_back(static_cast<std::int64_t>(s));
  }
}

void Expansion::set_edge(std::size_t c, std::size_t s, double edge) {
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

std::size_t Expansion::leave_idle(std::size_t c, std::size_t most, const std::function<double(std::size_t)>& key) {
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

void Expansion::restore(const Batch& batch, const Arrivals& arrivals, std::span<const float> diagonal) {
  rows_->append(batch);
  resize(arrivals.ids.size());
  for (std::size_t s = 0; s < size(); ++s) {
    name_slot(s, arrivals, s);
    set_diagonal(s, diagonal[s]);
  }
}

void Expansion::restore_column(std::size_t c, std::span<const double> alpha, std::span<const double> g,
                               std::span<const double> edge, std::span<const std::uint8_t> member, double bias,
                               double delta, bool live) {
  Column& column = columns_[c];
  std::copy(g.begin(), g.end(), column.g.begin());
  for (std::size_t s = 0; s < size(); ++s)
    if (member[s]) {
      column.member[s] = 1;
      column.edge[s] = edge[s];
      set_alpha(c, s, alpha[s]);
    }
  column.bias = bias;
  column.delta = delta;
  column.live = live;
  column.ends = scan(c);
}

void Expansion::restore_row(std::size_t slot, std::span<const float> values) {
  RowCache::Entry& entry = cache_.touch(static_cast<std::int64_t>(slot), values.size(), 0);
  for (std::size_t s = 0; s < values.size(); ++s) entry[s] = values[s];
  entry.valid = values.size();
}

void Expansion::decide(const Block& block, int threads, double* out) const {
  constexpr std::size_t kRows = 64, kSlots = 1024;
  const std::size_t n = size(), k = columns_.size();
  parallel_ranges(block.rows * n < 50000 ? 1 : threads, block.rows, kRows, [&](std::size_t begin, std::size_t end) {
    std::vector<float> values(kRows * kSlots);
    std::vector<float*> rows(kRows);
    std::vector<std::int64_t> which;
    for (std::size_t r0 = begin; r0 < end; r0 += kRows) {
      const std::size_t count = std::min(kRows, end - r0);
      which.clear();
      for (std::size_t r = r0; r < r0 + count; ++r) which.push_back(static_cast<std::int64_t>(r));
      const auto batch = rows_->take(block, which);
      for (std::size_t r = r0; r < r0 + count; ++r)
        for (std::size_t c = 0; c < k; ++c) out[r * k + c] = columns_[c].bias;
      for (std::size_t s0 = 0; s0 < n; s0 += kSlots) {
        const std::size_t s1 = std::min(s0 + kSlots, n);
        for (std::size_t r = 0; r < count; ++r) rows[r] = values.data() + r * kSlots - s0;
        rows_->evaluate(*batch, 0, count, s0, s1, rows.data());
        for (std::size_t r = 0; r < count; ++r)
          for (std::size_t c = 0; c < k; ++c)
            out[(r0 + r) * k + c] += loops().dot(values.data() + r * kSlots, columns_[c].alpha.data() + s0, s1 - s0);
      }
    }
  });
}

}  // namespace everlearn
