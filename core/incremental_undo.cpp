// The exact machine: changes that are undone, because they were refused or because only their result was of interest.
#include <algorithm>
#include <memory>
#include <stdexcept>
#include <utility>

#include "incremental_savepoint.hpp"

namespace everlearn {
namespace {

/// Rows that were appended since belong to nothing. Allocates nothing.
template <class Values>
void put_back_values(Values& now, const Values& before, typename Values::value_type behind) noexcept {
  std::fill(std::copy(before.begin(), before.end(), now.begin()), now.end(), behind);
}

}  // namespace

void put_back_column(Column& now, const Column& before) noexcept {
  put_back_values(now.alpha, before.alpha, 0);
  put_back_values(now.g, before.g, 0);
  put_back_values(now.edge, before.edge, 0);
  put_back_values(now.gate, before.gate, 0);
  put_back_values(now.member, before.member, 0);
  put_back_values(now.is_idle, before.is_idle, 0);
  put_back_values(now.changed, before.changed, 0);
  now.idle.assign(before.idle.begin(), before.idle.end());  // a list has room for all slots
  now.ends = before.ends;
  now.above = before.above, now.below = before.below;
  now.bias = before.bias, now.delta = before.delta;
  now.live = before.live;
}

Incremental::Incremental(Expansion& expansion)
    : expansion_(expansion), kernel_(expansion.rows()), states_(expansion.columns()) {}

Incremental::~Incremental() = default;

Incremental::Snapshot Incremental::take(std::size_t c) const { return {expansion_.column(c), states_[c]}; }

void Incremental::put_back(std::size_t c, const Snapshot& snapshot) {
  put_back_column(expansion_.column(c), snapshot.column);
  states_[c] = snapshot.state;
}

void Incremental::begin() {
  if (saved_) {
    ++saved_->nested;
    return;
  }
  rebuild();
  sweep();
  auto saved = std::make_unique<Savepoint>();
  saved->size = expansion_.size();
  saved->counts = counts;
  for (std::size_t c = 0; c < expansion_.columns(); ++c) saved->columns.push_back(take(c));
  saved->reserve(saved->size);
  saved_ = std::move(saved);
}

void Incremental::commit() {
  if (!saved_) return;
  if (saved_->nested > 0) {
    --saved_->nested;
    return;
  }
  const std::unique_ptr<Savepoint> saved = std::move(saved_);
  drop(saved->leaving);
}

void Incremental::rollback() {
  if (!saved_) return;
  const std::unique_ptr<Savepoint> saved = std::move(saved_);
  for (std::size_t c = 0; c < states_.size(); ++c) {
    ColumnState &now = states_[c], &before = saved->columns[c].state;
    put_back_column(expansion_.column(c), saved->columns[c].column);
    put_back_values(now.settled, before.settled, 0);
    put_back_values(now.place, before.place, -1);
    std::swap(now.settled, before.settled);
    std::swap(now.place, before.place);
    now = std::move(before);
  }
  counts = saved->counts;
  for (auto label = saved->labels.rbegin(); label != saved->labels.rend(); ++label)
    expansion_.relabel(label->slot, label->label, label->cost);
  for (std::size_t s = saved->size; s < expansion_.size(); ++s) {
    expansion_.wipe(s);
    ++dropped_;
  }
  sweep_if_due();
}

/// Runs a call as a change of its own, unless one is open: if it is refused, nothing has changed. Only for a kernel
/// that may be refused, because it copies all coefficients and margin sets.
void Incremental::transact(FunctionRef<void()> work) {
  if (!check_definite) return work();
  begin();
  try {
    work();
  } catch (const std::invalid_argument&) {
    if (saved_ && saved_->nested > 0) --saved_->nested;  // the caller of begin() will roll back
    else rollback();
    throw;
  } catch (...) {
    commit();
    throw;
  }
  commit();
}

std::vector<double> Incremental::leave_one_out(std::size_t first, std::size_t count) {
  rebuild();
  const std::size_t k = expansion_.columns();
  std::vector<std::size_t> slots;
  std::vector<double> out;
  const auto score_column = [&](std::size_t c) {
    const Snapshot now = take(c);
    for (std::size_t r = 0; r < slots.size(); ++r) {
      const std::size_t s = slots[r];
      const Column& column = expansion_.column(c);
      double& score = out[r * k + c];
      if (column.alpha[s] == 0 && !states_[c].members.empty() && states_[c].place[s] < 0) {
        score = expansion_.sign(c, s) - column.g[s] + column.bias;
        continue;
      }
      states_[c].changes = 0;  // no refresh for a model that is thrown away
      forget_slot(c, s);
      score = expansion_.sign(c, s) - column.g[s] + column.bias;
      put_back(c, now);
    }
  };
  transact([&] {
    for (std::size_t s = 0, r = 0; s < expansion_.size(); ++s)
      if (is_kept(s) && r++ >= first && slots.size() < count) slots.push_back(s);
    out.resize(slots.size() * k);
    each_column(score_column);
  });
  return out;
}

}  // namespace everlearn
