// Choosing rows, as Python sees it: no expansion, no learner.
#include "bind/solver.hpp"
#include "lazy_greedy.hpp"

namespace everlearn::bind {
namespace {

/// Rows to be compared by a kernel, in double precision.
std::unique_ptr<Rows> kept_rows(const HeldBlock& block, const Kernel& kernel) {
  const Block& given = block.block;
  auto rows = make_rows(given.is_sparse ? Layout::sparse : Layout::dense, Precision::f64, given.width, kernel, {});
  std::vector<std::int64_t> all(given.rows);
  for (std::size_t r = 0; r < all.size(); ++r) all[r] = static_cast<std::int64_t>(r);
  rows->append(*rows->take(given, all));
  return rows;
}

std::unique_ptr<Similarities> similarities_of(const HeldBlock& rows, const Kernel& kernel, std::size_t groups) {
  if (kernel.kind == KernelKind::linear) return linear_similarities(rows.block, groups);
  return kernel_similarities(kept_rows(rows, kernel), groups);
}

/// Greedy on rows; holds the arrays that a linear kernel reads.
class Greedy {
 public:
  Greedy(const HeldBlock& rows, const std::string& kernel, double gamma, double coef0, int degree,
         const Array<double>& base, double twice_q, double h, const Array<std::int64_t>& sizes)
      : held_(rows),
        greedy_(similarities_of(held_, Kernel::named(kernel, gamma, coef0, degree), sizes.shape(0)),
                {base.data(), base.data() + base.shape(0)}, twice_q, h, {sizes.data(), sizes.data() + sizes.shape(0)}) {
  }

  bool advance(std::size_t count) {
    nb::gil_scoped_release release;
    return greedy_.advance(count);
  }
  nb::object order() const { return give(std::vector<std::int64_t>(greedy_.order())); }
  nb::object groups() const { return give(std::vector<std::int32_t>(greedy_.groups())); }
  nb::object gains() const { return give(std::vector<double>(greedy_.gains())); }
  std::uint64_t evaluations() const { return greedy_.evaluations(); }

 private:
  HeldBlock held_;
  LazyGreedy greedy_;
};

/// Kernel rows times weights, against rows that are kept for many such products.
class KernelRows {
 public:
  KernelRows(const HeldBlock& rows, const std::string& kernel, double gamma, double coef0, int degree)
      : rows_(kept_rows(rows, Kernel::named(kernel, gamma, coef0, degree))) {}

  nb::object times(const HeldBlock& rows, const Matrix<double>& weights, int threads) const {
    if (weights.shape(0) != rows_->size()) throw std::invalid_argument("weights must have a line for each kept row");
    if (rows.block.width != rows_->width())
      throw std::invalid_argument("rows of width " + std::to_string(rows.block.width) + " do not fit rows of width " +
                                  std::to_string(rows_->width()));
    const std::size_t columns = weights.shape(1);
    std::vector<double> out(rows.block.rows * columns);
    {
      nb::gil_scoped_release release;
      kernel_products(*rows_, rows.block, {weights.data(), weights.size()}, columns, threads, out.data());
    }
    return give(std::move(out), {rows.block.rows, columns});
  }

 private:
  std::unique_ptr<Rows> rows_;
};

}  // namespace

void bind_select(nb::module_& module) {
  module.def("kernel_names", [] {
    nb::list names;
    for (const KernelTraits& kernel : kKernels) names.append(nb::str(kernel.name.data(), kernel.name.size()));
    return nb::tuple(names);
  });
  nb::class_<Greedy>(module, "LazyGreedy")
      .def(nb::init<const HeldBlock&, const std::string&, double, double, int, const Array<double>&, double, double,
                    const Array<std::int64_t>&>(),
           nb::arg("rows"), nb::arg("kernel"), nb::arg("gamma"), nb::arg("coef0"), nb::arg("degree"), nb::arg("base"),
           nb::arg("twice_q"), nb::arg("h"), nb::arg("sizes"))
      .def("advance", &Greedy::advance, nb::arg("count"))
      .def_prop_ro("order", &Greedy::order)
      .def_prop_ro("groups", &Greedy::groups)
      .def_prop_ro("gains", &Greedy::gains)
      .def_prop_ro("evaluations", &Greedy::evaluations);
  nb::class_<KernelRows>(module, "KernelRows")
      .def(nb::init<const HeldBlock&, const std::string&, double, double, int>(), nb::arg("rows"), nb::arg("kernel"),
           nb::arg("gamma"), nb::arg("coef0"), nb::arg("degree"))
      .def("times", &KernelRows::times, nb::arg("rows"), nb::arg("weights"), nb::arg("threads"));
}

}  // namespace everlearn::bind
