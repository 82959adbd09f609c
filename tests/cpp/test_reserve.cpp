// The reserve against a plain list, and the margins with which an expansion fills it.
#include <algorithm>
#include <cstdint>
#include <limits>
#include <string>
#include <vector>

#include "check.hpp"
#include "expansion.hpp"
#include "problems.hpp"
#include "reserve.hpp"

using namespace everlearn;
using namespace problems;

namespace {

/// What must be in a reserve: entries in order of arrival, each with the row of the table that it came with.
struct Listed {
  ReservedRow row;
  std::int64_t table_row;
};

void check_content(const Reserve& reserve, const std::vector<Listed>& model, const Rows& like, const Block& block) {
  CHECK(reserve.size() == model.size());
  CHECK(reserve.rows().size() == model.size());
  if (reserve.size() != model.size()) return;
  Slots all, which;
  for (std::size_t place = 0; place < model.size(); ++place) {
    const ReservedRow &a = reserve.entry(place), &b = model[place].row;
    CHECK(a.id == b.id && a.label == b.label && a.cost == b.cost && a.margin == b.margin);
    CHECK(reserve.find(b.id) == static_cast<std::int64_t>(place));
    all.push_back(static_cast<std::int64_t>(place)), which.push_back(model[place].table_row);
  }
  const auto plain = like.sibling();
  plain->append(*plain->take(block, which));
  CHECK(reserve.rows().image(all, true).values == plain->image(all, true).values);
  CHECK(reserve.rows().image(all, true).columns == plain->image(all, true).columns);
}

void test_reserve_at_random(Layout layout, std::size_t capacity) {
  check::context = "reserve of " + std::to_string(capacity) + (layout == Layout::dense ? ", dense" : ", sparse");
  constexpr std::size_t n = 50, width = 7;
  Random random(capacity + 3);
  const Table<float> table = random_table<float>(random, n, width, 0.4);
  const Block block = layout == Layout::dense ? table.dense() : table.sparse();
  const auto like = make_rows(layout, Precision::f32, width, Kernel{KernelKind::rbf, 0.3, 0, 1}, {});
  Reserve reserve(*like);
  CHECK(!reserve.wants(-1));
  reserve.set_capacity(capacity);
  std::vector<Listed> model;
  std::int64_t next = 0;
  for (int round = 0; round < 400; ++round) {
    if (below(random, 4) > 0) {
      std::vector<ReservedRow> entries;
      Slots which;
      for (std::size_t r = 1 + below(random, 9); r > 0; --r) {
        const double margin = static_cast<double>(below(random, 40)) / 8;
        if (!reserve.wants(margin)) continue;
        which.push_back(static_cast<std::int64_t>(below(random, n)));
        entries.push_back({next++, static_cast<std::int32_t>(below(random, 3)), 1.5, margin});
        model.push_back({entries.back(), which.back()});
      }
      reserve.add(*like->take(block, which), entries);
      if (model.size() > capacity) {  // the largest margins go, of equals the newer ones
        auto order = model;
        std::stable_sort(order.begin(), order.end(),
                         [](const Listed& a, const Listed& b) { return a.row.margin < b.row.margin; });
        const std::size_t most = capacity - capacity / 8;
        CHECK(reserve.ceiling() == order[most].row.margin);
        order.resize(most);
        std::sort(order.begin(), order.end(), [](const Listed& a, const Listed& b) { return a.row.id < b.row.id; });
        model = order;
      }
      for (const Listed& listed : model) CHECK(reserve.size() < capacity / 2 || listed.row.margin <= reserve.ceiling());
    } else {
      std::vector<std::int64_t> ids{next + 5};  // one that it does not have
      for (std::size_t r = below(random, 3); r > 0 && !model.empty(); --r)
        ids.push_back(model[below(random, model.size())].row.id);
      reserve.erase(ids);
      std::erase_if(
          model, [&](const Listed& listed) { return std::find(ids.begin(), ids.end(), listed.row.id) != ids.end(); });
    }
    check_content(reserve, model, *like, block);
  }
  reserve.set_capacity(0);
  check_content(reserve, {}, *like, block);
}

/// Rows that are dropped go to the reserve with the margin 1 - y (g - b); wiped rows do not.
void test_dropped_rows() {
  check::context = "dropped rows";
  constexpr std::size_t n = 12, width = 3;
  Random random(5);
  const Table<float> table = random_table<float>(random, n, width, 1.0);
  const Kernel kernel{KernelKind::rbf, 0.5, 0, 1};
  Expansion expansion(make_rows(Layout::dense, Precision::f32, width, kernel, {}), 1, 1 << 20);
  expansion.reserve().set_capacity(100);
  expansion.column(0).live = true;
  expansion.column(0).bias = 0.25;
  Slots which, ids;
  std::vector<std::int32_t> labels;
  const std::vector<double> costs(n, 2.0);
  for (std::size_t r = 0; r < n; ++r) {
    which.push_back(static_cast<std::int64_t>(r)), ids.push_back(static_cast<std::int64_t>(100 + r));
    labels.push_back(static_cast<std::int32_t>(r % 2));
  }
  expansion.append(*expansion.rows().take(table.dense(), which), {ids, labels, costs});
  for (const std::size_t s : {std::size_t{0}, std::size_t{3}}) expansion.join(0, s);
  expansion.column(0).ends = expansion.scan(0);
  expansion.wipe(7);
  expansion.compact();
  CHECK(expansion.size() == 2);
  CHECK(expansion.reserve().size() == n - 3);
  CHECK(!expansion.reserve().has(107) && !expansion.reserve().has(100));
  for (std::size_t place = 0; place < expansion.reserve().size(); ++place) {
    const ReservedRow& row = expansion.reserve().entry(place);
    // All coefficients are 0, so that f = b.
    CHECK_NEAR(row.margin, row.label == 1 ? 0.25 : -0.25, 1e-12);
    CHECK(row.cost == 2.0);
  }
  CHECK(expansion.violating(1e-3).size() == n - 3);
  CHECK(expansion.violating(2).empty());
  // A row that arrives again leaves the reserve.
  const Slots first{2}, name{102};
  expansion.append(*expansion.rows().take(table.dense(), first), {name, {labels.data() + 2, 1}, {costs.data(), 1}});
  CHECK(!expansion.reserve().has(102));
  expansion.drop({0, 0, 1});  // for good
  CHECK(!expansion.reserve().has(102) && expansion.find(102) < 0);
}

}  // namespace

int main() {
  for (const auto layout : {Layout::dense, Layout::sparse})
    for (const std::size_t capacity : {1, 8, 40}) check::guard([&] { test_reserve_at_random(layout, capacity); });
  check::guard(test_dropped_rows);
  return check::summary();
}
