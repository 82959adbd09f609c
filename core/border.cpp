#include "border.hpp"

#include <cmath>
#include <stdexcept>
#include <utility>

#include "arch/loops.hpp"

namespace everlearn {

void Border::clear(double scale) {
  columns_.clear();
  z_.clear();
  tau_ = scale > 0 ? scale : 1;
}

Border::Candidate Border::project(std::vector<double> values, double own) const {
  const std::size_t n = size();
  for (double& value : values) value += tau_;
  for (std::size_t k = 0; k < n; ++k) {
    const double* column = columns_[k].data();
    values[k] /= column[0];
    const double* below = column + 1;
    loops().rank_update_exact(values.data() + k + 1, &below, &values[k], 1, 0, n - k - 1);
  }
  const double within = loops().dot_exact(values.data(), values.data(), n);
  return {std::move(values), own + tau_ - within};
}

/// From w = L^-1 (r + tau r_0): b = (z'w - r_0) / z'z and theta = L'^-1 (w - b z).
Border::Response Border::finish(std::vector<double> w, double r_0) const {
  const std::size_t n = size();
  const double b = (loops().dot_exact(z_.data(), w.data(), n) - r_0) / loops().dot_exact(z_.data(), z_.data(), n);
  for (std::size_t k = 0; k < n; ++k) w[k] -= b * z_[k];
  for (std::size_t k = n; k-- > 0;) {
    const double* column = columns_[k].data();
    w[k] = (w[k] - loops().dot_exact(column + 1, w.data() + k + 1, n - k - 1)) / column[0];
  }
  return {b, std::move(w)};
}

Border::Response Border::respond(const Candidate& c, double direction) const {
  std::vector<double> w(c.line);
  for (double& value : w) value *= -direction;
  return finish(std::move(w), -direction);
}

Border::Response Border::solve(double r_0, std::vector<double> r) const {
  for (double& value : r) value += tau_ * (r_0 - 1);  // project() adds tau once
  return finish(project(std::move(r), 0).line, r_0);
}

void Border::grow(const Candidate& c) {
  const double diagonal = std::sqrt(c.squared);
  z_.push_back((1 - loops().dot_exact(c.line.data(), z_.data(), z_.size())) / diagonal);
  for (std::size_t k = 0; k < size(); ++k) columns_[k].push_back(c.line[k]);
  columns_.push_back({diagonal});
}

/// Without its line L is one column too wide; rotations of neighboring columns, from the place on, push what is above
/// the diagonal out to the right. The same rotations keep L z = 1.
void Border::shrink(std::size_t place) {
  const std::size_t n = size();
  for (std::size_t k = 0; k <= place; ++k)
    columns_[k].erase(columns_[k].begin() + static_cast<std::ptrdiff_t>(place - k));
  // Column k begins at the diagonal of the new line k; so does column k + 1, above its own diagonal.
  for (std::size_t k = place; k + 1 < n; ++k) {
    double *left = columns_[k].data(), *right = columns_[k + 1].data();
    const double length = std::hypot(left[0], right[0]), cosine = left[0] / length, sine = right[0] / length;
    loops().rotate(left, right, cosine, sine, n - 1 - k);
    left[0] = length;
    loops().rotate(&z_[k], &z_[k + 1], cosine, sine, 1);
    columns_[k + 1].erase(columns_[k + 1].begin());
  }
  columns_.pop_back();
  z_.pop_back();
}

std::vector<double> Border::image() const {
  std::vector<double> out{tau_};
  for (const auto& column : columns_) out.insert(out.end(), column.begin(), column.end());
  out.insert(out.end(), z_.begin(), z_.end());
  return out;
}

void Border::restore(std::span<const double> image, std::size_t members) {
  if (image.size() != 1 + members * (members + 1) / 2 + members)
    throw std::invalid_argument("the factor of a margin set does not match its members");
  tau_ = image[0];
  columns_.clear();
  const double* at = image.data() + 1;
  for (std::size_t k = 0; k < members; at += members - k++) columns_.emplace_back(at, at + members - k);
  z_.assign(at, at + members);
}

}  // namespace everlearn
