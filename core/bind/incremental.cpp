// The exact machine as a Python class.
#include "incremental.hpp"

#include "bind/solver.hpp"

namespace everlearn::bind {
namespace {

class IncrementalMachine final : public Machine {
 public:
  template <class... Spec>
  explicit IncrementalMachine(const Spec&... spec) : Machine(spec...), solver_(expansion_) {}

  void set_parameters(std::size_t window, bool check_definite) {
    solver_.window = window;
    solver_.check_definite = check_definite;
  }
  /// For tests of the fallback; it is not saved.
  void set_most_steps(std::int64_t steps) { solver_.max_steps = steps; }
  void set_limit(std::size_t cache_bytes) {
    alone([&] { solver_.set_limit(cache_bytes); });
  }
  void learn(const HeldBlock& rows, const Labels& labels, const Costs& costs, const Ints& ids, const Ints& which) {
    alone([&] { solver_.learn(checked(rows, labels, costs, ids, view(which), true), view(which)); });
  }
  void gather(const HeldBlock& rows, const Labels& labels, const Costs& costs, const Ints& ids, const Ints& which) {
    alone([&] { solver_.gather(checked(rows, labels, costs, ids, view(which), true), view(which)); });
  }
  void guess(const Array<double>& theta) {
    alone([&] { solver_.guess(view(theta)); });
  }
  bool solve(std::size_t rounds) {
    return alone([&] { return solver_.solve(rounds); });
  }
  std::size_t settle(std::size_t count) {
    return alone([&] { return solver_.settle(count); });
  }
  void forget(const Ints& ids) {
    check_distinct({ids.data(), ids.data() + ids.shape(0)});
    alone([&] { solver_.forget(view(ids)); });
  }
  void relabel(const Ints& ids, const Labels& labels, const Array<double>& factors) {
    if (labels.shape(0) != ids.shape(0) || factors.shape(0) != ids.shape(0))
      throw std::invalid_argument("labels and factors must have an entry for each of the " +
                                  std::to_string(ids.shape(0)) + " ids");
    for (const auto label : view(labels)) check_label(label);
    for (const auto factor : view(factors))
      if (!(factor >= 0) || !is_finite(factor)) throw std::invalid_argument("factors must be finite, 0 or above");
    alone([&] { solver_.relabel(view(ids), view(labels), view(factors)); });
  }
  void begin() {
    alone([&] { solver_.begin(); });
  }
  void commit() {
    alone([&] { solver_.commit(); });
  }
  void rollback() {
    alone([&] { solver_.rollback(); });
  }
  nb::object leave_one_out(std::size_t first, std::size_t count) {
    std::vector<double> scores = alone([&] { return solver_.leave_one_out(first, count); });
    const std::size_t rows = scores.size() / expansion_.columns();
    return give(std::move(scores), {rows, expansion_.columns()});
  }
  nb::object objective() const {
    return per_column<double>([&](std::size_t c) { return solver_.objective(c); });
  }
  nb::object margin_sizes() const {
    return per_column<std::int64_t>([&](std::size_t c) { return static_cast<std::int64_t>(solver_.margin(c).size()); });
  }
  std::int64_t iterations() const { return solver_.counts.iterations; }
  std::int64_t steps() const { return solver_.counts.steps; }
  std::int64_t fallbacks() const { return solver_.counts.fallbacks; }
  std::int64_t refreshes() const { return solver_.counts.refreshes; }
  std::uint64_t exact_evaluations() const { return solver_.evaluations(); }
  std::size_t exact_bytes() const { return solver_.bytes(); }

