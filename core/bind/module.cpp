// The only place where C++ and Python meet: arrays in, arrays out, no arithmetic.
#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>
#include <nanobind/stl/string.h>

#include <memory>
#include <shared_mutex>
#include <stdexcept>
#include <string>
#include <vector>

#include "lasvm.hpp"

namespace nb = nanobind;
using namespace everlearn;

namespace {

template <class T>
using Array = nb::ndarray<const T, nb::ndim<1>, nb::c_contig, nb::device::cpu>;
template <class T>
using Matrix = nb::ndarray<const T, nb::ndim<2>, nb::c_contig, nb::device::cpu>;

template <class T>
std::span<const T> view(const Array<T>& array) {
  return {array.data(), array.shape(0)};
}

/// Hands a vector over to NumPy without a copy.
template <class T>
nb::object give(std::vector<T> values, std::initializer_list<std::size_t> shape = {}) {
  auto* owned = new std::vector<T>(std::move(values));
  nb::capsule owner(owned, [](void* p) noexcept { delete static_cast<std::vector<T>*>(p); });
  const std::size_t length = owned->size();
  std::vector<std::size_t> dims(shape);
  if (dims.empty()) dims.push_back(length);
  return nb::cast(nb::ndarray<nb::numpy, T>(owned->data(), dims.size(), dims.data(), owner));
}

/// A Block together with the arrays it looks at.
struct HeldBlock {
  Block block;
  nb::object owners;
};

template <class T>
HeldBlock dense_block(const Matrix<T>& rows) {
  return {{sizeof(T) == 4 ? Precision::f32 : Precision::f64, false, rows.shape(0), rows.shape(1), rows.data()},
          nb::cast(rows)};
}

template <class T>
HeldBlock csr_block(const Array<T>& values, const Array<std::int32_t>& columns, const Array<std::int64_t>& starts,
                    std::size_t width) {
  const std::size_t count = starts.shape(0);
  bool fits = count > 0 && columns.shape(0) == values.shape(0) && starts(0) == 0 &&
              static_cast<std::size_t>(starts(count - 1)) == values.shape(0);
  for (std::size_t r = 0; fits && r + 1 < count; ++r) fits = starts(r) <= starts(r + 1);
  if (!fits) throw std::invalid_argument("the parts of a sparse matrix do not fit together");
  return {{sizeof(T) == 4 ? Precision::f32 : Precision::f64, true, starts.shape(0) - 1, width, values.data(),
           columns.data(), starts.data()},
          nb::make_tuple(values, columns, starts)};
}

template <class E>
E named(const std::string& name, std::initializer_list<std::pair<const char*, E>> choices) {
  for (const auto& [word, value] : choices)
    if (name == word) return value;
  throw std::invalid_argument("unknown name '" + name + "'");
}

/// An expansion and the LASVM solver on it.
class Machine {
 public:
  Machine(const std::string& kernel, double gamma, double coef0, int degree, const std::string& layout,
          const std::string& precision, std::size_t width, std::size_t classes, const Array<double>& centre)
      : expansion_(make_rows(named<Layout>(layout, {{"dense", Layout::dense}, {"sparse", Layout::sparse}, {"external", Layout::external}}),
                             named<Precision>(precision, {{"float32", Precision::f32}, {"float64", Precision::f64}}), width,
                             {named<KernelKind>(kernel, {{"linear", KernelKind::linear}, {"poly", KernelKind::polynomial},
                                                         {"rbf", KernelKind::rbf}, {"sigmoid", KernelKind::sigmoid}}),
                              gamma, coef0, degree},
                             {centre.data(), centre.data() + centre.shape(0)}),
                   classes == 2 ? 1 : classes, layout == "external" ? ~std::size_t{0} : 0),
        solver_(expansion_, classes), external_(layout == "external") {}

  void configure(double tau, double delta_max, std::size_t cache_bytes, int threads) {
    solver_.tau = tau;
    solver_.delta_max = delta_max;
    expansion_.cache().set_limit(external_ ? ~std::size_t{0} : cache_bytes);
    expansion_.set_threads(threads);
  }

