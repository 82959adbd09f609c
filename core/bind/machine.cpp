#include "bind/machine.hpp"

#include <algorithm>

#include "score.hpp"
#include "working_set.hpp"

namespace everlearn::bind {
namespace {

std::unique_ptr<Rows> rows_for(const std::string& kernel, double gamma, double coef0, int degree,
                               const std::string& layout, const std::string& precision, std::size_t width,
                               const Array<double>& center) {
  return make_rows(
      named<Layout>(layout, {{"dense", Layout::dense}, {"sparse", Layout::sparse}, {"external", Layout::external}}),
      named<Precision>(precision,
                       {{"float16", Precision::f16}, {"float32", Precision::f32}, {"float64", Precision::f64}}),
      width, Kernel::named(kernel, gamma, coef0, degree), {center.data(), center.data() + center.shape(0)});
}

/// The number of columns; checks the arguments that the rows depend on.
std::size_t columns_for(const std::string& layout, std::size_t width, std::size_t classes,
                        const Array<double>& center) {
  if (classes < 2) throw std::invalid_argument("a machine needs at least two classes");
  const std::size_t length = center.shape(0);
  if (length != 0 && (length != width || layout != "dense"))
    throw std::invalid_argument("center must be empty or have a value for each column of dense rows");
  return classes == 2 ? 1 : classes;
}

std::vector<std::int64_t> first(std::size_t n) {
  std::vector<std::int64_t> all(n);
  for (std::size_t s = 0; s < n; ++s) all[s] = static_cast<std::int64_t>(s);
  return all;
}

void check_row(std::int64_t row, std::size_t rows) {
  if (row < 0 || static_cast<std::size_t>(row) >= rows)
    throw std::invalid_argument("row " + std::to_string(row) + " is not one of the " + std::to_string(rows) + " rows");
}

nb::dict dict_of(RowsImage image) {
  nb::dict out;
  out["values"] = give(std::move(image.values));
  out["columns"] = give(std::move(image.columns));
  out["starts"] = give(std::move(image.starts));
  return out;
}

/// Features that are not finite would spoil every kernel value.
void check_values(const Block& block) {
  const std::size_t count =
      block.is_sparse ? static_cast<std::size_t>(block.starts[block.rows]) : block.rows * block.width;
  if (block.precision == Precision::f32) check_finite<float>({static_cast<const float*>(block.values), count}, "a row");
  else check_finite<double>({static_cast<const double*>(block.values), count}, "a row");
}

}  // namespace

Machine::Machine(const std::string& kernel, double gamma, double coef0, int degree, const std::string& layout,
                 const std::string& precision, std::size_t width, std::size_t classes, const Array<double>& center)
    : expansion_(rows_for(kernel, gamma, coef0, degree, layout, precision, width, center),
                 columns_for(layout, width, classes, center), layout == "external" ? ~std::size_t{0} : 0),
      classes_(classes),
      external_(layout == "external") {}

void Machine::configure(std::size_t cache_bytes, int threads) {
  alone([&] {
    expansion_.kernel().cache().set_limit(external_ ? ~std::size_t{0} : cache_bytes);
    expansion_.set_threads(threads);
  });
}

const Block& Machine::checked(const HeldBlock& rows) const {
  const Block& block = rows.block;
  const bool fits =
      external_ ? !block.is_sparse && block.width >= expansion_.size() : block.width == expansion_.rows().width();
  if (!fits)
    throw std::invalid_argument("rows of width " + std::to_string(block.width) + " do not fit rows of width " +
                                std::to_string(external_ ? expansion_.size() : expansion_.rows().width()));
  return block;
}

void Machine::check_label(std::int32_t label) const {
  if (label < 0 || static_cast<std::size_t>(label) >= classes_)
    throw std::invalid_argument("label " + std::to_string(label) + " is not the number of one of the " +
                                std::to_string(classes_) + " classes");
}

void Machine::check_distinct(std::vector<std::int64_t> ids) {
  std::sort(ids.begin(), ids.end());
  const auto twice = std::adjacent_find(ids.begin(), ids.end());
  if (twice != ids.end()) throw std::invalid_argument("the id " + std::to_string(*twice) + " is there twice");
}

LabeledRows Machine::checked(const HeldBlock& rows, const Array<std::int32_t>& labels, const Array<double>& costs,
                             const Array<std::int64_t>& ids, std::span<const std::int64_t> which, bool unknown) const {
  const Block& block = checked(rows);
  if (labels.shape(0) != block.rows || costs.shape(0) != block.rows || ids.shape(0) != block.rows)
    throw std::invalid_argument("labels, costs and ids must have an entry for each of the " +
                                std::to_string(block.rows) + " rows");
  std::vector<std::int64_t> names;
  names.reserve(which.size());
  for (const auto row : which) {
    check_row(row, block.rows);
    const auto r = static_cast<std::size_t>(row);
    check_label(labels(r));
    if (!(costs(r) >= 0) || !is_finite(costs(r))) throw std::invalid_argument("costs must be finite, 0 or above");
    if (ids(r) == kNoId) throw std::invalid_argument("the id " + std::to_string(ids(r)) + " is reserved");
    if (unknown && expansion_.find(ids(r)) >= 0)
      throw std::invalid_argument("a row with the id " + std::to_string(ids(r)) + " is kept already");
    names.push_back(ids(r));
  }
  check_distinct(std::move(names));
  return {block, view(labels), view(costs), view(ids)};
}

nb::object Machine::decide(const HeldBlock& rows, int threads) const {
  std::vector<double> out(rows.block.rows * expansion_.columns());
  together([&] { score(checked(rows), threads, out.data()); });
  return give(std::move(out), {rows.block.rows, expansion_.columns()});
}

nb::object Machine::ids() const {
  return give(together([&] { return slots<std::int64_t>([&](std::size_t s) { return expansion_.id(s); }); }));
}
void Machine::add_kernel_sums(const HeldBlock& rows, const Array<std::int64_t>& sources, const Matrix<double>& weights,
                              const Array<std::int64_t>& targets, const MutableMatrix<double>& sums,
                              double step) const {
  const Block& block = checked(rows);
  const std::size_t columns = weights.shape(0);
  if (external_) throw std::invalid_argument("sums need rows with features");
  if (step > 0 && !together([&] { return take_bytes(expansion_.rows()); }))
    throw std::invalid_argument("these rows do not take bytes");
  if (weights.shape(1) != sources.shape(0) || sums.shape(0) != block.rows || sums.shape(1) != columns)
    throw std::invalid_argument("weights and sums do not match the rows");
  for (const auto& list : {view(sources), view(targets)})
    for (const auto row : list) check_row(row, block.rows);
  check_distinct({targets.data(), targets.data() + targets.shape(0)});
  together([&] {
    everlearn::add_kernel_sums(expansion_.rows(), block, view(sources), {weights.data(), weights.size()}, view(targets),
                               columns, expansion_.threads(), sums.data(), step);
  });
}

nb::object Machine::missing(const Array<std::int64_t>& ids) const {
  return give(together([&] {
    std::vector<std::int64_t> unknown;
    for (const auto id : view(ids))
      if (expansion_.find(id) < 0 && !expansion_.reserve().has(id)) unknown.push_back(id);
    return unknown;
  }));
}
nb::object Machine::kept_ids() const {
  return give(together([&] {
    const std::vector<std::uint8_t> kept = expansion_.kept_flags();
    std::vector<std::int64_t> ids;
    for (std::size_t s = 0; s < kept.size(); ++s)
      if (kept[s]) ids.push_back(expansion_.id(s));
    return ids;
  }));
}
void Machine::drop_lingering(const Array<std::int64_t>& ids) {
  alone([&] { expansion_.drop_lingering(view(ids)); });
}
nb::object Machine::labels() const {
  return give(together([&] { return slots<std::int32_t>([&](std::size_t s) { return expansion_.label(s); }); }));
}
nb::object Machine::alpha() const {
  return per_slot<double>([&](std::size_t c, std::size_t s) { return expansion_.column(c).alpha[s]; });
}
nb::object Machine::gradients() const {
  return per_slot<double>([&](std::size_t c, std::size_t s) { return expansion_.column(c).g[s]; });
}
nb::object Machine::members() const {
  return per_slot<std::uint8_t>([&](std::size_t c, std::size_t s) { return expansion_.column(c).member[s]; });
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
  RowsImage image = together([&] {
    for (const auto slot : view(slots))
      if (slot < 0 || static_cast<std::size_t>(slot) >= expansion_.size())
        throw std::invalid_argument("slot " + std::to_string(slot) + " is not one of the " +
                                    std::to_string(expansion_.size()) + " slots");
    return expansion_.rows().image(view(slots), as_stored);
  });
  return dict_of(std::move(image));
}

nb::object Machine::reserved_ids() const {
  return give(together([&] {
    std::vector<std::int64_t> ids;
    for (std::size_t place = 0; place < expansion_.reserve().size(); ++place)
      ids.push_back(expansion_.reserve().entry(place).id);
    return ids;
  }));
}

nb::dict Machine::reserve() const {
  RowsImage image;
  std::vector<std::int64_t> ids;
  std::vector<std::int32_t> labels;
  std::vector<double> costs, margins;
  double ceiling = 0;
  together([&] {
    const Reserve& reserve = expansion_.reserve();
    image = reserve.rows().image(first(reserve.size()), true);
    for (std::size_t place = 0; place < reserve.size(); ++place) {
      const ReservedRow& row = reserve.entry(place);
      ids.push_back(row.id), labels.push_back(row.label), costs.push_back(row.cost), margins.push_back(row.margin);
    }
    ceiling = reserve.ceiling();
  });
  nb::dict out = dict_of(std::move(image));
  out["ids"] = give(std::move(ids));
  out["labels"] = give(std::move(labels));
  out["costs"] = give(std::move(costs));
  out["margins"] = give(std::move(margins));
  out["ceiling"] = ceiling;
  return out;
}

nb::object Machine::violating(double limit) {
  return give(alone([&] { return expansion_.violating(limit); }));
}

void Machine::set_reserve(const HeldBlock& block, const nb::dict& state) {
  const auto ids = entry<std::int64_t>(state, "ids");
  const std::size_t n = ids.shape(0);
  const auto labels = vector<std::int32_t>(state, "labels", n);
  const auto costs = vector<double>(state, "costs", n);
  const auto margins = entry<double>(state, "margins");
  const auto ceiling = nb::cast<double>(state["ceiling"]);
  check_size(margins.shape(0), n), check_size(block.block.rows, n);
  if (n > expansion_.reserve().capacity()) refuse("the reserve has more rows than its capacity");
  if (ceiling != ceiling) refuse("a margin is not a number");
  std::vector<ReservedRow> entries;
  for (std::size_t r = 0; r < n; ++r) {
    check_label(labels[r]);
    if (!(costs[r] > 0)) refuse("a cost in the reserve is not above 0");
    if (margins(r) != margins(r)) refuse("a margin is not a number");
    if (ids(r) == kNoId || expansion_.find(ids(r)) >= 0) refuse("an id in the reserve is reserved or in use");
    entries.push_back({ids(r), labels[r], costs[r], margins(r)});
  }
  check_distinct({ids.data(), ids.data() + n});
  const Block& rows = checked(block);
  check_values(rows);
  alone([&] {
    expansion_.reserve().add(*expansion_.rows().take(rows, first(n), true), entries);
    expansion_.reserve().set_ceiling(ceiling);
  });
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
  image.diagonal = slots<float>([&](std::size_t s) { return static_cast<float>(expansion_.diagonal(s)); });
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
    const HeldRow row = expansion_.hold(s);
    for (std::size_t t = 0; t < n; ++t) values.push_back(row[t]);
  }
  return values;
}

