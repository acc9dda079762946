// Rows in aligned columns, cut to the width of the terminal.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "cli/terminal.h"

namespace adaptdl {

enum class Align { kLeft, kRight };

struct TableColumn {
  std::string title;
  Align align = Align::kLeft;  // Right is for numbers, which are never shortened.
  bool optional = false;       // May be left out where the terminal is narrow.
};

struct TableCell {
  // NOLINTBEGIN(google-explicit-constructor): a row reads as a row of texts.
  TableCell(std::string content, Style look = Style::kPlain) : text(std::move(content)), style(look) {}
  TableCell(const char* content, Style look = Style::kPlain) : text(content), style(look) {}
  // NOLINTEND(google-explicit-constructor)

  std::string text;  // May come from outside: it is made safe.
  Style style;
};

struct Table {
  std::vector<TableColumn> columns;
  std::vector<std::vector<TableCell>> rows;  // Missing cells at the end of a row are empty.
};

// One line for the titles and one for each row, without trailing spaces. On a terminal, when the lines would
// be too long, optional columns go, the rightmost first; then left-aligned columns are shortened, the widest
// first. Elsewhere everything is kept: who reads it through a pipe wants it whole.
std::string Render(const Table& table, const Terminal& terminal);

}  // namespace adaptdl
