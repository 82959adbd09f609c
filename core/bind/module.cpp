// The module everlearn._core, and LASVM and its relatives as Python classes. The other bindings are in the files beside
// this one: arrays in, arrays out, no arithmetic, and one class for each solver.
#include "bind/solver.hpp"
#include "byte_rows.hpp"
#include "gap.hpp"
#include "lasvm.hpp"
#include "ramp.hpp"

namespace everlearn::bind {
namespace {

class LasvmMachine final : public Machine {
 public:
  template <class... Spec>
  explicit LasvmMachine(const Spec&... spec) : Machine(spec...), solver_(expansion_, classes_) {}

  void set_parameters(double tau, double delta_max, bool keep_idle, std::size_t reserve) {
    expansion_.reserve().set_capacity(reserve);
    solver_.tau = tau;
    solver_.delta_max = delta_max;
    solver_.keep_idle = keep_idle;
  }
  void seed_generator(const Array<std::uint64_t>& words) { solver_.generator = generator(words); }
  void seed(const HeldBlock& rows, const Labels& labels, const Costs& costs, const Ints& ids, const Ints& which) {
    alone([&] { solver_.seed(checked(rows, labels, costs, ids, view(which), true), view(which)); });
  }
  void seed_scored(const HeldBlock& rows, const Labels& labels, const Costs& costs, const Ints& ids, const Ints& which,
                   const Matrix<double>& scores) {
    alone([&] {
      const LabeledRows labeled = checked(rows, labels, costs, ids, view(which), true);
      if (external()) throw std::invalid_argument("scored rows need features");
      if (scores.shape(0) != labeled.block.rows || scores.shape(1) != expansion_.columns())
        throw std::invalid_argument("scores do not match the rows");
      solver_.seed(labeled, view(which), {scores.data(), scores.size()});
    });
  }
  void learn(const HeldBlock& rows, const Labels& labels, const Costs& costs, const Ints& ids, const Ints& which) {
    alone([&] { solver_.learn(checked(rows, labels, costs, ids, view(which)), view(which)); });
  }
  /// Reorders `remaining` in place; returns how many rows are left, at its front.
  std::size_t learn_selected(const HeldBlock& rows, const Labels& labels, const Costs& costs, const Ints& ids,
                             const MutableInts& remaining, const std::string& rule, std::size_t pool,
                             std::size_t count) {
    std::span<std::int64_t> left(remaining.data(), remaining.shape(0));
    const Selection chosen = named<Selection>(
        rule,
        {{"gradient", Selection::gradient}, {"active", Selection::active}, {"autoactive", Selection::autoactive}});
    if (pool == 0) throw std::invalid_argument("pool must be above 0");
    alone([&] { solver_.learn_selected(checked(rows, labels, costs, ids, left), left, chosen, pool, count); });
    return left.size();
  }
  bool finish(std::size_t rounds) {
    return alone([&] { return solver_.finish(rounds); });
  }
  void forget(const Ints& ids) {
    alone([&] { solver_.forget(view(ids)); });
  }
  std::int64_t iterations() const { return solver_.iterations(); }
  void set_iterations(std::int64_t count) { solver_.set_iterations(count); }
  std::int64_t steps() const { return solver_.finishing_steps(); }
  void relearn(const Ints& ids) { relearn_with(solver_, view(ids)); }

 private:
  void put(nb::dict& state) const override {
    state["seen"] = give(std::vector<std::uint8_t>(solver_.seen()));
    state["generator"] =
        give(std::vector<std::uint64_t>(solver_.generator.state.begin(), solver_.generator.state.end()));
    state["iterations"] = solver_.iterations();
  }
  void take(const nb::dict& state) override {
    solver_.set_seen(vector<std::uint8_t>(state, "seen", classes_));
    seed_generator(entry<std::uint64_t>(state, "generator"));
    solver_.set_iterations(count(state, "iterations"));
  }

  Lasvm solver_;
};

class GapMachine final : public Machine {
 public:
  template <class... Spec>
  explicit GapMachine(const Spec&... spec) : Machine(spec...), solver_(expansion_, classes_) {}

