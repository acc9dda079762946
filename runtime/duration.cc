#include "runtime/duration.h"

#include <charconv>
#include <cstdint>

namespace adaptdl {
namespace {

struct Unit {
  std::string_view name;
  std::int64_t milliseconds;
};
constexpr Unit kUnits[] = {{"d", 86'400'000}, {"h", 3'600'000}, {"m", 60'000}, {"s", 1'000}, {"ms", 1}};

}  // namespace

std::optional<std::chrono::milliseconds> ParseDuration(std::string_view text) {
  if (text.empty()) return std::nullopt;
  std::int64_t total = 0;
  for (const Unit& unit : kUnits) {
    const std::size_t digits = std::min(text.find_first_not_of("0123456789"), text.size());
    const std::size_t end = std::min(text.find_first_of("0123456789", digits), text.size());
    if (text.substr(digits, end - digits) != unit.name) continue;
    std::int64_t count = 0;
    if (std::from_chars(text.data(), text.data() + digits, count).ec != std::errc()) return std::nullopt;
    if (__builtin_mul_overflow(count, unit.milliseconds, &count)) return std::nullopt;
    if (__builtin_add_overflow(total, count, &total)) return std::nullopt;
    text.remove_prefix(end);
  }
  if (!text.empty()) return std::nullopt;
  return std::chrono::milliseconds(total);
}

std::string FormatDuration(std::chrono::milliseconds duration) {
  std::int64_t rest = duration.count();
  std::string out;
  for (const Unit& unit : kUnits) {
    const std::int64_t count = rest / unit.milliseconds;
    rest %= unit.milliseconds;
    if (count > 0) out += std::to_string(count).append(unit.name);
  }
  return out.empty() ? "0s" : out;
}

}  // namespace adaptdl