  void seed(const HeldBlock& rows, const Array<std::int32_t>& labels, const Array<double>& costs,
            const Array<std::int64_t>& ids, const Array<std::int64_t>& which) {
    nb::gil_scoped_release release;
    const std::unique_lock alone(in_use_);
    solver_.seed({rows.block, view(labels), view(costs), view(ids)}, view(which));
  }

  void learn(const HeldBlock& rows, const Array<std::int32_t>& labels, const Array<double>& costs,
             const Array<std::int64_t>& ids, const Array<std::int64_t>& which) {
    nb::gil_scoped_release release;
    const std::unique_lock alone(in_use_);
    solver_.learn({rows.block, view(labels), view(costs), view(ids)}, view(which));
  }

  nb::object learn_selected(const HeldBlock& rows, const Array<std::int32_t>& labels, const Array<double>& costs,
                            const Array<std::int64_t>& ids, const Array<std::int64_t>& remaining, const std::string& rule,
                            std::size_t pool, std::size_t count) {
    std::vector<std::int64_t> left(view(remaining).begin(), view(remaining).end());
    const Rule chosen =
        named<Rule>(rule, {{"gradient", Rule::gradient}, {"active", Rule::active}, {"autoactive", Rule::autoactive}});
    {
      nb::gil_scoped_release release;
      const std::unique_lock alone(in_use_);
      solver_.learn_selected({rows.block, view(labels), view(costs), view(ids)}, left, chosen, pool, count);
    }
    return give(std::move(left));
  }

  bool finish(std::size_t rounds) {
    nb::gil_scoped_release release;
    const std::unique_lock alone(in_use_);
    return solver_.finish(rounds);
  }

  nb::object decide(const HeldBlock& rows, int threads) const {
    std::vector<double> out(rows.block.rows * expansion_.columns());
    {
      nb::gil_scoped_release release;
      const std::shared_lock together(in_use_);
      expansion_.decide(rows.block, threads, out.data());
    }
    return give(std::move(out), {rows.block.rows, expansion_.columns()});
  }

  nb::object ids() const {
    return per_slot<std::int64_t>([&](std::size_t s) { return expansion_.id(s); });
  }
  nb::object labels() const {
    return per_slot<std::int32_t>([&](std::size_t s) { return expansion_.label(s); });
  }
  nb::object alpha() const {
    return per_column_slot<double>([&](std::size_t c, std::size_t s) { return expansion_.column(c).alpha[s]; });
  }
  nb::object bias() const {
    return per_column<double>([&](std::size_t c) { return expansion_.column(c).bias; });
  }
  nb::object delta() const {
    return per_column<double>([&](std::size_t c) { return expansion_.column(c).delta; });
  }

  nb::dict rows(const Array<std::int64_t>& slots, bool as_stored) const {
    RowsImage image = expansion_.rows().image(view(slots), as_stored);
    nb::dict out;
    out["values"] = give(std::move(image.values));
    out["columns"] = give(std::move(image.columns));
    out["starts"] = give(std::move(image.starts));
    return out;
  }

  nb::dict get_state() {
    nb::dict state;
    std::vector<std::int64_t> all(expansion_.size());
    for (std::size_t s = 0; s < all.size(); ++s) all[s] = static_cast<std::int64_t>(s);
    RowsImage image = expansion_.rows().image(all, true);
    state["values"] = give(std::move(image.values));
    state["columns"] = give(std::move(image.columns));
    state["starts"] = give(std::move(image.starts));
    if (external_) {
      std::vector<float> kernel;
      for (const auto s : all) {
        const RowView row = expansion_.hold(s);
        for (std::size_t t = 0; t < all.size(); ++t) kernel.push_back(row[t]);
        expansion_.release(s);
      }
      state["kernel"] = give(std::move(kernel), {all.size(), all.size()});
    }
    state["ids"] = ids();
    state["labels"] = labels();
    state["costs"] = per_slot<double>([&](std::size_t s) { return expansion_.cost(s); });
    state["diagonal"] = per_slot<float>([&](std::size_t s) { return static_cast<float>(expansion_.diagonal(s)); });
    state["alpha"] = alpha();
    state["g"] = per_column_slot<double>([&](std::size_t c, std::size_t s) { return expansion_.column(c).g[s]; });
    state["member"] = per_column_slot<std::uint8_t>([&](std::size_t c, std::size_t s) { return expansion_.column(c).member[s]; });
    state["bias"] = bias();
    state["delta"] = delta();
    state["live"] = per_column<std::uint8_t>([&](std::size_t c) { return static_cast<std::uint8_t>(expansion_.column(c).live); });
    state["seen"] = give(std::vector<std::uint8_t>(solver_.seen()));
    state["generator"] = give(std::vector<std::uint64_t>(solver_.generator.state.begin(), solver_.generator.state.end()));
    state["iterations"] = solver_.iterations();
    state["evaluations"] = expansion_.evaluations();
    return state;
  }