 private:
  void score(const Block& block, int threads, double* out) const override { solver_.decide(block, threads, out); }
  void ready() override {
    solver_.rebuild();
    solver_.sweep();
  }
  bool exact() const override { return true; }
  std::vector<double> kernel_values() override { return solver_.kernel_matrix(); }
  void take_kernel(const nb::dict& state) override {
    const std::size_t n = expansion_.size();
    const auto kernel = matrix<double>(state, "kernel", n, n);
    solver_.restore({kernel.data(), kernel.size()}, vector<double>(state, "ridges", n));
  }
  void put(nb::dict& state) const override {
    std::vector<std::int64_t> members, sizes;
    std::vector<double> factors;
    for (std::size_t c = 0; c < expansion_.columns(); ++c) {
      const auto& margin = solver_.margin(c);
      const std::vector<double> factor = solver_.factor(c);
      sizes.push_back(static_cast<std::int64_t>(margin.size()));
      members.insert(members.end(), margin.begin(), margin.end());
      factors.insert(factors.end(), factor.begin(), factor.end());
    }
    state["margins"] = give(std::move(members));
    state["margin_sizes"] = give(std::move(sizes));
    state["factors"] = give(std::move(factors));
    state["changes"] = give(solver_.changes());
    state["ridges"] = give(std::vector<double>(solver_.ridges()));
    state["iterations"] = solver_.counts.iterations;
    state["tallies"] = give(solver_.tallies());
  }
  void take(const nb::dict& state) override {
    if (!external()) solver_.restore({}, vector<double>(state, "ridges", expansion_.size()));
    const auto sizes = counts(state, "margin_sizes", expansion_.columns());
    const auto members = entry<std::int64_t>(state, "margins");
    const auto factors = entry<double>(state, "factors");
    check_finite(view(factors), "factors");
    std::size_t at = 0, factor_at = 0;
    for (std::size_t c = 0; c < sizes.size(); ++c) {
      const auto size = static_cast<std::size_t>(sizes[c]);
      const std::size_t length = 1 + size * (size + 1) / 2 + size;
      require(size <= members.shape(0) - at && length <= factors.shape(0) - factor_at);
      solver_.restore_margin(c, view(members).subspan(at, size), view(factors).subspan(factor_at, length));
      at += size;
      factor_at += length;
    }
    check_size(at, members.shape(0)), check_size(factor_at, factors.shape(0));
    solver_.set_changes(counts(state, "changes", expansion_.columns()));
    solver_.set_tallies(counts(state, "tallies", 3 * expansion_.columns()));
    solver_.counts.iterations = count(state, "iterations");
  }

  Incremental solver_;
};

}  // namespace

void bind_incremental(nb::module_& module) {
  solver<IncrementalMachine>(module, "Incremental")
      .def("set_parameters", &IncrementalMachine::set_parameters, nb::arg("window"), nb::arg("check_definite"))
      .def("set_limit", &IncrementalMachine::set_limit, nb::arg("cache_bytes"))
      .def("set_most_steps", &IncrementalMachine::set_most_steps, nb::arg("steps"))
      .def("gather", &IncrementalMachine::gather)
      .def("guess", &IncrementalMachine::guess, nb::arg("theta"))
      .def("solve", &IncrementalMachine::solve, nb::arg("rounds"))
      .def("settle", &IncrementalMachine::settle, nb::arg("count"))
      .def("forget", &IncrementalMachine::forget, nb::arg("ids"))
      .def("relabel", &IncrementalMachine::relabel, nb::arg("ids"), nb::arg("labels"), nb::arg("factors"))
      .def("begin", &IncrementalMachine::begin)
      .def("commit", &IncrementalMachine::commit)
      .def("rollback", &IncrementalMachine::rollback)
      .def("leave_one_out", &IncrementalMachine::leave_one_out, nb::arg("first"), nb::arg("count"))
      .def_prop_ro("objective", &IncrementalMachine::objective)
      .def_prop_ro("margin_sizes", &IncrementalMachine::margin_sizes)
      .def_prop_ro("fallbacks", &IncrementalMachine::fallbacks)
      .def_prop_ro("refreshes", &IncrementalMachine::refreshes)
      .def_prop_ro("exact_evaluations", &IncrementalMachine::exact_evaluations)
      .def_prop_ro("exact_bytes", &IncrementalMachine::exact_bytes);
}

}  // namespace everlearn::bind