  void set_parameters(double tau, const std::string& ramp, double s, std::size_t min_support, std::size_t clean_every,
                      std::size_t max_idle, std::size_t reserve) {
    expansion_.reserve().set_capacity(reserve);
    solver_.tau = tau;
    solver_.ramp = named<Ramp>(ramp, {{"none", Ramp::none}, {"fold", Ramp::fold}, {"skip", Ramp::skip}});
    solver_.s = s;
    solver_.min_support = min_support;
    solver_.clean_every = clean_every;
    solver_.max_idle = max_idle;
  }
  void learn(const HeldBlock& rows, const Labels& labels, const Costs& costs, const Ints& ids, const Ints& which) {
    alone([&] { solver_.learn(checked(rows, labels, costs, ids, view(which)), view(which)); });
  }
  void forget(const Ints& ids) {
    alone([&] { solver_.forget(view(ids)); });
  }
  void clean(std::size_t most) {
    alone([&] { solver_.clean(most); });
  }
  bool finish(std::size_t rounds) {
    return alone([&] { return solver_.finish(rounds); });
  }
  nb::object gap() const {
    return per_column<double>([&](std::size_t c) { return solver_.gap(c); });
  }
  nb::object outliers() const { return give(std::vector<std::int64_t>(solver_.state.outliers)); }
  nb::object skipped() const { return give(std::vector<std::int64_t>(solver_.state.skipped)); }
  std::int64_t iterations() const { return solver_.state.iterations; }
  void set_iterations(std::int64_t count) { solver_.state.iterations = count; }
  void relearn(const Ints& ids) { relearn_with(solver_, view(ids)); }
  std::int64_t steps() const { return solver_.steps(); }
  std::int64_t capped() const override { return sum(solver_.state.capped); }

 private:
  void put(nb::dict& state) const override {
    state["outliers"] = outliers();
    state["skipped"] = skipped();
    state["capped"] = give(std::vector<std::int64_t>(solver_.state.capped));
    state["class_costs"] = give(std::vector<double>(solver_.state.costs));
    state["class_rows"] = give(std::vector<std::int64_t>(solver_.state.rows));
    state["iterations"] = solver_.state.iterations;
  }
  void take(const nb::dict& state) override {
    const std::size_t columns = expansion_.columns();
    solver_.state = {counts(state, "outliers", columns),    counts(state, "skipped", columns),
                     counts(state, "capped", columns),      vector<double>(state, "class_costs", classes_),
                     counts(state, "class_rows", classes_), count(state, "iterations")};
  }

  Gap solver_;
};

class RampMachine final : public Machine {
 public:
  template <class... Spec>
  explicit RampMachine(const Spec&... spec) : Machine(spec...), solver_(expansion_, classes_) {}

  void set_parameters(double tau, double min_gain, double s, std::size_t min_support, std::size_t max_idle,
                      const std::string& outside) {
    solver_.tau = tau;
    solver_.min_gain = min_gain;
    solver_.s = s;
    solver_.min_support = min_support;
    solver_.max_idle = max_idle;
    solver_.outside = named<Outside>(outside, {{"shut", Outside::shut}, {"fold", Outside::fold}});
  }
  void learn(const HeldBlock& rows, const Labels& labels, const Costs& costs, const Ints& ids, const Ints& which) {
    alone([&] { solver_.learn(checked(rows, labels, costs, ids, view(which)), view(which)); });
  }
  void forget(const Ints& ids) {
    alone([&] { solver_.forget(view(ids)); });
  }
  void gather(const HeldBlock& rows, const Labels& labels, const Costs& costs, const Ints& ids, const Ints& which) {
    alone([&] { solver_.gather(checked(rows, labels, costs, ids, view(which), true), view(which)); });
  }
  bool solve(std::size_t rounds) {
    return alone([&] { return solver_.solve(rounds); });
  }
  std::size_t redraw(bool commit) {
    return alone([&] { return solver_.redraw(commit); });
  }
  void drop_idle() {
    alone([&] { solver_.drop_idle(); });
  }
  nb::object objective() const {
    return per_column<double>([&](std::size_t c) { return solver_.objective(c); });
  }
  std::int64_t iterations() const { return solver_.state.iterations; }
  std::int64_t steps() const { return solver_.steps; }
  std::int64_t capped() const override { return sum(solver_.state.capped); }