  /// `block` holds the rows as stored, or the kernel matrix of external rows.
  void set_state(const HeldBlock& block, const nb::dict& state) {
    const auto array = [&]<class T>(const char* key) { return nb::cast<Array<T>>(state[key]); };
    const auto ids = array.operator()<std::int64_t>("ids");
    const auto labels = array.operator()<std::int32_t>("labels");
    const auto costs = array.operator()<double>("costs");
    const auto diagonal = array.operator()<float>("diagonal");
    const auto alpha = nb::cast<Matrix<double>>(state["alpha"]);
    const auto g = nb::cast<Matrix<double>>(state["g"]);
    const auto member = nb::cast<Matrix<std::uint8_t>>(state["member"]);
    const auto bias = array.operator()<double>("bias");
    const auto delta = array.operator()<double>("delta");
    const auto live = array.operator()<std::uint8_t>("live");
    const auto seen = array.operator()<std::uint8_t>("seen");
    const auto generator = array.operator()<std::uint64_t>("generator");
    const std::size_t n = ids.shape(0), k = expansion_.columns();
    const auto is = [&](std::size_t length, std::size_t wanted) {
      if (length != wanted) throw std::invalid_argument("the parts of the state do not fit together");
    };
    is(labels.shape(0), n), is(costs.shape(0), n), is(diagonal.shape(0), n), is(block.block.rows, n);
    is(alpha.shape(0), k), is(g.shape(0), k), is(member.shape(0), k);
    is(alpha.shape(1), n), is(g.shape(1), n), is(member.shape(1), n);
    is(bias.shape(0), k), is(delta.shape(0), k), is(live.shape(0), k);
    is(seen.shape(0), solver_.seen().size()), is(generator.shape(0), 4);
    for (std::size_t s = 0; s < n; ++s)
      is(labels(s) >= 0 && static_cast<std::size_t>(labels(s)) < solver_.seen().size(), true);
    const Block& rows = block.block;
    if (rows.is_sparse)
      for (std::size_t r = 0; r < n; ++r)
        for (auto e = rows.starts[r]; e < rows.starts[r + 1]; ++e)
          is(rows.columns[e] >= 0 && static_cast<std::size_t>(rows.columns[e]) < rows.width, true);
    std::vector<std::int64_t> all(n);
    for (std::size_t s = 0; s < n; ++s) all[s] = static_cast<std::int64_t>(s);
    expansion_.restore(*expansion_.rows().take(block.block, all, true), {view(ids), view(labels), view(costs)}, view(diagonal));
    for (std::size_t s = 0; s < n; ++s) is(static_cast<std::size_t>(expansion_.find(ids(s))), s);  // no id twice
    for (std::size_t c = 0; c < k; ++c)
      expansion_.restore_column(c, {alpha.data() + c * n, n}, {g.data() + c * n, n}, {member.data() + c * n, n},
                                bias(c), delta(c), live(c) != 0);
    if (external_) {
      const auto kernel = nb::cast<Matrix<float>>(state["kernel"]);
      is(kernel.shape(0), n), is(kernel.shape(1), n);
      for (std::size_t s = 0; s < n; ++s) expansion_.restore_row(s, {kernel.data() + s * n, n});
    }
    solver_.set_seen({seen.data(), seen.data() + seen.shape(0)});
    for (std::size_t w = 0; w < 4; ++w) solver_.generator.state[w] = generator(w);
    solver_.set_iterations(nb::cast<std::int64_t>(state["iterations"]));
    expansion_.set_evaluations(nb::cast<std::uint64_t>(state["evaluations"]));
  }

