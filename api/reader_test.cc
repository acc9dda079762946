#include "api/reader.h"

#include <gtest/gtest.h>

#include <cmath>
#include <string>

#include "nlohmann/json.hpp"

namespace adaptdl {

using nlohmann::json;

struct Point {
  std::int64_t x = 0;
  std::optional<double> y;

  friend bool operator==(const Point&, const Point&) = default;
};

void Decode(const Reader& in, Point* out) {
  in.Required("x", &out->x, {.min = -5, .max = 5});
  in.Optional("y", &out->y);
}

namespace {

template <typename T>
std::string Message(const json& value, const std::string& path = "f") {
  const Result<T> read = FromJson<T>(value, path);
  return read ? "ok" : read.error().message;
}

// Reads the member "f" of {"f": value}.
template <typename T>
std::string Limited(const json& value, const Limits& limits) {
  const json object = {{"f", value}};
  std::optional<Error> error;
  T out{};
  Reader(object, "", &error).Required("f", &out, limits);
  return error ? error->message : "ok";
}

TEST(ReaderTest, TakesEveryTypeForItselfOnly) {
  const json kinds[] = {"3", 3, 3.5, true, json::array(), json::object(), nullptr};
  const std::string found[] = {"text",      "the number 3", "the number 3.5", "a boolean", "a list",
                               "an object", "null"};
  for (std::size_t i = 0; i < std::size(kinds); ++i) {
    const auto expect = [&](bool ok, const std::string& name) {
      return ok ? "ok" : "f: expected " + name + ", found " + found[i];
    };
    EXPECT_EQ(Message<std::string>(kinds[i]), expect(i == 0, "text"));
    EXPECT_EQ(Message<std::int64_t>(kinds[i]), expect(i == 1, "an integer"));
    EXPECT_EQ(Message<double>(kinds[i]), expect(i == 1 || i == 2, "a number"));
    EXPECT_EQ(Message<bool>(kinds[i]), expect(i == 3, "a boolean"));
    EXPECT_EQ(Message<std::vector<double>>(kinds[i]), expect(i == 4, "a list"));
    EXPECT_EQ((Message<std::map<std::string, bool>>(kinds[i])), expect(i == 5, "an object"));
    EXPECT_EQ(Message<std::optional<bool>>(kinds[i]), expect(i == 3 || i == 6, "a boolean"));
  }
}

TEST(ReaderTest, KeepsIntegersExact) {
  EXPECT_EQ(FromJson<std::int64_t>(INT64_MAX).value(), INT64_MAX);
  EXPECT_EQ(FromJson<std::int64_t>(INT64_MIN).value(), INT64_MIN);
  EXPECT_EQ(Message<std::int64_t>(UINT64_MAX),
            "f: expected a 64-bit integer, found the number 18446744073709551615");
  EXPECT_EQ(Message<std::int64_t>(3.0), "f: expected an integer, found the number 3.0");
  const Limits lenient{.take_integral_double = true};
  EXPECT_EQ(Limited<std::int64_t>(3.0, lenient), "ok");
  EXPECT_EQ(Limited<std::int64_t>(3.5, lenient), "f: expected an integer, found the number 3.5");
  EXPECT_EQ(Limited<std::int64_t>(-9223372036854775808.0, lenient), "ok");
  EXPECT_EQ(Limited<std::int64_t>(9223372036854775808.0, lenient),
            "f: expected a 64-bit integer, found the number 9.223372036854776e+18");
}

TEST(ReaderTest, RefusesNumbersThatAreNotFinite) {
  EXPECT_EQ(Message<double>(std::nan("")), "f: not finite");
  EXPECT_EQ(Message<double>(-INFINITY), "f: not finite");
  EXPECT_EQ(Limited<std::int64_t>(INFINITY, {.take_integral_double = true}),
            "f: expected a 64-bit integer, found the number null");
}

TEST(ReaderTest, KeepsToLimits) {
  EXPECT_EQ(Limited<double>(1, {.min = 1, .max = 2}), "ok");
  EXPECT_EQ(Limited<double>(2, {.min = 1, .max = 2}), "ok");
  EXPECT_EQ(Limited<double>(2.5, {.min = 1, .max = 2}), "f: must be between 1 and 2, found 2.5");
  EXPECT_EQ(Limited<std::int64_t>(-1, {.min = 0}), "f: must be at least 0, found -1");
  EXPECT_EQ(Limited<std::int64_t>(8, {.max = 7}), "f: must be at most 7, found 8");
  EXPECT_EQ(Limited<double>(0, {.min = 0, .exclusive_min = true}), "f: must be above 0, found 0");
  EXPECT_EQ(Limited<double>(5e-324, {.min = 0, .exclusive_min = true}), "ok");
  EXPECT_EQ(Limited<std::vector<double>>({1, -1}, {.min = 0}), "f[1]: must be at least 0, found -1");
  EXPECT_EQ((Limited<std::map<std::string, double>>({{"a/b", -1}}, {.min = 0})),
            "f[a/b]: must be at least 0, found -1");
}

TEST(ReaderTest, ReadsObjectsByTheirCodec) {
  EXPECT_EQ(FromJson<Point>({{"x", 1}, {"y", 0.5}, {"z", "ignored"}}).value(), (Point{1, 0.5}));
  EXPECT_EQ(FromJson<Point>({{"x", 1}, {"y", nullptr}}).value(), (Point{1, {}}));
  EXPECT_EQ(Message<Point>(json::object()), "f.x: missing");
  EXPECT_EQ(Message<Point>({{"x", nullptr}}), "f.x: missing");
  EXPECT_EQ(Message<Point>("text"), "f: expected an object, found text");
  EXPECT_EQ(Message<Point>("text", ""), "expected an object, found text");
  EXPECT_EQ(Message<std::vector<Point>>({{{"x", 1}}, {{"x", 9}}}),
            "f[1].x: must be between -5 and 5, found 9");
}

TEST(ReaderTest, KeepsTheFirstFailure) {
  EXPECT_EQ(Message<Point>({{"x", "a"}, {"y", "b"}}), "f.x: expected an integer, found text");
}

}  // namespace
}  // namespace adaptdl
