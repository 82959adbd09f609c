// The SVM with local updates as a Python class.
#include "local.hpp"

#include <algorithm>

#include "bind/solver.hpp"

namespace everlearn::bind {
namespace {

class LocalMachine final : public Machine {
 public:
  template <class... Spec>
  explicit LocalMachine(const Spec&... spec) : Machine(spec...), solver_(expansion_) {}

  void set_parameters(double tau, bool grows, double radius, std::size_t min_neighbors, std::size_t full_pass_every,
                      double full_pass_tol, std::size_t full_pass_sample, std::size_t max_idle) {
    solver_.tau = tau;
    solver_.extent = {grows, radius, min_neighbors};
    solver_.full_pass_every = full_pass_every;
    solver_.full_pass_tol = full_pass_tol;
    solver_.full_pass_sample = full_pass_sample;
    solver_.max_idle = max_idle;
  }
  void seed_generator(const Array<std::uint64_t>& words) {
    const Generator first = generator(words);
    alone([&] { solver_.seed(first); });
  }
  void learn(const HeldBlock& rows, const Labels& labels, const Costs& costs, const Ints& ids, const Ints& which) {
    alone([&] { solver_.learn(checked(rows, labels, costs, ids, view(which)), view(which)); });
  }
  void forget(const Ints& ids) {
    alone([&] { solver_.forget(view(ids)); });
  }
  bool finish(std::size_t rounds) {
    return alone([&] { return solver_.finish(rounds); });
  }
  nb::object updates() const { return give(std::vector<std::int64_t>(solver_.state.updates)); }
  nb::object neighbors() const { return give(std::vector<std::int64_t>(solver_.state.neighbors)); }
  nb::object full_passes() const { return give(std::vector<std::int64_t>(solver_.state.full_passes)); }
  std::int64_t iterations() const { return solver_.state.iterations; }
  std::int64_t steps() const { return solver_.steps; }
  std::int64_t capped() const override { return sum(solver_.state.capped); }

 private:
  void put(nb::dict& state) const override {
    const std::size_t n = expansion_.size(), columns = expansion_.columns();
    std::vector<std::uint64_t> words;
    for (const Generator& own : solver_.state.generators) words.insert(words.end(), own.state.begin(), own.state.end());
    std::vector<std::int64_t> changed;
    for (std::size_t c = 0; c < columns; ++c)
      changed.insert(changed.end(), expansion_.column(c).changed.begin(),
                     expansion_.column(c).changed.begin() + static_cast<std::ptrdiff_t>(n));
    state["generators"] = give(std::move(words));
    state["changed"] = give(std::move(changed), {columns, n});
    state["updates"] = updates();
    state["neighbors"] = neighbors();
    state["since"] = give(std::vector<std::int64_t>(solver_.state.since));
    state["full_passes"] = full_passes();
    state["capped"] = give(std::vector<std::int64_t>(solver_.state.capped));
    state["iterations"] = solver_.state.iterations;
  }
  void take(const nb::dict& state) override {
    const std::size_t n = expansion_.size(), columns = expansion_.columns();
    const auto words = vector<std::uint64_t>(state, "generators", 4 * columns);
    const auto changed = matrix<std::int64_t>(state, "changed", columns, n);
    for (std::size_t e = 0; e < changed.size(); ++e) check_count(changed.data()[e], "changed");
    for (std::size_t c = 0; c < columns; ++c) {
      std::copy_n(words.begin() + 4 * static_cast<std::ptrdiff_t>(c), 4, solver_.state.generators[c].state.begin());
      std::copy_n(changed.data() + c * n, n, expansion_.column(c).changed.begin());
    }
    solver_.state.updates = counts(state, "updates", columns);
    solver_.state.neighbors = counts(state, "neighbors", columns);
    solver_.state.since = counts(state, "since", columns);
    solver_.state.full_passes = counts(state, "full_passes", columns);
    solver_.state.capped = counts(state, "capped", columns);
    solver_.state.iterations = count(state, "iterations");
  }

  LocalUpdates solver_;
};

}  // namespace

void bind_local(nb::module_& module) {
  solver<LocalMachine>(module, "LocalUpdates")
      .def("set_parameters", &LocalMachine::set_parameters, nb::arg("tau"), nb::arg("grows"), nb::arg("radius"),
           nb::arg("min_neighbors"), nb::arg("full_pass_every"), nb::arg("full_pass_tol"), nb::arg("full_pass_sample"),
           nb::arg("max_idle"))
      .def("seed_generator", &LocalMachine::seed_generator, nb::arg("words"))
      .def("forget", &LocalMachine::forget, nb::arg("ids"))
      .def("finish", &LocalMachine::finish, nb::arg("rounds"))
      .def_prop_ro("updates", &LocalMachine::updates)
      .def_prop_ro("neighbors", &LocalMachine::neighbors)
      .def_prop_ro("full_passes", &LocalMachine::full_passes);
}

}  // namespace everlearn::bind
