#include "incremental.hpp"

#include <algorithm>
#include <cmath>
#include <new>
#include <stdexcept>
#include <string>

#include "incremental_errors.hpp"
#include "incremental_savepoint.hpp"
#include "working_set.hpp"

namespace everlearn {
namespace {

/// What is added to every K(s, s), relative to it.
constexpr double kRidge = 1e-11;
/// Rows whose kernel values are computed together.
constexpr std::size_t kBlock = 64;
/// Tolerance of the approximate solution before the exact part begins; kernel values are floats until then.
constexpr double kApproximate = 1e-4;

}  // namespace

/// Runs work(c) for every column. If one fails, coefficients and counts are as before, and the margin sets have to be
/// rebuilt.
void Incremental::each_column(FunctionRef<void(std::size_t)> work) {
  std::vector<std::pair<Column, Counts>> before;
  for (std::size_t c = 0; c < expansion_.columns(); ++c) before.emplace_back(expansion_.column(c), states_[c].counts);
  try {
    expansion_.each_column(work);
  } catch (...) {
    for (std::size_t c = 0; c < before.size(); ++c) {
      put_back_column(expansion_.column(c), before[c].first);
      states_[c].counts = before[c].second;
      lose_margin(c);
    }
    try {
      throw;
    } catch (const IndefiniteKernel& error) {
      refuse(error.slot);
    }
  }
  sum_counts();
}

void Incremental::lose_margin(std::size_t c) noexcept {
  clear_margin(c);
  states_[c].watching = false;
  states_[c].lost = true;
}

void Incremental::rebuild() {
  if (std::none_of(states_.begin(), states_.end(), [](const ColumnState& state) { return state.lost; })) return;
  each_column([&](std::size_t c) {
    if (!states_[c].lost) return;
    change(c, [&] {
      start_from_coefficients(c);
      settle_rows(c);
    });
    states_[c].lost = false;
  });
}

void Incremental::sum_counts() {
  counts.steps = counts.fallbacks = counts.refreshes = 0;
  for (const ColumnState& state : states_) {
    counts.steps += state.counts.steps;
    counts.fallbacks += state.counts.fallbacks;
    counts.refreshes += state.counts.refreshes;
  }
}

void Incremental::refuse(std::size_t slot) const {
  throw std::invalid_argument("the kernel is not positive semi-definite, as row " +
                              std::to_string(expansion_.id(slot)) +
                              " shows: an exact solution needs a kernel that is, such as rbf, linear, or poly with "
                              "coef0 of 0 or above");
}

// ------------------------------------------------------------------------------------------- rows in, rows out

/// Appends rows that belong to no column yet; returns their kernel rows if they are to be computed now.
std::vector<ExactRows::Held> Incremental::append_rows(const LabeledRows& rows, std::span<const std::int64_t> which,
                                                      bool compute_rows) {
  const Arrived arrived(rows, which);
  const auto batch = expansion_.rows().take(rows.block, which);
  const std::size_t first = expansion_.size(), n = first + which.size();
  expansion_.append(*batch, arrived);
  try {
    diagonal_.resize(n);
    ridge_.resize(n);
    for (std::size_t s = first; s < n; ++s) {
      double* const own = diagonal_.data();
      expansion_.rows().evaluate_exactly(*batch, s - first, s - first + 1, s, s + 1, &own);
    }
    for (ColumnState& state : states_) {
      state.settled.resize(n, 0);
      state.place.resize(n, -1);
    }
    if (saved_) saved_->reserve(n);
    set_ridges(first);
    if (compute_rows) return kernel_.extend(*batch, which.size(), expansion_.threads());
    return {};
  } catch (...) {
    expansion_.truncate(first);
    diagonal_.resize(first);
    ridge_.resize(first);
    for (ColumnState& state : states_) {
      state.settled.resize(std::min(state.settled.size(), first));
      state.place.resize(std::min(state.place.size(), first));
    }
    throw;
  }
}

/// Whether a slot has a row that was not forgotten.
bool Incremental::is_kept(std::size_t s) const {
  return expansion_.id(s) != kNoId && !(saved_ && saved_->is_leaving[s]);
}

/// A typical K(s, s): the median, without rows of zeros.
double Incremental::scale() const {
  std::vector<double> sizes;
  for (std::size_t s = 0; s < expansion_.size(); ++s)
    if (diagonal_[s] > 0 && is_kept(s)) sizes.push_back(diagonal_[s]);
  if (sizes.empty()) return 1;
  const auto middle = sizes.begin() + static_cast<std::ptrdiff_t>(sizes.size() / 2);
  std::nth_element(sizes.begin(), middle, sizes.end());
  return *middle;
}

void Incremental::set_ridges(std::size_t first) {
  const double least = 0.01 * scale();
  for (std::size_t s = first; s < ridge_.size(); ++s) ridge_[s] = kRidge * std::max(diagonal_[s], least);
}

void Incremental::learn_slot(std::size_t c, std::size_t s) {
  Column& column = expansion_.column(c);
  const ExactRows::Held row = kernel_.hold(static_cast<std::int64_t>(s));
  double g = expansion_.sign(c, s);
  for (std::size_t t = 0; t < expansion_.size(); ++t)
    if (column.alpha[t] != 0) g -= column.alpha[t] * (*row)[t];
  column.g[s] = g;
  expansion_.join(c, s);
  change(c, [&] { settle_row(c, s); });
  check_solution(c);
}

void Incremental::forget_slot(std::size_t c, std::size_t s) {
  change(c, [&] {
    try {
      unlearn(c, s);
    } catch (const Stuck&) {
      expansion_.set_alpha(c, s, 0);
      expansion_.leave(c, s);
      throw;
    }
    expansion_.leave(c, s);
  });
  check_solution(c);
}

void Incremental::learn(const LabeledRows& rows, std::span<const std::int64_t> which) {
  rebuild();
  const std::size_t block = check_definite ? 1 : kBlock;
  transact([&] {
    for (std::size_t at = 0; at < which.size(); at += block)
      learn_block(rows, which.subspan(at, std::min(block, which.size() - at)));
  });
}

void Incremental::learn_block(const LabeledRows& rows, std::span<const std::int64_t> which) {
  const std::size_t first = expansion_.size();
  std::vector<std::int64_t> added, leaving;
  for (std::size_t r = 0; r < which.size(); ++r) added.push_back(static_cast<std::int64_t>(first + r));
  const std::vector<ExactRows::Held> held = append_rows(rows, which, true);
  // With a window every new row replaces the oldest one, or more if the window has become smaller.
  const std::size_t kept = first - dropped_ - (saved_ ? saved_->leaving.size() : 0);
  const auto beyond = [&](std::size_t r) { return window > 0 && kept + r > window ? kept + r - window : 0; };
  try {
    for (std::size_t s = 0; leaving.size() < beyond(which.size()); ++s)
      if (is_kept(s)) leaving.push_back(static_cast<std::int64_t>(s));
    each_column([&](std::size_t c) {
      for (std::size_t r = 0; r < which.size(); ++r) {
        for (std::size_t k = r == 0 ? 0 : beyond(r); k < beyond(r + 1); ++k)
          forget_slot(c, static_cast<std::size_t>(leaving[k]));
        learn_slot(c, first + r);
      }
    });
  } catch (...) {
    drop(added);
    throw;
  }
  drop(leaving);
  counts.iterations += static_cast<std::int64_t>(which.size());
}

std::vector<std::int64_t> Incremental::slots_of(std::span<const std::int64_t> ids) const {
  std::vector<std::int64_t> slots;
  for (const auto id : ids) {
    slots.push_back(expansion_.find(id));
    if (slots.back() < 0) throw std::invalid_argument("no row is kept with the id " + std::to_string(id));
  }
  return slots;
}

void Incremental::forget(std::span<const std::int64_t> ids) {
  rebuild();
  transact([&] {
    const std::vector<std::int64_t> slots = slots_of(ids);
    each_column([&](std::size_t c) {
      for (const auto slot : slots) forget_slot(c, static_cast<std::size_t>(slot));
    });
    drop(slots);
  });
}

/// Erases rows whose coefficients are 0, at the end of the change that is open, if any.
void Incremental::drop(std::span<const std::int64_t> slots) {
  if (saved_) {
    saved_->leaving.insert(saved_->leaving.end(), slots.begin(), slots.end());
    for (const auto slot : slots) saved_->is_leaving[static_cast<std::size_t>(slot)] = 1;
    return;
  }
  for (const auto slot : slots) expansion_.wipe(static_cast<std::size_t>(slot));
  dropped_ += slots.size();
  sweep_if_due();
}

/// The slots of erased rows go at once if kernel values come from the caller, who has to know which slots there are,
/// and otherwise when there are enough of them.
void Incremental::sweep_if_due() {
  if (expansion_.rows().external()) return sweep();
  if (dropped_ <= 64 + expansion_.size() / 8) return;
  try {
    sweep();
  } catch (const std::bad_alloc&) {  // later
  }
}

void Incremental::sweep() {
  if (dropped_ == 0) return;
  std::vector<std::int64_t> renamed(diagonal_.size(), -1);
  kernel_.prepare_keep(expansion_.size());
  const std::vector<std::int64_t> kept = expansion_.compact();
  kernel_.keep(kept);  // nothing from here on throws
  for (std::size_t t = 0; t < kept.size(); ++t)
    renamed[static_cast<std::size_t>(kept[t])] = static_cast<std::int64_t>(t);
  const auto squeeze = [&](auto& values) {
    for (std::size_t t = 0; t < kept.size(); ++t) values[t] = values[static_cast<std::size_t>(kept[t])];
    values.resize(kept.size());
  };
  squeeze(diagonal_);
  squeeze(ridge_);
  for (ColumnState& state : states_) {
    squeeze(state.settled);
    squeeze(state.place);
    for (auto& slot : state.members) slot = renamed[static_cast<std::size_t>(slot)];
  }
  dropped_ = 0;
}

void Incremental::relabel(std::span<const std::int64_t> ids, std::span<const std::int32_t> labels,
                          std::span<const double> factors) {
  rebuild();
  transact([&] {
    const std::vector<std::int64_t> slots = slots_of(ids);
    for (std::size_t r = 0; r < slots.size(); ++r)
      relabel_slot(static_cast<std::size_t>(slots[r]), labels[r], factors[r]);
  });
}

void Incremental::relabel_slot(std::size_t s, std::int32_t label, double factor) {
  const std::int32_t old = expansion_.label(s);
  const double cost = expansion_.cost(s);
  if (old == label && factor == 1) return;
  const auto concerned = [&](std::size_t c) {  // the label or the cost of the row changes in the column
    const auto own = static_cast<std::int32_t>(c);
    return expansion_.columns() == 1 || factor != 1 || old == own || label == own;
  };
  std::vector<Column> before;
  for (std::size_t c = 0; c < expansion_.columns(); ++c) before.push_back(expansion_.column(c));
  if (saved_) saved_->labels.push_back({s, old, cost});
  each_column([&](std::size_t c) {
    if (concerned(c)) forget_slot(c, s);
  });
  expansion_.relabel(s, label, cost * factor);
  try {
    each_column([&](std::size_t c) {
      if (concerned(c)) learn_slot(c, s);
    });
  } catch (...) {
    expansion_.relabel(s, old, cost);
    for (std::size_t c = 0; c < before.size(); ++c) put_back_column(expansion_.column(c), before[c]);
    throw;
  }
}

// ---------------------------------------------------------------------------------------------- all at once

void Incremental::gather(const LabeledRows& rows, std::span<const std::int64_t> which) {
  for (std::size_t at = 0; at < which.size(); at += kBlock) {
    const std::size_t first = expansion_.size();
    const auto turn = which.subspan(at, std::min(kBlock, which.size() - at));
    append_rows(rows, turn, expansion_.rows().external());
    for (std::size_t c = 0; c < expansion_.columns(); ++c)
      for (std::size_t s = first; s < expansion_.size(); ++s) expansion_.join(c, s);
  }
  counts.iterations += static_cast<std::int64_t>(which.size());
  begun_ = false;
}

void Incremental::guess(std::span<const double> theta) {
  const std::size_t n = expansion_.size();
  if (theta.size() != n * expansion_.columns())
    throw std::invalid_argument("a guess must have a coefficient for each row and column");
  for (std::size_t c = 0; c < expansion_.columns(); ++c)
    for (std::size_t s = 0; s < n; ++s)
      expansion_.set_alpha(c, s, std::clamp(theta[c * n + s], expansion_.lower(c, s), expansion_.upper(c, s)));
}

bool Incremental::solve(std::size_t rounds) {
  if (expansion_.rows().external()) return true;  // row by row instead
  bool done = true;
  for (std::size_t c = 0; c < expansion_.columns(); ++c) {
    expansion_.column(c).ends = expansion_.scan(c);
    done &= optimize(expansion_, c, Bias::free, kApproximate, rounds, counts.steps);
  }
  if (done) expansion_.kernel().cache().clear();
  return done;
}

std::size_t Incremental::settle(std::size_t count) {
  std::vector<std::size_t> left(expansion_.columns(), 0);
  if (begun_) rebuild();
  each_column([&](std::size_t c) {
    change(c, [&] {
      if (!begun_) start_from_coefficients(c);
      left[c] = settle_rows(c, count);
    });
    if (left[c] == 0) check_solution(c);
  });
  begun_ = true;
  std::size_t all = 0;
  for (const auto n : left) all += n;
  return all;
}

}  // namespace everlearn
