#include "api/quantity.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <limits>
#include <optional>

#include "api/json.h"
#include "api/reader.h"
#include "nlohmann/json.hpp"

namespace adaptdl {
namespace {

__extension__ using Int128 = __int128;

constexpr Int128 kUnit = 1'000'000'000;
constexpr Int128 kMaxNano = std::numeric_limits<std::int64_t>::max() * kUnit;
constexpr std::array<std::string_view, 10> kDecimal = {"n", "u", "m", "", "k", "M", "G", "T", "P", "E"};
constexpr std::array<std::string_view, 7> kBinary = {"", "Ki", "Mi", "Gi", "Ti", "Pi", "Ei"};

// What a suffix makes of the number before it: shifts its decimal point, and scales it to nano-units.
struct Factor {
  std::int64_t shift = 0;
  Int128 nano = 1;
};

std::optional<Factor> ParseSuffix(std::string_view suffix) {
  Factor factor;
  for (const std::string_view known : kDecimal) {
    if (suffix == known) return factor;
    factor.nano *= 1000;
  }
  factor.nano = kUnit;
  for (const std::string_view known : kBinary) {
    if (suffix == known) return factor;
    factor.nano *= 1024;
  }
  factor.nano = kUnit;
  if (suffix.front() != 'e' && suffix.front() != 'E') return std::nullopt;
  suffix.remove_prefix(1);
  if (suffix.starts_with('+') && !suffix.starts_with("+-")) suffix.remove_prefix(1);
  const char* end = suffix.data() + suffix.size();
  const auto [rest, error] = std::from_chars(suffix.data(), end, factor.shift);
  if (error != std::errc() || rest != end) return std::nullopt;
  return factor;
}

// The digits of a number without its leading zeros; `point` of them stand before the decimal point. A point
// outside of them means zeros in between.
struct Decimal {
  std::string digits;
  std::int64_t point = 0;
};

// In nano-units, rounded up; nothing where that is too much.
std::optional<Int128> Scale(Decimal number, const Factor& factor) {
  // So far out the value is beyond every limit, or below the smallest step, whatever the digits are.
  constexpr std::int64_t kFar = 40;
  constexpr std::int64_t kFarther = std::int64_t{1} << 40;
  number.point = std::clamp(number.point + std::clamp(factor.shift, -kFarther, kFarther), -kFar, kFar);
  if (number.point < 0) number.digits.insert(0, static_cast<std::size_t>(-number.point), '0');
  const auto point = static_cast<std::size_t>(std::max<std::int64_t>(number.point, 0));
  if (number.digits.size() < point) number.digits.append(point - number.digits.size(), '0');

  Int128 whole = 0;
  for (std::size_t i = 0; i < point; ++i) {
    whole = whole * 10 + (number.digits[i] - '0');
    if (whole > kMaxNano / factor.nano) return std::nullopt;
  }
  Int128 fraction = 0;
  bool exact = true;
  for (std::size_t i = number.digits.size(); i-- > point;) {
    fraction += (number.digits[i] - '0') * factor.nano;
    exact = exact && fraction % 10 == 0;
    fraction /= 10;
  }
  const Int128 nano = whole * factor.nano + fraction + (exact ? 0 : 1);
  return nano > kMaxNano ? std::nullopt : std::optional(nano);
}

std::string_view TakeDigits(std::string_view* text) {
  const std::string_view digits = text->substr(0, text->find_first_not_of("0123456789"));
  text->remove_prefix(digits.size());
  return digits;
}

constexpr Int128 DivideAwayFromZero(Int128 value, Int128 divisor) {
  return value / divisor + (value % divisor > 0 ? 1 : value % divisor < 0 ? -1 : 0);
}

}  // namespace

Result<Quantity> Quantity::Parse(std::string_view text) {
  constexpr std::size_t kShown = 40;
  const auto refuse = [&](std::string_view why) {
    return Invalid("'" + Printable(text, kShown) + "' " + std::string(why));
  };
  std::string_view rest = text;
  const bool negative = rest.starts_with('-');
  if (negative || rest.starts_with('+')) rest.remove_prefix(1);
  const std::string_view whole = TakeDigits(&rest);
  const bool has_point = rest.starts_with('.');
  if (has_point) rest.remove_prefix(1);
  const std::string_view fraction = has_point ? TakeDigits(&rest) : "";
  const std::optional<Factor> factor = ParseSuffix(rest);
  if ((whole.empty() && fraction.empty()) || !factor) return refuse("is not a quantity");

  Decimal number{std::string(whole) + std::string(fraction), static_cast<std::int64_t>(whole.size())};
  const std::size_t zeros = std::min(number.digits.find_first_not_of('0'), number.digits.size());
  if (zeros == number.digits.size()) return Quantity();
  number.digits.erase(0, zeros);
  number.point -= static_cast<std::int64_t>(zeros);
  const std::optional<Int128> nano = Scale(std::move(number), *factor);
  if (!nano) return refuse("is too large a quantity: beyond 2^63 - 1");
  return Quantity(negative ? -*nano : *nano);
}

std::int64_t Quantity::Units() const { return static_cast<std::int64_t>(DivideAwayFromZero(nano_, kUnit)); }

Result<std::int64_t> Quantity::MilliUnits() const {
  const Int128 milli = DivideAwayFromZero(nano_, kUnit / 1000);
  constexpr Int128 kMax = std::numeric_limits<std::int64_t>::max();
  if (milli > kMax || milli < -kMax)
    return Invalid(ToString() + " is too large to be counted in thousandths");
  return static_cast<std::int64_t>(milli);
}

std::string Quantity::ToString() const {
  if (nano_ == 0) return "0";
  Int128 rest = nano_ < 0 ? -nano_ : nano_;
  std::size_t suffix = 0;
  for (; rest % 1000 == 0 && suffix + 1 < kDecimal.size(); ++suffix) rest /= 1000;
  std::string text;
  for (; rest > 0; rest /= 10) text.push_back(static_cast<char>('0' + static_cast<int>(rest % 10)));
  if (nano_ < 0) text.push_back('-');
  std::reverse(text.begin(), text.end());
  return text.append(kDecimal[suffix]);
}

void Decode(const Reader& in, Quantity* out) {
  const nlohmann::json& value = in.value();
  std::string text;
  if (value.is_number_float()) {
    std::array<char, 32> shortest{};
    text.assign(shortest.data(),
                std::to_chars(shortest.data(), shortest.data() + shortest.size(), value.get<double>()).ptr);
  } else if (value.is_number()) {
    text = ToText(value);
  } else if (value.is_string()) {
    text = value.get_ref<const std::string&>();
    text.erase(0, text.find_first_not_of(' '));
    text.erase(text.find_last_not_of(' ') + 1);
  } else {
    return in.FailExpected("a quantity");
  }
  Result<Quantity> quantity = Quantity::Parse(text);
  if (!quantity) return in.Fail(quantity.error().message);
  *out = *quantity;
}

}  // namespace adaptdl