void Machine::take_kernel(const nb::dict& state) {
  const std::size_t n = expansion_.size();
  const auto kernel = matrix<float>(state, "kernel", n, n);
  for (std::size_t s = 0; s < n; ++s) expansion_.kernel().restore(s, {kernel.data() + s * n, n});
}

nb::dict Machine::get_state() {
  Image now = alone([&] { return image(); });
  const std::size_t n = now.ids.size(), k = expansion_.columns();
  nb::dict state = dict_of(std::move(now.rows));
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
  put(state);
  return state;
}

void Machine::set_state(const HeldBlock& block, const nb::dict& state) {
  if (expansion_.size() != 0) throw std::invalid_argument("a state is put back into a machine without rows");
  const auto ids = entry<std::int64_t>(state, "ids");
  const std::size_t n = ids.shape(0), k = expansion_.columns();
  const auto labels = vector<std::int32_t>(state, "labels", n);
  const auto costs = vector<double>(state, "costs", n);
  const auto diagonal = vector<float>(state, "diagonal", n);
  const auto alpha = matrix<double>(state, "alpha", k, n);
  const auto g = matrix<double>(state, "g", k, n);
  const auto edge = matrix<double>(state, "edge", k, n);
  const auto member = matrix<std::uint8_t>(state, "member", k, n);
  const auto bias = vector<double>(state, "bias", k);
  const auto delta = entry<double>(state, "delta");  // infinite while a column waits for its second class
  const auto live = vector<std::uint8_t>(state, "live", k);
  check_size(delta.shape(0), k), check_size(block.block.rows, n);
  for (std::size_t c = 0; c < k; ++c)
    if (delta(c) != delta(c)) refuse("delta is not a number");
  for (std::size_t s = 0; s < n; ++s) {
    check_label(labels[s]);
    if (!(costs[s] >= 0)) refuse("a cost is below 0");
    if (ids(s) == kNoId) refuse("an id is reserved");
  }
  for (std::size_t e = 0; boxed() && e < alpha.size(); ++e)
    if (member.data()[e] != 0 &&
        !(std::min(0.0, edge.data()[e]) <= alpha.data()[e] && alpha.data()[e] <= std::max(0.0, edge.data()[e])))
      refuse("a coefficient is outside of its box");
  const Block& rows = checked(block);
  if (!external_) check_values(rows);
  expansion_.restore(*expansion_.rows().take(rows, first(n), true), {view(ids), labels, costs}, diagonal);
  for (std::size_t s = 0; s < n; ++s) check_size(static_cast<std::size_t>(expansion_.find(ids(s))), s);  // no id twice
  const auto line = [n](const auto& matrix, std::size_t c) { return std::span(matrix.data() + c * n, n); };
  for (std::size_t c = 0; c < k; ++c)
    expansion_.restore_column(c, line(alpha, c), line(g, c), line(edge, c), line(member, c), bias[c], delta(c),
                              live[c] != 0);
  if (external_) take_kernel(state);
  take(state);
}

}  // namespace everlearn::bind
