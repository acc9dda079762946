#include "cli/numbers.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdio>

namespace adaptdl {
namespace {

std::string Format(const char* format, int digits, double value) {
  std::array<char, 64> text{};
  std::snprintf(text.data(), text.size(), format, digits, value);
  return text.data();
}

}  // namespace

std::string Short(double value, int digits) {
  const double magnitude = std::abs(value);
  if (magnitude != 0 && (magnitude < 1e-5 || magnitude >= 1e9)) return Format("%.*g", digits, value);
  // As many decimals as the digits leave after those before the point.
  const int before = magnitude < 1e-300 ? 1 : static_cast<int>(std::floor(std::log10(magnitude))) + 1;
  return Format("%.*f", std::max(digits - before, 0), value);
}

std::string SignedPercent(double ratio) {
  const double percent = 100 * ratio;
  if (std::abs(percent) < 0.05) return "0.0 %";
  return Format("%+.*f %%", 1, percent);
}

}  // namespace adaptdl
