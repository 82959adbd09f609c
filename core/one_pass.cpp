#include "one_pass.hpp"

#include <stdexcept>
#include <utility>

namespace everlearn {

OnePass::OnePass(Expansion& expansion)
    : expansion_(expansion), slots_(expansion.columns()), pending_(expansion.columns()) {
  state.generators.resize(expansion.columns());
  state.mistakes.assign(expansion.columns(), 0);
  state.buffers.resize(expansion.columns());
  start();
}

void OnePass::start() {
  for (std::size_t c = 0; c < expansion_.columns(); ++c) {
    expansion_.column(c).live = true;
    expansion_.column(c).ends = {0, 0, -1, -1};  // no pair steps here
  }
}

void OnePass::seed(const Generator& generator) {
  Generator words = generator;
  for (Generator& own : state.generators)
    for (std::uint64_t& word : own.state) word = words.next();
}

void OnePass::learn(const LabeledRows& rows, std::span<const std::int64_t> which) {
  in_turns(expansion_, rows, which, [&](const Turn& turn) {
    State before = state;
    std::vector<Column> columns;
    for (std::size_t c = 0; c < expansion_.columns(); ++c) columns.push_back(expansion_.column(c));
    const std::function<void()> undo = make_undo();
    try {
      expansion_.each_column([&](std::size_t c) {
        read_buffer(c);
        shrink_to_budget(c);
        std::int64_t time = state.iterations;
        for (const auto slot : turn.slots) learn_row(c, static_cast<std::size_t>(slot), ++time);
        end_turn(c);
        write_buffer(c);
      });
    } catch (...) {
      std::swap(state, before);
      for (std::size_t c = 0; c < columns.size(); ++c) {
        std::swap(expansion_.column(c), columns[c]);
        pending_[c].slots.clear(), pending_[c].steps.clear();
      }
      undo();
      throw;
    }
    state.iterations += static_cast<std::int64_t>(turn.slots.size());
    return false;
  });
}

void OnePass::read_buffer(std::size_t c) {
  slots_[c].clear();
  for (const auto id : state.buffers[c]) slots_[c].push_back(expansion_.find(id));
}

void OnePass::write_buffer(std::size_t c) {
  state.buffers[c].clear();
  for (const auto slot : slots_[c]) state.buffers[c].push_back(expansion_.id(static_cast<std::size_t>(slot)));
}

void OnePass::forget(std::span<const std::int64_t> ids) {
  const std::vector<std::uint8_t> gone = expansion_.flags_of(ids);
  if (ids.empty()) return;
  expansion_.each_column([&](std::size_t c) {
    read_buffer(c);
    try {
      for (std::size_t place = slots_[c].size(); place-- > 0;) {
        const auto slot = static_cast<std::size_t>(slots_[c][place]);
        if (!gone[slot]) continue;
        if (expansion_.column(c).alpha[slot] != 0) expansion_.unlearn(c, slot);
        erase_entry(c, place);
        expansion_.leave(c, slot);
        slots_[c].erase(slots_[c].begin() + static_cast<std::ptrdiff_t>(place));
      }
    } catch (...) {
      write_buffer(c);
      throw;
    }
    end_turn(c);
    write_buffer(c);
  });
  expansion_.compact();
}

void OnePass::insert_row(std::size_t c, std::size_t slot) {
  if (is_member(c, slot)) return;
  expansion_.join(c, slot);
  slots_[c].push_back(static_cast<std::int64_t>(slot));
}

double OnePass::remove(std::size_t c, std::size_t place) {
  const std::int64_t leaver = slots_[c][place];
  const auto slot = static_cast<std::size_t>(leaver);
  const double alpha = expansion_.column(c).alpha[slot];
  add(c, slot, -alpha);
  expansion_.leave(c, slot);
  slots_[c].erase(slots_[c].begin() + static_cast<std::ptrdiff_t>(place));
  return alpha;
}

void OnePass::add(std::size_t c, std::size_t slot, double by) {
  if (by == 0) return;
  expansion_.set_alpha(c, slot, expansion_.column(c).alpha[slot] + by);
  pending_[c].slots.push_back(static_cast<std::int64_t>(slot));
  pending_[c].steps.push_back(by);
}

void OnePass::apply(std::size_t c) {
  Pending& pending = pending_[c];
  HeldRows rows;
  rows.reserve(pending.slots.size());
  for (const auto slot : pending.slots) rows.add(expansion_.hold(slot));
  expansion_.descend(c, rows.views(), pending.steps);
  pending.slots.clear(), pending.steps.clear();
}

void OnePass::shrink(std::size_t c, double factor) {
  if (!pending_[c].slots.empty()) throw std::logic_error("coefficients shrink while changes are pending");
  Column& column = expansion_.column(c);
  for (const auto slot : slots_[c]) column.alpha[static_cast<std::size_t>(slot)] *= factor;
  for (std::size_t s = 0; s < expansion_.size(); ++s) {
    const double y = expansion_.sign(c, s);
    column.g[s] = y - factor * (y - column.g[s]);
  }
}

}  // namespace everlearn
