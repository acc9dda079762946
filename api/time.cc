#include "api/time.h"

#include <cstdint>

#include "api/reader.h"

namespace adaptdl {
namespace {

using std::chrono::hours;
using std::chrono::microseconds;
using std::chrono::minutes;
using std::chrono::seconds;
using std::chrono::sys_days;
using std::chrono::year;

constexpr Time kFirst = sys_days(year(0) / 1 / 1);
constexpr Time kEnd = sys_days(year(10000) / 1 / 1);

// Takes a text apart from its front; once something does not fit, nothing fits any more.
class Scanner {
 public:
  explicit Scanner(std::string_view text) : text_(text) {}

  // Exactly `width` digits, with a value of at most `max`.
  int Number(int width, int max) {
    int value = 0;
    for (int i = 0; i < width; ++i) value = value * 10 + Digit();
    ok_ = ok_ && value <= max;
    return value;
  }

  void Expect(char c) { ok_ = Take(c) && ok_; }

  bool Take(char c) {
    if (!text_.starts_with(c)) return false;
    text_.remove_prefix(1);
    return true;
  }

  // One digit or more, of which six count.
  microseconds Fraction() {
    std::int64_t value = Digit();
    int digits = 1;
    for (; NextIsDigit(); ++digits) {
      const int digit = Digit();
      if (digits < 6) value = value * 10 + digit;
    }
    for (; digits < 6; ++digits) value *= 10;
    return microseconds(value);
  }

  bool Done() const { return ok_ && text_.empty(); }

 private:
  bool NextIsDigit() const { return !text_.empty() && text_.front() >= '0' && text_.front() <= '9'; }

  int Digit() {
    ok_ = ok_ && NextIsDigit();
    if (!ok_) return 0;
    const int digit = text_.front() - '0';
    text_.remove_prefix(1);
    return digit;
  }

  std::string_view text_;
  bool ok_ = true;
};

}  // namespace

Result<Time> ParseTime(std::string_view text) {
  constexpr std::size_t kShown = 40;
  Scanner in(text);
  const int y = in.Number(4, 9999);
  in.Expect('-');
  const int m = in.Number(2, 12);
  in.Expect('-');
  const int d = in.Number(2, 31);
  in.Expect('T');
  microseconds clock = hours(in.Number(2, 23));
  in.Expect(':');
  clock += minutes(in.Number(2, 59));
  in.Expect(':');
  clock += seconds(in.Number(2, 59));
  if (in.Take('.')) clock += in.Fraction();
  if (!in.Take('Z')) {
    const bool west = in.Take('-');
    if (!west) in.Expect('+');
    const minutes hour_part = hours(in.Number(2, 23));
    in.Expect(':');
    const minutes offset = hour_part + minutes(in.Number(2, 59));
    clock -= west ? -offset : offset;
  }
  const auto date = year(y) / m / d;
  if (!in.Done() || !date.ok()) {
    return Invalid("'" + Printable(text, kShown) + "' is not a time as in 2026-01-31T12:00:00Z");
  }
  const sys_days day = date;
  const Time time = day + clock;
  if (time < kFirst || time >= kEnd) {
    return Invalid("'" + Printable(text, kShown) + "' lies outside of the years 0000 to 9999");
  }
  return time;
}

std::string FormatTime(Time time) {
  const auto day = std::chrono::floor<std::chrono::days>(time);
  const std::chrono::year_month_day date(day);
  const std::chrono::hh_mm_ss<microseconds> clock(time - day);
  const auto padded = [](std::int64_t value, std::size_t width) {
    const std::string digits = std::to_string(value);
    return std::string(width - digits.size(), '0') + digits;
  };
  const std::int64_t fraction = clock.subseconds().count();
  return padded(static_cast<int>(date.year()), 4) + "-" + padded(static_cast<unsigned>(date.month()), 2) +
         "-" + padded(static_cast<unsigned>(date.day()), 2) + "T" + padded(clock.hours().count(), 2) + ":" +
         padded(clock.minutes().count(), 2) + ":" + padded(clock.seconds().count(), 2) +
         (fraction == 0 ? "" : "." + padded(fraction, 6)) + "Z";
}

void Decode(const Reader& in, Time* out) {
  std::string text;
  in.Read(&text);
  if (!in.ok()) return;
  Result<Time> time = ParseTime(text);
  if (!time) return in.Fail(time.error().message);
  *out = *time;
}

}  // namespace adaptdl
