#include "incremental.hpp"

#include <algorithm>
#include <cmath>
#include <stdexcept>
#include <string>

#include "incremental_errors.hpp"
#include "working_set.hpp"

namespace everlearn {
namespace {

/// What is added to every K(s, s), relative to it.
constexpr double kRidge = 1e-11;
/// Rows whose kernel values are computed at once.
constexpr std::size_t kBlock = 64;
/// How well a fit is solved before its exact part begins; kernel values are floats until then.
constexpr double kNear = 1e-4;

}  // namespace

/// Runs work(c) for every column.
void Incremental::each_column(const std::function<void(std::size_t)>& work) {
  try {
    expansion_.each_column(work);
  } catch (const IndefiniteKernel& error) {
    refuse(error.slot);
  }
  sum_counts();
}

void Incremental::sum_counts() {
  counts.steps = counts.fallbacks = counts.refreshes = 0;
  for (const Front& front : fronts_) {
    counts.steps += front.counts.steps;
    counts.fallbacks += front.counts.fallbacks;
    counts.refreshes += front.counts.refreshes;
  }
}

void Incremental::refuse(std::size_t slot) const {
  throw std::invalid_argument("the kernel is not positive semi-definite, as row " + std::to_string(expansion_.id(slot)) +
                              " shows: an exact solution needs a kernel that is, such as rbf, linear, or poly with "
                              "coef0 of 0 or above");
}

// ------------------------------------------------------------------------------------------- rows in, rows out

/// Appends rows that belong to no column yet. Their kernel rows are held.
void Incremental::open(const Labelled& rows, std::span<const std::int64_t> which) {
  const Arrived arrived(rows, which);
  const auto batch = expansion_.rows().take(rows.block, which);
  expansion_.append(*batch, arrived);
  kernel_.extend(*batch, which.size(), expansion_.threads());
  name_rows(*batch, which.size());
}

void Incremental::name_rows(const Batch& batch, std::size_t count) {
  const std::size_t n = expansion_.size(), first = n - count;
  diagonal_.resize(n);
  for (std::size_t s = first; s < n; ++s) {
    double* const own = diagonal_.data();
    expansion_.rows().evaluate_exactly(batch, s - first, s - first + 1, s, s + 1, &own);
  }
  for (Front& front : fronts_) {
    front.settled.resize(n, 0);
    front.place.resize(n, -1);
  }
  put_ridges(first);
}

/// The size of a typical K(s, s): long rows and rows of zeros do not count.
double Incremental::scale() const {
  std::vector<double> sizes;
  for (std::size_t s = 0; s < expansion_.size(); ++s)
    if (diagonal_[s] > 0 && expansion_.id(s) != kNobody) sizes.push_back(diagonal_[s]);
  if (sizes.empty()) return 1;
  const auto middle = sizes.begin() + static_cast<std::ptrdiff_t>(sizes.size() / 2);
  std::nth_element(sizes.begin(), middle, sizes.end());
  return *middle;
}

void Incremental::put_ridges(std::size_t first) {
  const double least = 0.01 * scale();
  ridge_.resize(diagonal_.size());
  for (std::size_t s = first; s < ridge_.size(); ++s) ridge_[s] = kRidge * std::max(diagonal_[s], least);
}

void Incremental::close(std::size_t first) {
  for (std::size_t s = first; s < expansion_.size(); ++s) kernel_.release(static_cast<std::int64_t>(s));
}

void Incremental::learn_slot(std::size_t c, std::size_t s) {
  Column& column = expansion_.column(c);
  const Row& row = kernel_.hold(static_cast<std::int64_t>(s));
  double g = expansion_.sign(c, s);
  for (std::size_t t = 0; t < expansion_.size(); ++t)
    if (column.alpha[t] != 0) g -= column.alpha[t] * row[t];
  column.g[s] = g;
  kernel_.release(static_cast<std::int64_t>(s));
  expansion_.join(c, s);
  change(c, [&] { drive(c, s); });
  vouch(c);
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
  vouch(c);
}

void Incremental::learn(const Labelled& rows, std::span<const std::int64_t> which) {
  const std::size_t block = cautious ? 1 : kBlock;
  for (std::size_t at = 0; at < which.size(); at += block) {
    const auto turn = which.subspan(at, std::min(block, which.size() - at));
    const std::size_t first = expansion_.size();
    open(rows, turn);
    // With a window every new row drives the oldest one out, or more if the window has become smaller.
    const std::size_t kept = first - dropped_;
    const auto beyond = [&](std::size_t r) { return window > 0 && kept + r > window ? kept + r - window : 0; };
    std::vector<std::int64_t> leaving;
    for (std::size_t s = 0; leaving.size() < beyond(turn.size()); ++s)
      if (expansion_.id(s) != kNobody) leaving.push_back(static_cast<std::int64_t>(s));
    try {
      each_column([&](std::size_t c) {
        for (std::size_t r = 0; r < turn.size(); ++r) {
          for (std::size_t k = r == 0 ? 0 : beyond(r); k < beyond(r + 1); ++k)
            forget_slot(c, static_cast<std::size_t>(leaving[k]));
          learn_slot(c, first + r);
        }
      });
    } catch (...) {
      give_up(first);
      throw;
    }
    close(first);
    drop(leaving);
    counts.iterations += static_cast<std::int64_t>(turn.size());
  }
}

/// Takes rows back that could not be learnt, wherever learning ended.
void Incremental::give_up(std::size_t first) {
  close(first);
  std::vector<std::int64_t> refused;
  for (std::size_t s = first; s < expansion_.size(); ++s) refused.push_back(static_cast<std::int64_t>(s));
  for (std::size_t c = 0; c < expansion_.columns(); ++c) {
    const bool half_learnt = std::any_of(refused.begin(), refused.end(), [&](std::int64_t slot) {
      return expansion_.column(c).member[static_cast<std::size_t>(slot)] != 0;
    });
    if (!half_learnt) continue;
    for (const auto slot : refused) {
      expansion_.set_alpha(c, static_cast<std::size_t>(slot), 0);
      expansion_.leave(c, static_cast<std::size_t>(slot));
    }
    if (cautious) continue;  // the caller puts back the state before
    try {
      solve_cold(c);
      conclude(c);
    } catch (const Stuck&) {  // the error that led here is on its way already
    }
  }
  drop(refused);
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
  const std::vector<std::int64_t> slots = slots_of(ids);
  each_column([&](std::size_t c) {
    for (const auto slot : slots) forget_slot(c, static_cast<std::size_t>(slot));
  });
  drop(slots);
}

void Incremental::drop(std::span<const std::int64_t> slots) {
  for (const auto slot : slots) expansion_.wipe(static_cast<std::size_t>(slot));
  dropped_ += slots.size();
  if (dropped_ > (expansion_.rows().external() ? 0 : 64 + expansion_.size() / 8)) sweep();
}

void Incremental::sweep() {
  if (dropped_ == 0) return;
  const std::vector<std::int64_t> kept = expansion_.compact();
  kernel_.keep(kept);
  std::vector<std::int64_t> renamed(diagonal_.size(), -1);
  for (std::size_t t = 0; t < kept.size(); ++t) renamed[static_cast<std::size_t>(kept[t])] = static_cast<std::int64_t>(t);
  const auto squeeze = [&](auto& values) {
    for (std::size_t t = 0; t < kept.size(); ++t) values[t] = values[static_cast<std::size_t>(kept[t])];
    values.resize(kept.size());
  };
  squeeze(diagonal_);
  squeeze(ridge_);
  for (Front& front : fronts_) {
    squeeze(front.settled);
    squeeze(front.place);
    for (auto& slot : front.members) slot = renamed[static_cast<std::size_t>(slot)];
  }
  dropped_ = 0;
}

void Incremental::relabel(std::span<const std::int64_t> ids, std::span<const std::int32_t> labels,
                          std::span<const double> factors) {
  const std::vector<std::int64_t> slots = slots_of(ids);
  for (std::size_t r = 0; r < slots.size(); ++r) {
    const auto s = static_cast<std::size_t>(slots[r]);
    const std::int32_t old = expansion_.label(s);
    if (old == labels[r] && factors[r] == 1) continue;
    const auto concerned = [&](std::size_t c) {  // whose own class it was or will be, or for whom it costs more or less
      const auto own = static_cast<std::int32_t>(c);
      return expansion_.columns() == 1 || factors[r] != 1 || old == own || labels[r] == own;
    };
    each_column([&](std::size_t c) { if (concerned(c)) forget_slot(c, s); });
    expansion_.relabel(s, labels[r], factors[r]);
    each_column([&](std::size_t c) { if (concerned(c)) learn_slot(c, s); });
  }
}

// ---------------------------------------------------------------------------------------------- all at once

void Incremental::gather(const Labelled& rows, std::span<const std::int64_t> which) {
  for (std::size_t at = 0; at < which.size(); at += kBlock) {
    const std::size_t first = expansion_.size();
    const auto turn = which.subspan(at, std::min(kBlock, which.size() - at));
    if (expansion_.rows().external()) {
      open(rows, turn);
      close(first);
    } else {  // kernel rows when somebody holds them
      const Arrived arrived(rows, turn);
      const auto batch = expansion_.rows().take(rows.block, turn);
      expansion_.append(*batch, arrived);
      name_rows(*batch, turn.size());
    }
    for (std::size_t c = 0; c < expansion_.columns(); ++c)
      for (std::size_t s = first; s < expansion_.size(); ++s) expansion_.join(c, s);
  }
  counts.iterations += static_cast<std::int64_t>(which.size());
  begun_ = false;
}

void Incremental::guess(std::span<const double> theta) {
  const std::size_t n = expansion_.size();
  if (theta.size() != n * expansion_.columns()) throw std::invalid_argument("a guess must have a coefficient for each row");
  for (std::size_t c = 0; c < expansion_.columns(); ++c)
    for (std::size_t s = 0; s < n; ++s)
      expansion_.set_alpha(c, s, std::clamp(theta[c * n + s], expansion_.lower(c, s), expansion_.upper(c, s)));
}

bool Incremental::solve(std::size_t rounds) {
  if (expansion_.rows().external()) return true;  // row by row instead
  bool done = true;
  for (std::size_t c = 0; c < expansion_.columns(); ++c) {
    expansion_.column(c).ends = expansion_.scan(c);
    done &= optimise(expansion_, c, Bias::free, kNear, rounds, counts.steps);
  }
  if (done) expansion_.cache().clear();
  return done;
}

std::size_t Incremental::settle(std::size_t count) {
  std::vector<std::size_t> left(expansion_.columns(), 0);
  each_column([&](std::size_t c) {
    change(c, [&] {
      if (!begun_) begin(c);
      left[c] = drive_all(c, count);
    });
    if (left[c] == 0) vouch(c);
  });
  begun_ = true;
  std::size_t all = 0;
  for (const auto n : left) all += n;
  return all;
}

}  // namespace everlearn
