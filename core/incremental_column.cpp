// One column of the exact machine as a whole: from any coefficients to the solution, and staying there.
#include <algorithm>
#include <cmath>
#include <stdexcept>

#include "incremental.hpp"
#include "incremental_errors.hpp"

namespace everlearn {
namespace {

constexpr double kInf = std::numeric_limits<double>::infinity();
/// If u_S drifts farther from 0, the coefficients of S are computed again from S, and if that does not help, everything
/// is computed again from the coefficients. The latter also happens after so many changes of S.
constexpr double kDrift = 1e-9;
constexpr std::int64_t kChanges = 4096;
/// Rounds in which rows that were not watched are corrected before all rows are watched.
constexpr int kRounds = 4;
/// If conditions end up violated by more, relative to the bias, the kernel is not positive semi-definite.
constexpr double kMaxViolation = 1e-6;

}  // namespace

/// Changes a column: work() moves rows, then the rows that violate their conditions are moved until none does. If
/// rounding errors make the steps cycle, the column is solved from scratch by another method (incremental_cold.cpp).
void Incremental::change(std::size_t c, FunctionRef<void()> work) {
  double largest = 0;
  for (const double edge : expansion_.column(c).edge) largest = std::max(largest, std::abs(edge));
  states_[c].negligible = 1e-13 * largest;
  try {
    states_[c].watching = states_[c].watches_all = false;
    work();
    settle_rest(c);
    finish_change(c);
  } catch (const Stuck&) {
    try {
      solve_from_scratch(c);
      finish_change(c);
    } catch (const Stuck&) {
      throw std::logic_error("an exact solution was not found, neither step by step nor from scratch");
    }
  }
}

/// Refuses a kernel that may be indefinite and has not led to a solution.
void Incremental::check_solution(std::size_t c) const {
  if (!check_definite || expansion_.column(c).delta <= kMaxViolation * (1 + std::abs(expansion_.column(c).bias)))
    return;
  std::size_t worst = 0;
  for (std::size_t s = 0; s < expansion_.size(); ++s)
    if (violation(c, s) > violation(c, worst)) worst = s;
  throw IndefiniteKernel(worst);
}

void Incremental::settle_rest(std::size_t c) {
  for (int round = 0; end_watching(c) > 0; ++round) {
    if (round == 10 * kRounds) throw Stuck();
    states_[c].watches_all = round >= kRounds;
    settle_rows(c);
  }
}

/// With S empty b is not unique: it is the middle of what the conditions allow. That is the label if all rows have the
/// same one, and 0 without rows.
void Incremental::set_middle_bias(std::size_t c) {
  Column& column = expansion_.column(c);
  double high = -kInf, low = kInf;
  for (std::size_t s = 0; s < expansion_.size(); ++s) {
    if (column.gate[s] & kMayRise) high = std::max(high, column.g[s]);
    if (column.gate[s] & kMayFall) low = std::min(low, column.g[s]);
  }
  column.bias = high == -kInf ? (low == kInf ? 0.0 : low) : (low == kInf ? high : (high + low) / 2);
}

/// The end of every change of a column: corrects drift, and sets the bias where S is empty, and delta.
void Incremental::finish_change(std::size_t c) {
  ColumnState& state = states_[c];
  Column& column = expansion_.column(c);
  const auto worst = [&] {
    double most = 0;
    for (const auto slot : state.members) most = std::max(most, std::abs(offset(c, static_cast<std::size_t>(slot))));
    return most;
  };
  snap_to_bounds(c);
  const double drift = kDrift * (1 + std::abs(column.bias));
  if (worst() > drift) solve_margin(c);
  if (state.changes > kChanges || worst() > drift) refresh(c);
  if (std::none_of(state.members.begin(), state.members.end(),
                   [&](std::int64_t slot) { return is_free(c, static_cast<std::size_t>(slot)); })) {
    clear_margin(c);
    set_middle_bias(c);
  }
  double most = 0, sum = 0;
  for (std::size_t s = 0; s < expansion_.size(); ++s) {
    most = std::max(most, violation(c, s));
    sum += column.alpha[s];
  }
  column.delta = std::max(most, std::abs(sum));
}

/// Coefficients of S that are at an end of their box but for rounding go there. Otherwise S would seem to determine b
/// where it does not.
void Incremental::snap_to_bounds(std::size_t c) {
  const ColumnState& state = states_[c];
  std::vector<std::int64_t> slots;
  std::vector<double> lengths;
  for (const auto slot : state.members) {
    const auto s = static_cast<std::size_t>(slot);
    const double before = expansion_.column(c).alpha[s];
    if (room(c, s, 1) <= state.negligible) expansion_.set_alpha(c, s, expansion_.upper(c, s));
    else if (room(c, s, -1) <= state.negligible) expansion_.set_alpha(c, s, expansion_.lower(c, s));
    if (expansion_.column(c).alpha[s] == before) continue;
    slots.push_back(slot);
    lengths.push_back(expansion_.column(c).alpha[s] - before);
  }
  descend(c, slots, lengths);
}

/// Solves for theta_S and b, sum theta = 0 and u_S = 0, as far as the boxes allow: a row that meets an end leaves S.
void Incremental::solve_margin(std::size_t c) {
  ColumnState& state = states_[c];
  Column& column = expansion_.column(c);
  while (!state.members.empty()) {
    double sum = 0;
    for (std::size_t s = 0; s < expansion_.size(); ++s) sum += column.alpha[s];
    std::vector<double> r;
    for (const auto slot : state.members) r.push_back(-offset(c, static_cast<std::size_t>(slot)));
    Border::Response by = state.border.solve(-sum, std::move(r));
    double length = 1;
    std::int64_t first = -1;
    for (std::size_t k = 0; k < state.members.size(); ++k) {
      const auto s = static_cast<std::size_t>(state.members[k]);
      const double left = room(c, s, by.theta[k]), rate = std::abs(by.theta[k]);
      if (rate > left + state.negligible && left / rate < length) length = left / rate, first = state.members[k];
    }
    const double towards =
        first < 0 ? 0 : by.theta[static_cast<std::size_t>(state.place[static_cast<std::size_t>(first)])];
    column.bias += length * by.b;
    std::vector<double> lengths;
    for (std::size_t k = 0; k < state.members.size(); ++k) {
      const auto s = static_cast<std::size_t>(state.members[k]);
      const double before = column.alpha[s];
      const double to = std::clamp(before + length * by.theta[k], expansion_.lower(c, s), expansion_.upper(c, s));
      expansion_.set_alpha(c, s,
                           state.members[k] != first ? to
                           : towards > 0             ? expansion_.upper(c, s)
                                                     : expansion_.lower(c, s));
      lengths.push_back(column.alpha[s] - before);
    }
    descend(c, std::vector(state.members), lengths);
    if (first < 0) return;
    leave_margin(c, static_cast<std::size_t>(first));
  }
}

/// Computes everything again from the coefficients.
void Incremental::refresh(std::size_t c) {
  ++states_[c].counts.refreshes;
  start_from_coefficients(c);
  settle_rows(c);
  settle_rest(c);
}

/// Starts from any coefficients: S are the rows inside their boxes; rows that violate their conditions are not settled.
void Incremental::start_from_coefficients(std::size_t c) {
  ColumnState& state = states_[c];
  Column& column = expansion_.column(c);
  const std::size_t n = expansion_.size();
  state.watching = false;
  clear_margin(c);
  std::vector<std::int64_t> support;
  std::vector<double> lengths;
  for (std::size_t s = 0; s < n; ++s) {
    column.g[s] = expansion_.sign(c, s);
    if (column.alpha[s] != 0) support.push_back(static_cast<std::int64_t>(s)), lengths.push_back(column.alpha[s]);
  }
  descend(c, support, lengths);
  for (std::size_t s = 0; s < n; ++s)
    if (is_free(c, s)) enter_margin(c, s);
  if (state.members.empty()) set_middle_bias(c);
  else solve_margin(c);
  double sum = 0;
  for (std::size_t s = 0; s < n; ++s) {
    state.settled[s] = column.member[s] && state.place[s] < 0 && violation(c, s) <= kTolerance;
    sum += column.alpha[s];
  }
  if (std::abs(sum) > static_cast<double>(n) * state.negligible) throw Stuck();  // no row can compensate for it
  state.changes = 0;
  state.lost = false;
}

}  // namespace everlearn
