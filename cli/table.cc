#include "cli/table.h"

#include <algorithm>
#include <cstdint>

#include "runtime/result.h"

namespace adaptdl {
namespace {

constexpr std::size_t kGap = 2;
constexpr std::size_t kLeastWidth = 6;  // Of a column that is shortened: below, nothing can be recognised.

// A column with the texts as they will be shown, the title first.
struct Layout {
  TableColumn column;
  std::vector<TableCell> cells;
  std::size_t width = 0;
};

Layout LayOut(const Table& table, std::size_t index) {
  Layout layout{table.columns[index], {{table.columns[index].title, Style::kBold}}, 0};
  for (const std::vector<TableCell>& row : table.rows) {
    layout.cells.push_back(index < row.size() ? row[index] : TableCell(""));
  }
  for (TableCell& cell : layout.cells) {
    cell.text = Printable(cell.text, SIZE_MAX);
    cell.text.resize(cell.text.find_last_not_of(' ') + 1);
    layout.width = std::max(layout.width, DisplayWidth(cell.text));
  }
  return layout;
}

std::size_t TotalWidth(const std::vector<Layout>& layouts) {
  std::size_t total = 0;
  for (const Layout& layout : layouts) total += layout.width + kGap;
  return total - std::min(total, kGap);
}

void Fit(std::vector<Layout>& layouts, std::size_t width) {
  for (auto i = layouts.size(); i-- > 0 && TotalWidth(layouts) > width;) {
    if (layouts[i].column.optional) layouts.erase(layouts.begin() + static_cast<std::ptrdiff_t>(i));
  }
  const auto shorter = [](const Layout& a, const Layout& b) {
    const auto room = [](const Layout& l) { return l.column.align == Align::kLeft ? l.width : 0; };
    return room(a) < room(b);
  };
  while (TotalWidth(layouts) > width) {
    const auto widest = std::max_element(layouts.begin(), layouts.end(), shorter);
    if (widest->column.align != Align::kLeft || widest->width <= kLeastWidth) return;
    --widest->width;
  }
}

}  // namespace

std::string Render(const Table& table, const Terminal& terminal) {
  std::vector<Layout> layouts;
  for (std::size_t i = 0; i < table.columns.size(); ++i) layouts.push_back(LayOut(table, i));
  if (terminal.is_terminal) Fit(layouts, terminal.width);

  std::string out;
  for (std::size_t line = 0; line <= table.rows.size(); ++line) {
    std::size_t pending = 0;  // Spaces that are written only when something follows them.
    for (const Layout& layout : layouts) {
      const TableCell& cell = layout.cells[line];
      const std::string text = Shorten(terminal, cell.text, layout.width);
      const std::size_t pad = layout.width - DisplayWidth(text);
      if (layout.column.align == Align::kRight) pending += pad;
      if (!text.empty()) {
        out.append(pending, ' ').append(Paint(terminal, cell.style, text));
        pending = 0;
      }
      pending += (layout.column.align == Align::kLeft ? pad : 0) + kGap;
    }
    out += '\n';
  }
  return out;
}

}  // namespace adaptdl
