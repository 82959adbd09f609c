// The linear AUC learners as Python classes.
#include "auc.hpp"

#include <shared_mutex>

#include "bind/solver.hpp"

namespace everlearn::bind {
namespace {

std::string part(const char* name, std::size_t c, std::size_t side) {
  return std::string(name) + "_" + std::to_string(c) + "_" + std::to_string(side);
}

void put(const Oam& learner, nb::dict& state) {
  for (std::size_t c = 0; c < learner.problems(); ++c)
    for (std::size_t side = 0; side < 2; ++side)
      state[part("kept", c, side).c_str()] = give(std::vector<double>(learner.kept[c][side]));
}

void take(Oam& learner, const nb::dict& state) {
  for (std::size_t c = 0; c < learner.problems(); ++c)
    for (std::size_t side = 0; side < 2; ++side) {
      const auto rows = entry<double>(state, part("kept", c, side).c_str());
      check_finite(view(rows), "kept");
      check_size(learner.width() == 0 ? rows.shape(0) : rows.shape(0) % learner.width(), 0);
      learner.kept[c][side].assign(rows.data(), rows.data() + rows.shape(0));
    }
}

void put(const Opauc& learner, nb::dict& state) {
  for (std::size_t c = 0; c < learner.problems(); ++c)
    for (std::size_t side = 0; side < 2; ++side) {
      const Opauc::Summary& summary = learner.known[c][side];
      state[part("mean", c, side).c_str()] = give(std::vector<double>(summary.mean));
      state[part("spread", c, side).c_str()] = give(std::vector<double>(summary.spread));
      state[part("h", c, side).c_str()] = give(std::vector<double>(summary.h));
    }
}

void take(Opauc& learner, const nb::dict& state) {
  for (std::size_t c = 0; c < learner.problems(); ++c)
    for (std::size_t side = 0; side < 2; ++side) {
      Opauc::Summary& summary = learner.known[c][side];
      summary.mean = vector<double>(state, part("mean", c, side).c_str(), summary.mean.size());
      summary.spread = vector<double>(state, part("spread", c, side).c_str(), summary.spread.size());
      summary.h = vector<double>(state, part("h", c, side).c_str(), summary.h.size());
    }
}

template <class Learner>
class LinearMachine {
 public:
  template <class... Spec>
  explicit LinearMachine(std::size_t width, std::size_t classes, const Spec&... spec)
      : learner_(width, classes, spec...), classes_(classes) {}

  void seed_generator(const Array<std::uint64_t>& words) { learner_.seed(generator(words)); }
  void learn(const HeldBlock& rows, const Labels& labels, const Costs& weights, const Ints& which) {
    check(rows.block, labels, weights, which);
    nb::gil_scoped_release release;
    const std::unique_lock lock(in_use_);
    learner_.learn({rows.block, view(labels), view(weights)}, view(which));
  }
  std::int64_t iterations() const { return learner_.iterations; }
  nb::object coef() const {
    const std::shared_lock lock(in_use_);
    return give(flat(learner_.w), {learner_.problems(), learner_.width()});
  }
  nb::object middle() const {
    const std::shared_lock lock(in_use_);
    std::vector<double> middles;
    for (std::size_t c = 0; c < learner_.problems(); ++c) middles.push_back(learner_.middle(c));
    return give(std::move(middles));
  }
  Learner& learner() { return learner_; }

