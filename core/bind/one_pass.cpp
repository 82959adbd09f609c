// The budget learners as Python classes.
#include <algorithm>

#include "bind/solver.hpp"
#include "koil.hpp"
#include "margin_learners.hpp"
#include "perceptrons.hpp"
#include "projectron.hpp"

namespace everlearn::bind {
namespace {

/// The lists of all columns one after the other, and where each begins.
template <class T>
struct Ragged {
  std::vector<T> values;
  std::vector<std::int64_t> starts{0};

  explicit Ragged(const std::vector<std::vector<T>>& lists) {
    for (const auto& list : lists) {
      values.insert(values.end(), list.begin(), list.end());
      starts.push_back(static_cast<std::int64_t>(values.size()));
    }
  }
  void put(nb::dict& state, const std::string& name) {
    state[(name).c_str()] = give(std::move(values));
    state[(name + "_starts").c_str()] = give(std::move(starts));
  }
  static std::vector<std::vector<T>> take(const nb::dict& state, const std::string& name, std::size_t columns) {
    const auto values = entry<T>(state, name.c_str());
    const auto starts = vector<std::int64_t>(state, (name + "_starts").c_str(), columns + 1);
    if constexpr (std::is_floating_point_v<T>) check_finite(view(values), name.c_str());
    std::vector<std::vector<T>> lists(columns);
    check_size(static_cast<std::size_t>(starts[0]), std::size_t{0});
    check_size(static_cast<std::size_t>(starts[columns]), values.shape(0));
    for (std::size_t c = 0; c < columns; ++c) require(starts[c] <= starts[c + 1]);
    for (std::size_t c = 0; c < columns; ++c) {
      lists[c].assign(values.data() + starts[c], values.data() + starts[c + 1]);
    }
    return lists;
  }
};

template <class Solver>
class OnePassMachine : public Machine {
 public:
  template <class... Spec>
  explicit OnePassMachine(const Spec&... spec) : Machine(spec...), solver_(expansion_) {}

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
  std::int64_t iterations() const { return solver_.state.iterations; }
  std::int64_t steps() const { return 0; }
  nb::object mistakes() const { return give(std::vector<std::int64_t>(solver_.state.mistakes)); }

 protected:
  bool boxed() const override { return false; }
  void put(nb::dict& state) const override {
    std::vector<std::uint64_t> words;
    for (const Generator& own : solver_.state.generators) words.insert(words.end(), own.state.begin(), own.state.end());
    state["generators"] = give(std::move(words));
    state["mistakes"] = mistakes();
    state["iterations"] = solver_.state.iterations;
    Ragged(solver_.state.buffers).put(state, "buffers");
  }
  void take(const nb::dict& state) override {
    const std::size_t columns = expansion_.columns();
    const auto words = vector<std::uint64_t>(state, "generators", 4 * columns);
    for (std::size_t c = 0; c < columns; ++c)
      std::copy_n(words.begin() + 4 * c, 4, solver_.state.generators[c].state.begin());
    solver_.state.mistakes = counts(state, "mistakes", columns);
    solver_.state.iterations = count(state, "iterations");
    solver_.state.buffers = Ragged<std::int64_t>::take(state, "buffers", columns);
    for (std::size_t c = 0; c < columns; ++c) {
      std::size_t members = 0;
      for (std::size_t s = 0; s < expansion_.size(); ++s) members += expansion_.column(c).member[s] != 0;
      check_size(solver_.state.buffers[c].size(), members);
      std::vector<std::int64_t> ids = solver_.state.buffers[c];
      std::sort(ids.begin(), ids.end());
      require(std::adjacent_find(ids.begin(), ids.end()) == ids.end());  // no row twice
      for (const auto id : ids) {
        const std::int64_t slot = expansion_.find(id);
        require(slot >= 0 && expansion_.column(c).member[static_cast<std::size_t>(slot)] != 0);
      }
    }
    solver_.start();
  }

  Solver solver_;
};

class PerceptronMachine final : public OnePassMachine<Perceptron> {
 public:
  using OnePassMachine::OnePassMachine;

