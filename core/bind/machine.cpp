#include "bind/machine.hpp"

#include <algorithm>

#include "working_set.hpp"

namespace everlearn::bind {
namespace {

std::unique_ptr<Rows> rows_for(const std::string& kernel, double gamma, double coef0, int degree,
                               const std::string& layout, const std::string& precision, std::size_t width,
                               const Array<double>& centre) {
  return make_rows(
      named<Layout>(layout, {{"dense", Layout::dense}, {"sparse", Layout::sparse}, {"external", Layout::external}}),
      named<Precision>(precision, {{"float32", Precision::f32}, {"float64", Precision::f64}}), width,
      {named<KernelKind>(kernel, {{"linear", KernelKind::linear},
                                  {"poly", KernelKind::polynomial},
                                  {"rbf", KernelKind::rbf},
                                  {"sigmoid", KernelKind::sigmoid}}),
       gamma, coef0, degree},
      {centre.data(), centre.data() + centre.shape(0)});
}

std::vector<std::int64_t> first(std::size_t n) {
  std::vector<std::int64_t> all(n);
  for (std::size_t s = 0; s < n; ++s) all[s] = static_cast<std::int64_t>(s);
  return all;
}

}  // namespace

Machine::Machine(const std::string& kernel, double gamma, double coef0, int degree, const std::string& layout,
                 const std::string& precision, std::size_t width, std::size_t classes, const Array<double>& centre)
    : expansion_(rows_for(kernel, gamma, coef0, degree, layout, precision, width, centre), classes == 2 ? 1 : classes,
                 layout == "external" ? ~std::size_t{0} : 0),
      classes_(classes),
      external_(layout == "external") {}

void Machine::configure(std::size_t cache_bytes, int threads) {
  alone([&] {
    expansion_.cache().set_limit(external_ ? ~std::size_t{0} : cache_bytes);
    expansion_.set_threads(threads);
  });
}

nb::object Machine::decide(const HeldBlock& rows, int threads) const {
  std::vector<double> out(rows.block.rows * expansion_.columns());
  together([&] { score(rows.block, threads, out.data()); });
  return give(std::move(out), {rows.block.rows, expansion_.columns()});
}

nb::object Machine::ids() const {
  return give(together([&] { return slots<std::int64_t>([&](std::size_t s) { return expansion_.id(s); }); }));
}
nb::object Machine::missing(const Array<std::int64_t>& ids) const {
  return give(together([&] {
    std::vector<std::int64_t> unknown;
    for (const auto id : view(ids))
      if (expansion_.find(id) < 0) unknown.push_back(id);
    return unknown;
  }));
}
nb::object Machine::labels() const {
  return give(together([&] { return slots<std::int32_t>([&](std::size_t s) { return expansion_.label(s); }); }));
}
nb::object Machine::alpha() const {
  std::vector<double> values = together([&] {
    return table<double>([&](std::size_t c, std::size_t s) { return expansion_.column(c).alpha[s]; });
  });
  const std::size_t n = values.size() / expansion_.columns();
  return give(std::move(values), {expansion_.columns(), n});
}
nb::object Machine::bias() const {
  return per_column<double>([&](std::size_t c) { return expansion_.column(c).bias; });
}
nb::object Machine::delta() const {
  return per_column<double>([&](std::size_t c) { return expansion_.column(c).delta; });
}

double Machine::violation() const {
  return together([&] {
    double worst = 0;
    for (std::size_t c = 0; c < expansion_.columns(); ++c)
      worst = std::max(worst, everlearn::violation(expansion_.scan(c), Bias::zero));
    return worst;
  });
}

nb::dict Machine::rows(const Array<std::int64_t>& slots, bool as_stored) const {
  RowsImage image = together([&] { return expansion_.rows().image(view(slots), as_stored); });
  nb::dict out;
  out["values"] = give(std::move(image.values));
  out["columns"] = give(std::move(image.columns));
  out["starts"] = give(std::move(image.starts));
  return out;
}

/// The whole expansion at one moment.
struct Machine::Image {
  RowsImage rows;
  std::vector<double> kernel;
  std::vector<float> diagonal;
  std::vector<std::int64_t> ids;
  std::vector<std::int32_t> labels;
  std::vector<double> costs, alpha, g, edge, bias, delta;
  std::vector<std::uint8_t> member, live;
};

Machine::Image Machine::image() {
  ready();
  const std::vector<std::int64_t> all = first(expansion_.size());
  Image image;
  image.rows = expansion_.rows().image(all, true);
  if (external_) image.kernel = kernel_values();
  image.diagonal = slots<float>([&](std::size_t s) { return expansion_.diagonals()[s]; });
  image.ids = slots<std::int64_t>([&](std::size_t s) { return expansion_.id(s); });
  image.labels = slots<std::int32_t>([&](std::size_t s) { return expansion_.label(s); });
  image.costs = slots<double>([&](std::size_t s) { return expansion_.cost(s); });
  const auto column = [&](std::size_t c) -> const Column& { return expansion_.column(c); };
  image.alpha = table<double>([&](std::size_t c, std::size_t s) { return column(c).alpha[s]; });
  image.g = table<double>([&](std::size_t c, std::size_t s) { return column(c).g[s]; });
  image.edge = table<double>([&](std::size_t c, std::size_t s) { return column(c).edge[s]; });
  image.member = table<std::uint8_t>([&](std::size_t c, std::size_t s) { return column(c).member[s]; });
  image.bias = columns<double>([&](std::size_t c) { return column(c).bias; });
  image.delta = columns<double>([&](std::size_t c) { return column(c).delta; });
  image.live = columns<std::uint8_t>([&](std::size_t c) { return std::uint8_t{column(c).live}; });
  return image;
}

std::vector<double> Machine::kernel_values() {
  const std::size_t n = expansion_.size();
  std::vector<double> values;
  for (std::size_t s = 0; s < n; ++s) {
    const RowView row = expansion_.hold(static_cast<std::int64_t>(s));
    for (std::size_t t = 0; t < n; ++t) values.push_back(row[t]);
    expansion_.release(static_cast<std::int64_t>(s));
  }
  return values;
}

void Machine::take_kernel(const nb::dict& state) {
  const std::size_t n = expansion_.size();
  const auto kernel = nb::cast<Matrix<float>>(state["kernel"]);
  fit(kernel.shape(0), n), fit(kernel.shape(1), n);
  for (std::size_t s = 0; s < n; ++s) expansion_.restore_row(s, {kernel.data() + s * n, n});
}

nb::dict Machine::get_state() {
  Image now = alone([&] { return image(); });
  const std::size_t n = now.ids.size(), k = expansion_.columns();
  nb::dict state;
  state["values"] = give(std::move(now.rows.values));
  state["columns"] = give(std::move(now.rows.columns));
  state["starts"] = give(std::move(now.rows.starts));
  if (external_ && exact()) state["kernel"] = give(std::move(now.kernel), {n, n});
  else if (external_) state["kernel"] = give(std::vector<float>(now.kernel.begin(), now.kernel.end()), {n, n});
  state["ids"] = give(std::move(now.ids));
  state["labels"] = give(std::move(now.labels));
  state["costs"] = give(std::move(now.costs));
  state["diagonal"] = give(std::move(now.diagonal));
  state["alpha"] = give(std::move(now.alpha), {k, n});
  state["g"] = give(std::move(now.g), {k, n});
  state["edge"] = give(std::move(now.edge), {k, n});
  state["member"] = give(std::move(now.member), {k, n});
  state["bias"] = give(std::move(now.bias));
  state["delta"] = give(std::move(now.delta));
  state["live"] = give(std::move(now.live));
  state["evaluations"] = expansion_.evaluations();
  put(state);
  return state;
}

void Machine::set_state(const HeldBlock& block, const nb::dict& state) {
  const auto ids = entry<std::int64_t>(state, "ids");
  const auto labels = entry<std::int32_t>(state, "labels");
  const auto costs = entry<double>(state, "costs");
  const auto diagonal = entry<float>(state, "diagonal");
  const auto alpha = nb::cast<Matrix<double>>(state["alpha"]);
  const auto g = nb::cast<Matrix<double>>(state["g"]);
  const auto edge = nb::cast<Matrix<double>>(state["edge"]);
  const auto member = nb::cast<Matrix<std::uint8_t>>(state["member"]);
  const auto bias = entry<double>(state, "bias");
  const auto delta = entry<double>(state, "delta");
  const auto live = entry<std::uint8_t>(state, "live");
  const std::size_t n = ids.shape(0), k = expansion_.columns();
  fit(labels.shape(0), n), fit(costs.shape(0), n), fit(diagonal.shape(0), n), fit(block.block.rows, n);
  fit(alpha.shape(0), k), fit(g.shape(0), k), fit(edge.shape(0), k), fit(member.shape(0), k);
  fit(alpha.shape(1), n), fit(g.shape(1), n), fit(edge.shape(1), n), fit(member.shape(1), n);
  fit(bias.shape(0), k), fit(delta.shape(0), k), fit(live.shape(0), k);
  for (std::size_t s = 0; s < n; ++s) fit(labels(s) >= 0 && static_cast<std::size_t>(labels(s)) < classes_, true);
  const Block& rows = block.block;
  if (rows.is_sparse)
    for (std::size_t r = 0; r < n; ++r)
      for (auto e = rows.starts[r]; e < rows.starts[r + 1]; ++e)
        fit(rows.columns[e] >= 0 && static_cast<std::size_t>(rows.columns[e]) < rows.width, true);
  expansion_.restore(*expansion_.rows().take(rows, first(n), true), {view(ids), view(labels), view(costs)},
                     view(diagonal));
  for (std::size_t s = 0; s < n; ++s) fit(static_cast<std::size_t>(expansion_.find(ids(s))), s);  // no id twice
  const auto line = [n](const auto& matrix, std::size_t c) { return std::span(matrix.data() + c * n, n); };
  for (std::size_t c = 0; c < k; ++c)
    expansion_.restore_column(c, line(alpha, c), line(g, c), line(edge, c), line(member, c), bias(c), delta(c),
                              live(c) != 0);
  if (external_) take_kernel(state);
  expansion_.set_evaluations(nb::cast<std::uint64_t>(state["evaluations"]));
  take(state);
}

}  // namespace everlearn::bind