  void seed_generator(const Array<std::uint64_t>& words) {
    if (words.shape(0) != 4) throw std::invalid_argument("a generator is seeded with four words");
    for (std::size_t w = 0; w < 4; ++w) solver_.generator.state[w] = words(w);
  }

  std::size_t size() const { return expansion_.size(); }
  std::size_t cache_bytes() const { return expansion_.cache().bytes(); }
  std::int64_t iterations() const { return solver_.iterations(); }
  std::int64_t finishing_steps() const { return solver_.finishing_steps(); }
  std::uint64_t evaluations() const { return expansion_.evaluations(); }

 private:
  template <class T, class F>
  nb::object per_slot(F&& value) const {
    std::vector<T> out(expansion_.size());
    for (std::size_t s = 0; s < out.size(); ++s) out[s] = value(s);
    return give(std::move(out));
  }
  template <class T, class F>
  nb::object per_column(F&& value) const {
    std::vector<T> out(expansion_.columns());
    for (std::size_t c = 0; c < out.size(); ++c) out[c] = value(c);
    return give(std::move(out));
  }
  template <class T, class F>
  nb::object per_column_slot(F&& value) const {
    const std::size_t n = expansion_.size(), k = expansion_.columns();
    std::vector<T> out(n * k);
    for (std::size_t c = 0; c < k; ++c)
      for (std::size_t s = 0; s < n; ++s) out[c * n + s] = value(c, s);
    return give(std::move(out), {k, n});
  }

  Expansion expansion_;
  Lasvm solver_;
  bool external_;
  mutable std::shared_mutex in_use_;  // many may decide at once; whoever learns does so alone
};

}  // namespace

NB_MODULE(_core, module) {
  module.doc() = "The native core of everlearn";
  // A broken invariant of ours is a CoreError; what the caller got wrong arrives as ValueError.
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

  nb::class_<HeldBlock>(module, "Block")
      .def_static("dense", &dense_block<float>, nb::arg("rows"))
      .def_static("dense", &dense_block<double>, nb::arg("rows"))
      .def_static("csr", &csr_block<float>, nb::arg("values"), nb::arg("columns"), nb::arg("starts"), nb::arg("width"))
      .def_static("csr", &csr_block<double>, nb::arg("values"), nb::arg("columns"), nb::arg("starts"), nb::arg("width"));

  nb::class_<Machine>(module, "Lasvm")
      .def(nb::init<const std::string&, double, double, int, const std::string&, const std::string&, std::size_t,
                    std::size_t, const Array<double>&>(),
           nb::arg("kernel"), nb::arg("gamma"), nb::arg("coef0"), nb::arg("degree"), nb::arg("layout"),
           nb::arg("precision"), nb::arg("width"), nb::arg("classes"), nb::arg("centre"))
      .def("configure", &Machine::configure, nb::arg("tau"), nb::arg("delta_max"), nb::arg("cache_bytes"), nb::arg("threads"))
      .def("seed_generator", &Machine::seed_generator, nb::arg("words"))
      .def("seed", &Machine::seed)
      .def("learn", &Machine::learn)
      .def("learn_selected", &Machine::learn_selected)
      .def("finish", &Machine::finish, nb::arg("rounds"))
      .def("decide", &Machine::decide, nb::arg("rows"), nb::arg("threads"))
      .def("rows", &Machine::rows, nb::arg("slots"), nb::arg("as_stored"))
      .def("get_state", &Machine::get_state)
      .def("set_state", &Machine::set_state)
      .def_prop_ro("ids", &Machine::ids)
      .def_prop_ro("labels", &Machine::labels)
      .def_prop_ro("alpha", &Machine::alpha)
      .def_prop_ro("bias", &Machine::bias)
      .def_prop_ro("delta", &Machine::delta)
      .def_prop_ro("size", &Machine::size)
      .def_prop_ro("cache_bytes", &Machine::cache_bytes)
      .def_prop_ro("iterations", &Machine::iterations)
      .def_prop_ro("finishing_steps", &Machine::finishing_steps)
      .def_prop_ro("evaluations", &Machine::evaluations);
}