  void set_parameters(double margin, std::size_t budget, const std::string& overflow, const std::string& averaging) {
    solver_.margin = margin;
    solver_.budget = budget;
    solver_.overflow = named<Overflow>(overflow, {{"nothing", Overflow::nothing},
                                                  {"worst", Overflow::worst},
                                                  {"random", Overflow::random},
                                                  {"forget", Overflow::forget}});
    solver_.averaging =
        named<Averaging>(averaging, {{"none", Averaging::none}, {"mean", Averaging::mean}, {"vote", Averaging::vote}});
  }
  nb::object spent() const { return give(std::vector<double>(solver_.spent)); }

 private:
  void score(const Block& block, int threads, double* out) const override {
    if (solver_.averaging == Averaging::none) Machine::score(block, threads, out);
    else solver_.decide(block, threads, out);
  }
  void put(nb::dict& state) const override {
    OnePassMachine::put(state);
    const std::size_t columns = expansion_.columns();
    std::vector<std::vector<std::int64_t>> ids(columns), born(columns);
    std::vector<std::vector<double>> coefficients(columns);
    for (std::size_t c = 0; c < columns; ++c)
      for (const auto& added : solver_.entries[c])
        ids[c].push_back(added.id), born[c].push_back(added.born), coefficients[c].push_back(added.coefficient);
    state["spent"] = spent();
    Ragged(ids).put(state, "entry_ids");
    Ragged(born).put(state, "entry_times");
    Ragged(coefficients).put(state, "entry_coefficients");
  }
  void take(const nb::dict& state) override {
    OnePassMachine::take(state);
    const std::size_t columns = expansion_.columns();
    solver_.spent = vector<double>(state, "spent", columns);
    const auto ids = Ragged<std::int64_t>::take(state, "entry_ids", columns);
    const auto born = Ragged<std::int64_t>::take(state, "entry_times", columns);
    const auto coefficients = Ragged<double>::take(state, "entry_coefficients", columns);
    for (std::size_t c = 0; c < columns; ++c) {
      check_size(born[c].size(), ids[c].size()), check_size(coefficients[c].size(), ids[c].size());
      for (std::size_t e = 0; e < ids[c].size(); ++e) {
        const std::int64_t slot = expansion_.find(ids[c][e]);
        require(slot >= 0 && expansion_.column(c).member[static_cast<std::size_t>(slot)] != 0);
        check_count(born[c][e], "entry_times");
        solver_.entries[c].push_back({ids[c][e], born[c][e], coefficients[c][e]});
      }
    }
  }
};

class PassiveAggressiveMachine final : public OnePassMachine<PassiveAggressive> {
 public:
  using OnePassMachine::OnePassMachine;

  void set_parameters(const std::string& variant) {
    solver_.variant = named<Aggressiveness>(
        variant, {{"PA", Aggressiveness::pa}, {"PA-I", Aggressiveness::pa_1}, {"PA-II", Aggressiveness::pa_2}});
  }
};

class NormaMachine final : public OnePassMachine<Norma> {
 public:
  using OnePassMachine::OnePassMachine;

  void set_parameters(double eta, double penalty, bool decays, double nu, bool has_bias, std::size_t budget) {
    solver_.eta = eta;
    solver_.lambda = penalty;
    solver_.decays = decays;
    solver_.nu = nu;
    solver_.has_bias = has_bias;
    solver_.budget = budget;
  }
  void set_margin(double rho) { solver_.margin.assign(expansion_.columns(), rho); }
  nb::object margin() const { return give(std::vector<double>(solver_.margin)); }

 private:
  void put(nb::dict& state) const override {
    OnePassMachine::put(state);
    state["margin"] = margin();
  }
  void take(const nb::dict& state) override {
    OnePassMachine::take(state);
    solver_.margin = vector<double>(state, "margin", expansion_.columns());
  }
};

class ProjectronMachine final : public OnePassMachine<Projectron> {
 public:
  using OnePassMachine::OnePassMachine;

  void set_parameters(double eta, std::size_t budget, bool steps_on_margin) {
    solver_.eta = eta;
    solver_.budget = budget;
    solver_.steps_on_margin = steps_on_margin;
  }
  nb::object projections() const { return give(std::vector<std::int64_t>(solver_.projections)); }
  nb::object margin_steps() const { return give(std::vector<std::int64_t>(solver_.margin_steps)); }

