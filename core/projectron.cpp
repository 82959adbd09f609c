#include "projectron.hpp"

#include <algorithm>
#include <cmath>
#include <numeric>

namespace everlearn {
namespace {

/// A row nearer to the span of the buffer, relative to K(x, x), is always projected.
constexpr double kMinSquaredDistance = 1e-4;

/// v <- L^-1 v, then d = L^-T v.
void solve(const std::vector<double>& factor, std::vector<double>& v, std::vector<double>& d) {
  const double* line = factor.data();
  for (std::size_t i = 0; i < v.size(); line += ++i)
    v[i] = (v[i] - std::inner_product(line, line + i, v.begin(), 0.0)) / line[i];
  d = v;
  for (std::size_t i = v.size(); i-- > 0;) {
    line -= i + 1;
    d[i] /= line[i];
    for (std::size_t j = 0; j < i; ++j) d[j] -= line[j] * d[i];
  }
}

/// Removes line p from the factor of an n x n matrix. With L = (L11 0 0; l 1 0; L31 a L33) in blocks, line p in the
/// middle, the matrix without line p has the factor (L11 0; L31 R), where R R^T = L33 L33^T + a a^T: rotations turn a
/// into zeros.
void remove_line(std::vector<double>& factor, std::size_t n, std::size_t p) {
  std::vector<double> a;
  a.reserve(n);
  std::size_t to = p * (p + 1) / 2;
  for (std::size_t i = p + 1; i < n; ++i) {
    const std::size_t line = i * (i + 1) / 2;
    a.push_back(factor[line + p]);
    for (std::size_t j = 0; j <= i; ++j)
      if (j != p) factor[to++] = factor[line + j];
  }
  std::fill(factor.begin() + static_cast<std::ptrdiff_t>(to), factor.end(), 0.0);
  factor.resize(to);
  for (std::size_t k = p; k + 1 < n; ++k) {
    double& own = factor[k * (k + 1) / 2 + k];
    const double length = std::hypot(own, a[k - p]), cosine = own / length, sine = a[k - p] / length;
    own = length;
    for (std::size_t i = k + 1; i + 1 < n; ++i) {
      double& below = factor[i * (i + 1) / 2 + k];
      const double value = below;
      below = cosine * value + sine * a[i - p];
      a[i - p] = cosine * a[i - p] - sine * value;
    }
  }
}

}  // namespace

void Projectron::erase_entry(std::size_t c, std::size_t place) { remove_line(factor[c], buffer(c).size(), place); }

std::function<void()> Projectron::make_undo() {
  std::vector<std::size_t> lengths;
  for (const auto& lines : factor) lengths.push_back(lines.size());
  return [this, lengths, projections_before = projections, steps_before = margin_steps]() mutable {
    for (std::size_t c = 0; c < factor.size(); ++c) factor[c].resize(lengths[c]);
    projections.swap(projections_before);
    margin_steps.swap(steps_before);
  };
}

void Projectron::learn_row(std::size_t c, std::size_t slot, std::int64_t) {
  const double y = expansion_.sign(c, slot), f = score(c, slot), own = expansion_.diagonal(slot);
  const bool mistake = y * f <= 0;
  state.mistakes[c] += mistake;
  if (!mistake && (!steps_on_margin || y * f >= 1)) return;
  const std::vector<std::int64_t>& kept = buffer(c);
  const std::size_t n = kept.size();
  auto& [v, d] = scratch_[c];
  v.resize(n), d.resize(n);
  const HeldRow row = expansion_.hold(slot);
  for (std::size_t i = 0; i < n; ++i) v[i] = row[static_cast<std::size_t>(kept[i])];
  solve(factor[c], v, d);
  const double within = std::inner_product(v.begin(), v.end(), v.begin(), 0.0);
  const double squared = std::max(0.0, own - within), delta = std::sqrt(squared), cost = expansion_.cost(slot);
  if (!mistake) {
    const double loss = 1 - y * f, worth = loss - delta / eta;
    if (worth <= 0 || within <= 0) return;
    ++margin_steps[c];
    project(c, y * cost * std::min({1.0, loss / within, 2 * worth / within}));
  } else if (delta <= eta || n >= budget || squared <= kMinSquaredDistance * own) {
    ++projections[c];
    project(c, y * cost);
  } else {
    factor[c].insert(factor[c].end(), v.begin(), v.end());
    factor[c].push_back(delta);
    insert_row(c, slot);
    add(c, slot, y * cost);
    apply(c);
  }
}

/// alpha += length d
void Projectron::project(std::size_t c, double length) {
  for (std::size_t i = 0; i < buffer(c).size(); ++i)
    add(c, static_cast<std::size_t>(buffer(c)[i]), length * scratch_[c].d[i]);
  apply(c);
}

}  // namespace everlearn
