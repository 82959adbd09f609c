// Turns a solver into a Python class.
#pragma once

#include "bind/machine.hpp"
#include "generator.hpp"

namespace everlearn::bind {

using Labels = Array<std::int32_t>;
using Costs = Array<double>;
using Ints = Array<std::int64_t>;
using MutableInts = nb::ndarray<std::int64_t, nb::ndim<1>, nb::c_contig, nb::device::cpu>;

inline Generator generator(const Array<std::uint64_t>& words) {
  if (words.shape(0) != 4) throw std::invalid_argument("a generator is seeded with four words");
  return {{words(0), words(1), words(2), words(3)}};
}

/// Learns one row. False, and nothing changes, if a row with its id is in memory.
template <class Solver, class T>
bool learn_one(Solver& self, const Matrix<T>& row, std::int32_t label, double cost, std::int64_t id) {
  if (self.has(id)) return false;
  const std::int64_t first = 0;
  const auto one = {std::size_t{1}};
  const HeldBlock block{
      {sizeof(T) == 4 ? Precision::f32 : Precision::f64, false, row.shape(0), row.shape(1), row.data()}, nb::object()};
  self.learn(block, Labels(&label, one), Costs(&cost, one), Ints(&id, one), Ints(&first, one));
  return true;
}

/// A class for a solver, with the methods that all solvers have.
template <class Solver>
nb::class_<Solver, Machine> solver(nb::module_& module, const char* name) {
  nb::class_<Solver, Machine> bound(module, name);
  bound
      .def(nb::init<const std::string&, double, double, int, const std::string&, const std::string&, std::size_t,
                    std::size_t, const Array<double>&>(),
           nb::arg("kernel"), nb::arg("gamma"), nb::arg("coef0"), nb::arg("degree"), nb::arg("layout"),
           nb::arg("precision"), nb::arg("width"), nb::arg("classes"), nb::arg("center"))
      .def("learn", &Solver::learn)
      .def("learn_one", &learn_one<Solver, double>, nb::arg("row"), nb::arg("label"), nb::arg("cost"), nb::arg("id"))
      .def("learn_one", &learn_one<Solver, float>, nb::arg("row"), nb::arg("label"), nb::arg("cost"), nb::arg("id"))
      .def_prop_ro("iterations", &Solver::iterations)
      .def_prop_ro("steps", &Solver::steps);
  return bound;
}

/// The budget learners.
void bind_one_pass(nb::module_& module);
/// The exact machine.
void bind_incremental(nb::module_& module);
/// The SVM with local updates.
void bind_local(nb::module_& module);
/// Selection of rows.
void bind_select(nb::module_& module);
/// The linear AUC learners.
void bind_auc(nb::module_& module);

}  // namespace everlearn::bind
