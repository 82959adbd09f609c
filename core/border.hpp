// The linear system of a margin set, kept factorized while members enter and leave.
//
// On the margin set S an exact machine solves, for given r_0 and r,
//
//     sum_S theta_j = r_0,      sum_S K_ij theta_j + b = r_i   for i in S.
//
// Because the sum of theta is given, a constant tau > 0 may be added to K. M = K_SS + tau is positive definite whenever
// the system has one solution (no member lies in the affine hull of the others), also if K_SS itself is singular. The
// class keeps the Cholesky factor M = L L' and z = L^-1 1. Growing and shrinking are orthogonal operations, so that,
// unlike with an explicit inverse, rounding errors do not multiply. Every operation costs O(|S|^2).
#pragma once

#include <cstddef>
#include <span>
#include <vector>

#include "aligned.hpp"

namespace everlearn {

class Border {
 public:
  std::size_t size() const { return columns_.size(); }
  /// Removes all members; chooses tau for kernel values of this size.
  void clear(double scale);
  double tau() const { return tau_; }

  /// The projection of a candidate c on S: line = L^-1 (K_Sc + tau), and the squared distance of c from the span of S
  /// under K + tau, which is 0 when c lies in the affine hull of S.
  struct Candidate {
    std::vector<double> line;
    double squared = 0;
  };
  /// `values` are K(c, .) at the members, in their order.
  Candidate project(std::vector<double> values, double own) const;

  struct Response {
    double b;
    std::vector<double> theta;
  };
  /// How b and theta respond when c moves by `direction`: r_0 = -direction, r = -direction K_Sc.
  Response respond(const Candidate& c, double direction) const;
  /// The solution for r_0 and r.
  Response solve(double r_0, std::vector<double> r) const;

  /// Appends a candidate that was projected on S as it is now, at a distance above 0.
  void grow(const Candidate& c);
  /// Removes the member at a place; those behind it move up.
  void shrink(std::size_t place);

  /// The whole state: tau, then the columns of L, then z.
  std::vector<double> image() const;
  void restore(std::span<const double> image, std::size_t members);

 private:
  Response finish(std::vector<double> w, double r_0) const;

  double tau_ = 1;
  std::vector<AlignedVector<double>> columns_;  // of L, each from the diagonal down
  std::vector<double> z_;
};

}  // namespace everlearn
