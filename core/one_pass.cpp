#include "one_pass.hpp"

#include <stdexcept>

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
    expansion_.column(c).ends = {0, 0, -1, -1};  // nobody looks for a steepest pair here
  }
}

void OnePass::seed(const Generator& generator) {
  Generator words = generator;
  for (Generator& own : state.generators)
    for (std::uint64_t& word : own.state) word = words.next();
}

void OnePass::learn(const Labelled& rows, std::span<const std::int64_t> which) {
  in_turns(expansion_, rows, which, [&](const Turn& turn) {
    expansion_.each_column([&](std::size_t c) {
      read_buffer(c);
      trim(c);
      std::int64_t time = state.iterations;
      for (const auto slot : turn.slots) take_in(c, static_cast<std::size_t>(slot), ++time);
      end_turn(c);
      write_buffer(c);
    });
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
  const std::vector<std::uint8_t> gone = expansion_.flag(ids);
  if (ids.empty()) return;
  try {
    expansion_.each_column([&](std::size_t c) {
      read_buffer(c);
      for (std::size_t place = slots_[c].size(); place-- > 0;) {
        if (!gone[static_cast<std::size_t>(slots_[c][place])]) continue;
        strike(c, place);
        expel(c, place);
        apply(c);
      }
      end_turn(c);
      write_buffer(c);
    });
    expansion_.compact();
  } catch (...) {
    expansion_.give_up_block();
    throw;
  }
}

void OnePass::enter(std::size_t c, std::size_t slot) {
  if (is_member(c, slot)) return;
  expansion_.join(c, slot);
  slots_[c].push_back(static_cast<std::int64_t>(slot));
}

double OnePass::expel(std::size_t c, std::size_t place) {
  const std::int64_t leaver = slots_[c][place];
  const auto slot = static_cast<std::size_t>(leaver);
  const double alpha = expansion_.column(c).alpha[slot];
  shift(c, slot, -alpha);
  expansion_.leave(c, slot);
  slots_[c].erase(slots_[c].begin() + static_cast<std::ptrdiff_t>(place));
  return alpha;
}

void OnePass::shift(std::size_t c, std::size_t slot, double by) {
  if (by == 0) return;
  expansion_.set_alpha(c, slot, expansion_.column(c).alpha[slot] + by);
  pending_[c].slots.push_back(static_cast<std::int64_t>(slot));
  pending_[c].steps.push_back(by);
}

void OnePass::apply(std::size_t c) {
  Pending& pending = pending_[c];
  for (const auto slot : pending.slots) pending.rows.push_back(expansion_.hold(slot));
  expansion_.descend(c, pending.rows, pending.steps);
  for (const auto slot : pending.slots) expansion_.release(slot);
  pending.slots.clear(), pending.steps.clear(), pending.rows.clear();
}

void OnePass::shrink(std::size_t c, double factor) {
  if (!pending_[c].slots.empty()) throw std::logic_error("coefficients shrink while others are yet to move");
  Column& column = expansion_.column(c);
  for (const auto slot : slots_[c]) column.alpha[static_cast<std::size_t>(slot)] *= factor;
  for (std::size_t s = 0; s < expansion_.size(); ++s) {
    const double y = expansion_.sign(c, s);
    column.g[s] = y - factor * (y - column.g[s]);
  }
}

}  // namespace everlearn
