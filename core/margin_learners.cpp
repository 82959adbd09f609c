#include "margin_learners.hpp"

#include <algorithm>
#include <cmath>

namespace everlearn {

void PassiveAggressive::learn_row(std::size_t c, std::size_t slot, std::int64_t) {
  const double y = expansion_.sign(c, slot), f = score(c, slot), own = expansion_.diagonal(slot);
  state.mistakes[c] += y * f <= 0;
  if (y * f >= 1 || own <= 0) return;
  const double loss = 1 - y * f, C = expansion_.cost(slot);
  double tau = loss / own;
  if (variant == Aggressiveness::pa_1) tau = std::min(C, tau);
  if (variant == Aggressiveness::pa_2) tau = loss / (own + 1 / (2 * C));
  insert_row(c, slot);
  add(c, slot, y * tau);
  apply(c);
}

void Norma::learn_row(std::size_t c, std::size_t slot, std::int64_t time) {
  Column& column = expansion_.column(c);
  const double y = expansion_.sign(c, slot), f = score(c, slot) + column.bias;
  const double rate = decays ? eta / std::sqrt(static_cast<double>(time)) : eta;
  const bool adapts = nu >= 0, error = adapts ? y * f <= margin[c] : y * f < margin[c];
  state.mistakes[c] += y * f <= 0;
  shrink(c, 1 - rate * lambda);
  if (error) {
    const double step = rate * y * expansion_.cost(slot);
    insert_row(c, slot);
    add(c, slot, step);
    if (has_bias) column.bias += step;
    if (buffer(c).size() > budget) remove(c, 0);
    apply(c);
  }
  if (adapts) margin[c] += error ? -rate * (1 - nu) : rate * nu;
}

void Norma::shrink_to_budget(std::size_t c) {
  while (buffer(c).size() > budget) remove(c, 0);
  apply(c);
}

}  // namespace everlearn