 private:
  void put(nb::dict& state) const override {
    OnePassMachine::put(state);
    Ragged(solver_.factor).put(state, "factor");
    state["projections"] = projections();
    state["margin_steps"] = margin_steps();
  }
  void take(const nb::dict& state) override {
    OnePassMachine::take(state);
    const std::size_t columns = expansion_.columns();
    solver_.factor = Ragged<double>::take(state, "factor", columns);
    for (std::size_t c = 0; c < columns; ++c) {
      const std::size_t n = solver_.state.buffers[c].size();
      check_size(solver_.factor[c].size(), n * (n + 1) / 2);
    }
    solver_.projections = counts(state, "projections", columns);
    solver_.margin_steps = counts(state, "margin_steps", columns);
  }
};

class KoilMachine final : public OnePassMachine<Koil> {
 public:
  using OnePassMachine::OnePassMachine;

  void set_parameters(double eta, std::size_t budget, std::size_t neighbors, const std::string& victim,
                      bool compensates, bool nearest_first, bool literal, bool weighted) {
    solver_.eta = eta;
    solver_.budget = budget;
    solver_.neighbors = neighbors;
    solver_.victim = named<Victim>(victim, {{"oldest", Victim::oldest}, {"random", Victim::random}});
    solver_.compensates = compensates;
    solver_.nearest_first = nearest_first;
    solver_.literal = literal;
    solver_.weighted = weighted;
  }

 private:
  void put(nb::dict& state) const override {
    OnePassMachine::put(state);
    std::vector<std::int64_t> seen;
    for (const auto& pair : solver_.seen) seen.insert(seen.end(), pair.begin(), pair.end());
    state["seen"] = give(std::move(seen));
  }
  void take(const nb::dict& state) override {
    OnePassMachine::take(state);
    const auto seen = counts(state, "seen", 2 * expansion_.columns());
    for (std::size_t c = 0; c < expansion_.columns(); ++c) {
      solver_.seen[c] = {seen[2 * c], seen[2 * c + 1]};
      const auto came = solver_.seen[c][0] + solver_.seen[c][1];
      require(solver_.seen[c][0] >= 0 && solver_.seen[c][1] >= 0);
      require(static_cast<std::size_t>(came) >= solver_.state.buffers[c].size());
    }
  }
};

/// The methods that budget learners have in addition to those of all solvers.
template <class Bound>
nb::class_<Bound, Machine> one_pass(nb::module_& module, const char* name) {
  return solver<Bound>(module, name)
      .def("seed_generator", &Bound::seed_generator, nb::arg("words"))
      .def("forget", &Bound::forget, nb::arg("ids"))
      .def_prop_ro("mistakes", &Bound::mistakes);
}

}  // namespace

void bind_one_pass(nb::module_& module) {
  one_pass<PerceptronMachine>(module, "Perceptron")
      .def("set_parameters", &PerceptronMachine::set_parameters, nb::arg("margin"), nb::arg("budget"),
           nb::arg("overflow"), nb::arg("averaging"))
      .def_prop_ro("spent", &PerceptronMachine::spent);
  one_pass<PassiveAggressiveMachine>(module, "PassiveAggressive")
      .def("set_parameters", &PassiveAggressiveMachine::set_parameters, nb::arg("variant") = "PA-I");
  one_pass<NormaMachine>(module, "Norma")
      .def("set_parameters", &NormaMachine::set_parameters, nb::arg("eta"), nb::arg("penalty"), nb::arg("decays"),
           nb::arg("nu"), nb::arg("has_bias"), nb::arg("budget"))
      .def("set_margin", &NormaMachine::set_margin, nb::arg("rho"))
      .def_prop_ro("margin", &NormaMachine::margin);
  one_pass<ProjectronMachine>(module, "Projectron")
      .def("set_parameters", &ProjectronMachine::set_parameters, nb::arg("eta"), nb::arg("budget"),
           nb::arg("steps_on_margin"))
      .def_prop_ro("projections", &ProjectronMachine::projections)
      .def_prop_ro("margin_steps", &ProjectronMachine::margin_steps);
  one_pass<KoilMachine>(module, "Koil")
      .def("set_parameters", &KoilMachine::set_parameters, nb::arg("eta"), nb::arg("budget"), nb::arg("neighbors"),
           nb::arg("victim"), nb::arg("compensates"), nb::arg("nearest_first"), nb::arg("literal"),
           nb::arg("weighted"));
}

}  // namespace everlearn::bind