  nb::dict get_state() const {
    const std::shared_lock lock(in_use_);
    nb::dict state;
    std::vector<std::uint64_t> words;
    std::vector<std::int64_t> seen;
    for (std::size_t c = 0; c < learner_.problems(); ++c) {
      words.insert(words.end(), learner_.generators[c].state.begin(), learner_.generators[c].state.end());
      seen.insert(seen.end(), learner_.seen[c].begin(), learner_.seen[c].end());
    }
    state["w"] = give(flat(learner_.w));
    state["generators"] = give(std::move(words));
    state["seen"] = give(std::move(seen));
    state["iterations"] = learner_.iterations;
    put(learner_, state);
    return state;
  }
  void set_state(const nb::dict& state) {
    const std::unique_lock lock(in_use_);
    const std::size_t problems = learner_.problems();
    const auto w = vector<double>(state, "w", problems * learner_.width());
    const auto words = vector<std::uint64_t>(state, "generators", 4 * problems);
    const auto seen = counts(state, "seen", 2 * problems);
    for (std::size_t c = 0; c < problems; ++c) {
      std::copy_n(w.begin() + static_cast<std::ptrdiff_t>(c * learner_.width()), learner_.width(),
                  learner_.w[c].begin());
      std::copy_n(words.begin() + static_cast<std::ptrdiff_t>(4 * c), 4, learner_.generators[c].state.begin());
      learner_.seen[c] = {seen[2 * c], seen[2 * c + 1]};
    }
    learner_.iterations = count(state, "iterations");
    take(learner_, state);
  }

 private:
  static std::vector<double> flat(const std::vector<std::vector<double>>& lines) {
    std::vector<double> all;
    for (const auto& line : lines) all.insert(all.end(), line.begin(), line.end());
    return all;
  }

  /// Checks that no index is out of range.
  void check(const Block& block, const Labels& labels, const Costs& weights, const Ints& which) const {
    if (block.width != learner_.width())
      throw std::invalid_argument("rows of width " + std::to_string(block.width) + " do not fit rows of width " +
                                  std::to_string(learner_.width()));
    if (labels.shape(0) != block.rows || weights.shape(0) != block.rows)
      throw std::invalid_argument("labels and weights must have an entry for each of the " +
                                  std::to_string(block.rows) + " rows");
    for (const auto row : view(which)) {
      if (row < 0 || static_cast<std::size_t>(row) >= block.rows)
        throw std::invalid_argument("row " + std::to_string(row) + " is not one of the " + std::to_string(block.rows) +
                                    " rows");
      const std::int32_t label = labels(static_cast<std::size_t>(row));
      if (label < 0 || static_cast<std::size_t>(label) >= classes_)
        throw std::invalid_argument("label " + std::to_string(label) + " is not the number of one of the " +
                                    std::to_string(classes_) + " classes");
    }
  }

  Learner learner_;
  std::size_t classes_;
  mutable std::shared_mutex in_use_;
};

template <class Learner>
nb::class_<LinearMachine<Learner>> linear(nb::module_& module, const char* name) {
  using Bound = LinearMachine<Learner>;
  nb::class_<Bound> bound(module, name);
  bound.def("seed_generator", &Bound::seed_generator, nb::arg("words"))
      .def("learn", &Bound::learn)
      .def("get_state", &Bound::get_state)
      .def("set_state", &Bound::set_state, nb::arg("state"))
      .def_prop_ro("iterations", &Bound::iterations)
      .def_prop_ro("coef", &Bound::coef)
      .def_prop_ro("middle", &Bound::middle);
  return bound;
}

}  // namespace

void bind_auc(nb::module_& module) {
  linear<Oam>(module, "Oam")
      .def(nb::init<std::size_t, std::size_t>(), nb::arg("width"), nb::arg("classes"))
      .def(
          "set_parameters",
          [](LinearMachine<Oam>& machine, double C, std::size_t budget) {
            machine.learner().C = C;
            machine.learner().budget = budget;
          },
          nb::arg("C"), nb::arg("budget"));
  linear<Opauc>(module, "Opauc")
      .def(nb::init<std::size_t, std::size_t, std::size_t>(), nb::arg("width"), nb::arg("classes"), nb::arg("rank"))
      .def(
          "set_parameters",
          [](LinearMachine<Opauc>& machine, double eta, double penalty) {
            machine.learner().eta = eta;
            machine.learner().lambda = penalty;
          },
          nb::arg("eta"), nb::arg("penalty"));
}

}  // namespace everlearn::bind