 private:
  void put(nb::dict& state) const override {
    state["trusted"] = give(std::vector<std::uint8_t>(solver_.state.trusted));
    state["capped"] = give(std::vector<std::int64_t>(solver_.state.capped));
    state["iterations"] = solver_.state.iterations;
  }
  void take(const nb::dict& state) override {
    const std::size_t columns = expansion_.columns();
    solver_.state = {vector<std::uint8_t>(state, "trusted", columns), counts(state, "capped", columns),
                     count(state, "iterations")};
    solver_.start();
  }

  RampLoss solver_;
};

}  // namespace
}  // namespace everlearn::bind

NB_MODULE(_core, module) {
  using namespace everlearn;
  using namespace everlearn::bind;
  module.doc() = "The native core of everlearn";
  // Objects that a daemon thread still holds when the interpreter exits are never destroyed by Python; workers of
  // pytest-xdist and services end like that. nanobind takes them for errors of reference counting and reports them,
  // together with all types and functions. Development builds (without NDEBUG) keep the report.
#ifdef NDEBUG
  nb::set_leak_warnings(false);
#endif
  // A broken invariant is a CoreError; a mistake of the caller is a ValueError.
  nb::register_exception_translator([](const std::exception_ptr& thrown, void*) {
    try {
      std::rethrow_exception(thrown);
    } catch (const std::invalid_argument&) {
      throw;
    } catch (const std::logic_error& error) {
      PyErr_SetString(nb::module_::import_("everlearn.errors").attr("CoreError").ptr(), error.what());
    }
  });
  module.def("instruction_set", [] { return std::string(loops().name); });

  module.def("longest_row", &longest_row<double>, nb::arg("rows"));
  module.def("longest_row", &longest_row<float>, nb::arg("rows"));

  nb::class_<HeldBlock>(module, "Block")
      .def_static("dense", &dense_block<float>, nb::arg("rows"))
      .def_static("dense", &dense_block<double>, nb::arg("rows"))
      .def_static("csr", &csr_block<float>, nb::arg("values"), nb::arg("columns"), nb::arg("starts"), nb::arg("width"))
      .def_static("csr", &csr_block<double>, nb::arg("values"), nb::arg("columns"), nb::arg("starts"),
                  nb::arg("width"));
  module.def(
      "magnitudes",
      [](const HeldBlock& rows, const Array<double>& center) {
        if (center.shape(0) != 0) check_size(center.shape(0), rows.block.width);
        const Magnitudes found = magnitudes(rows.block, view(center));
        return nb::make_tuple(found.highest, found.lowest);
      },
      nb::arg("rows"), nb::arg("center"));

  module.def(
      "byte_step", [](const HeldBlock& rows) { return byte_step(rows.block); }, nb::arg("rows"),
      nb::call_guard<nb::gil_scoped_release>());

  nb::class_<Machine>(module, "Machine")
      .def_prop_ro("takes_bytes", &Machine::takes_bytes)
      .def_prop_ro("costly", &Machine::costly)
      .def("configure", &Machine::configure, nb::arg("cache_bytes"), nb::arg("threads"))
      .def("decide", &Machine::decide, nb::arg("rows"), nb::arg("threads"))
      .def("add_kernel_sums", &Machine::add_kernel_sums, nb::arg("rows"), nb::arg("sources"), nb::arg("weights"),
           nb::arg("targets"), nb::arg("sums").noconvert(), nb::arg("step") = 0.0)
      .def("rows", &Machine::rows, nb::arg("slots"), nb::arg("as_stored"))
      .def("get_state", &Machine::get_state)
      .def("set_state", &Machine::set_state)
      .def_prop_ro("ids", &Machine::ids)
      .def("missing", &Machine::missing, nb::arg("ids"))
      .def("violating", &Machine::violating, nb::arg("limit"))
      .def_prop_ro("reserved_ids", &Machine::reserved_ids)
      .def_prop_ro("reserve", &Machine::reserve)
      .def("set_reserve", &Machine::set_reserve)
      .def_prop_ro("kept_ids", &Machine::kept_ids)
      .def("drop_lingering", &Machine::drop_lingering, nb::arg("ids"))
      .def_prop_ro("labels", &Machine::labels)
      .def_prop_ro("alpha", &Machine::alpha)
      .def_prop_ro("gradients", &Machine::gradients)
      .def_prop_ro("members", &Machine::members)
      .def_prop_ro("bias", &Machine::bias)
      .def_prop_ro("delta", &Machine::delta)
      .def_prop_ro("violation", &Machine::violation)
      .def_prop_ro("free_margin", &Machine::free_margin)
      .def_prop_ro("size", &Machine::size)
      .def_prop_ro("kept", &Machine::kept)
      .def_prop_ro("capped", &Machine::capped)
      .def_prop_ro("cache_bytes", &Machine::cache_bytes)
      .def_prop_rw("evaluations", &Machine::evaluations, &Machine::set_evaluations);

  solver<LasvmMachine>(module, "Lasvm")
      .def("set_parameters", &LasvmMachine::set_parameters, nb::arg("tau"), nb::arg("delta_max"), nb::arg("keep_idle"),
           nb::arg("reserve"))
      .def("seed_generator", &LasvmMachine::seed_generator, nb::arg("words"))
      .def("seed", &LasvmMachine::seed)
      .def("seed_scored", &LasvmMachine::seed_scored)
      .def("learn_selected", &LasvmMachine::learn_selected, nb::arg("rows"), nb::arg("labels"), nb::arg("costs"),
           nb::arg("ids"), nb::arg("remaining").noconvert(), nb::arg("rule"), nb::arg("pool"), nb::arg("count"))
      .def("finish", &LasvmMachine::finish, nb::arg("rounds"))
      .def("set_iterations", &LasvmMachine::set_iterations, nb::arg("count"))
      .def("relearn", &LasvmMachine::relearn, nb::arg("ids"))
      .def("forget", &LasvmMachine::forget, nb::arg("ids"));

  solver<GapMachine>(module, "Gap")
      .def("set_parameters", &GapMachine::set_parameters, nb::arg("tau"), nb::arg("ramp"), nb::arg("s"),
           nb::arg("min_support"), nb::arg("clean_every"), nb::arg("max_idle"), nb::arg("reserve"))
      .def("forget", &GapMachine::forget, nb::arg("ids"))
      .def("clean", &GapMachine::clean, nb::arg("most"))
      .def("finish", &GapMachine::finish, nb::arg("rounds"))
      .def("set_iterations", &GapMachine::set_iterations, nb::arg("count"))
      .def("relearn", &GapMachine::relearn, nb::arg("ids"))
      .def_prop_ro("gap", &GapMachine::gap)
      .def_prop_ro("outliers", &GapMachine::outliers)
      .def_prop_ro("skipped", &GapMachine::skipped);

  solver<RampMachine>(module, "RampLoss")
      .def("set_parameters", &RampMachine::set_parameters, nb::arg("tau"), nb::arg("min_gain"), nb::arg("s"),
           nb::arg("min_support"), nb::arg("max_idle"), nb::arg("outside"))
      .def("forget", &RampMachine::forget, nb::arg("ids"))
      .def("gather", &RampMachine::gather)
      .def("solve", &RampMachine::solve, nb::arg("rounds"))
      .def("redraw", &RampMachine::redraw, nb::arg("commit"))
      .def("drop_idle", &RampMachine::drop_idle)
      .def_prop_ro("objective", &RampMachine::objective);

  bind_incremental(module);
  bind_one_pass(module);
  bind_select(module);
  bind_local(module);
  bind_auc(module);
}
