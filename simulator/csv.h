// Reads comma-separated text: a header line that names the columns, then one line for each row. There is no
// quoting, and nothing is repaired: what does not fit is an error with its line and column.
#pragma once

#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <string>
#include <string_view>
#include <vector>

#include "runtime/result.h"

namespace adaptdl {

// Goes through the rows once. The first error stays: Next() ends, and Finish() tells it.
//
//   CsvReader reader(text, {"name", "time"});
//   while (reader.Next()) jobs.push_back({std::string(reader.Text("name")), reader.Number("time")});
//   if (auto ok = reader.Finish(); !ok) return tl::unexpected(ok.error());
class CsvReader {
 public:
  // The header must have all of `columns`, in any order; more are allowed. `text` outlives the reader, and so
  // do the names.
  CsvReader(std::string_view text, std::initializer_list<std::string_view> columns);

  // To the next row; false at the end and after an error.
  bool Next();

  // A cell of the row; `column` is in the header. After an error: empty, or the smallest number allowed.
  [[nodiscard]] std::string_view Text(std::string_view column);
  [[nodiscard]] double Number(std::string_view column);  // Finite.
  [[nodiscard]] std::int64_t Integer(std::string_view column, std::int64_t min, std::int64_t max);

  // Refuses the cell of this row for a reason that only the caller knows.
  void Refuse(std::string_view column, std::string_view why);

  // Invalid where anything was wrong, or where no row follows the header.
  [[nodiscard]] Result<void> Finish() const;

 private:
  bool ReadLine();  // Cuts the next line into cells_.
  void ReadHeader(std::initializer_list<std::string_view> columns);
  void Fail(const std::string& what);

  std::string_view rest_;
  std::size_t line_ = 0;
  std::vector<std::string_view> header_;
  std::vector<std::string_view> cells_;
  std::string error_;
};

}  // namespace adaptdl
