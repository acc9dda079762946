#include "simulator/csv.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <system_error>

namespace adaptdl {
namespace {

template <typename T>
bool ReadWhole(std::string_view text, T* value) {
  const char* end = text.data() + text.size();
  const auto [stop, error] = std::from_chars(text.data(), end, *value);
  return error == std::errc() && stop == end;
}

std::string Quoted(std::string_view text) { return "'" + Printable(text, 60) + "'"; }

}  // namespace

CsvReader::CsvReader(std::string_view text, std::initializer_list<std::string_view> columns) : rest_(text) {
  ReadHeader(columns);
}

void CsvReader::ReadHeader(std::initializer_list<std::string_view> columns) {
  if (rest_.empty()) {
    line_ = 1;
    return Fail("empty, expected a header");
  }
  if (!ReadLine()) return;
  header_ = cells_;
  for (auto name = header_.begin(); name != header_.end(); ++name) {
    if (std::find(header_.begin(), name, *name) != name)
      return Fail("column " + Quoted(*name) + " is repeated");
  }
  for (const std::string_view name : columns) {
    if (std::find(header_.begin(), header_.end(), name) == header_.end()) {
      return Fail("column " + Quoted(name) + " is missing");
    }
  }
}

bool CsvReader::ReadLine() {
  ++line_;
  const std::size_t end = std::min(rest_.find('\n'), rest_.size());
  std::string_view line = rest_.substr(0, end);
  rest_.remove_prefix(std::min(end + 1, rest_.size()));
  if (line.ends_with('\r')) line.remove_suffix(1);
  if (line.find('\0') != std::string_view::npos) Fail("contains a NUL byte");
  // Taken literally, a quoted cell would be read wrongly without a word.
  if (line.find('"') != std::string_view::npos) Fail("contains a quote; quoted cells are not supported");
  cells_.clear();
  for (std::size_t comma = line.find(','); comma != std::string_view::npos; comma = line.find(',')) {
    cells_.push_back(line.substr(0, comma));
    line.remove_prefix(comma + 1);
  }
  cells_.push_back(line);
  return error_.empty();
}

bool CsvReader::Next() {
  if (!error_.empty() || rest_.empty() || !ReadLine()) return false;
  if (cells_.size() < header_.size()) {
    Fail(Printable(header_[cells_.size()]) + ": missing, the line ends after " +
         std::to_string(cells_.size()) + (cells_.size() == 1 ? " cell" : " cells"));
  } else if (cells_.size() > header_.size()) {
    Fail(std::to_string(cells_.size()) + " cells, but the header names " + std::to_string(header_.size()) +
         " columns");
  }
  return error_.empty();
}

std::string_view CsvReader::Text(std::string_view column) {
  if (!error_.empty()) return {};
  const auto at = std::find(header_.begin(), header_.end(), column);
  if (at == header_.end()) {
    Refuse(column, "no such column");
    return {};
  }
  return cells_[static_cast<std::size_t>(at - header_.begin())];
}

double CsvReader::Number(std::string_view column) {
  double value = 0;
  if (!ReadWhole(Text(column), &value)) {
    Refuse(column, "expected a number");
  } else if (!std::isfinite(value)) {
    Refuse(column, "expected a finite number");
  }
  return error_.empty() ? value : 0;
}

std::int64_t CsvReader::Integer(std::string_view column, std::int64_t min, std::int64_t max) {
  std::int64_t value = min;
  if (!ReadWhole(Text(column), &value) || value < min || value > max) {
    Refuse(column, "expected a whole number from " + std::to_string(min) + " to " + std::to_string(max));
  }
  return error_.empty() ? value : min;
}

void CsvReader::Refuse(std::string_view column, std::string_view why) {
  Fail(Printable(column) + ": " + std::string(why));
}

Result<void> CsvReader::Finish() const {
  if (!error_.empty()) return Invalid(error_);
  if (line_ < 2) return Invalid("line 1: no rows follow the header");
  return {};
}

void CsvReader::Fail(const std::string& what) {
  if (error_.empty()) error_ = "line " + std::to_string(line_) + ": " + what;
}

}  // namespace adaptdl
