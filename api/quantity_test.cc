#include "api/quantity.h"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <cmath>
#include <string>

#include "api/reader.h"
#include "nlohmann/json.hpp"

namespace adaptdl {
namespace {

using nlohmann::json;

Quantity Parsed(std::string_view text) {
  const Result<Quantity> quantity = Quantity::Parse(text);
  EXPECT_TRUE(quantity) << text;
  return quantity.value_or(Quantity());
}

TEST(QuantityTest, KnowsEverySuffix) {
  struct Case {
    const char* text;
    const char* canonical;
    std::int64_t units;
  };
  const Case cases[] = {
      {"1n", "1n", 1},
      {"1u", "1u", 1},
      {"1m", "1m", 1},
      {"1", "1", 1},
      {"1k", "1k", 1'000},
      {"1M", "1M", 1'000'000},
      {"1G", "1G", 1'000'000'000},
      {"1T", "1T", 1'000'000'000'000},
      {"1P", "1P", 1'000'000'000'000'000},
      {"1E", "1E", 1'000'000'000'000'000'000},
      {"1Ki", "1024", 1LL << 10},
      {"1Mi", "1048576", 1LL << 20},
      {"1Gi", "1073741824", 1LL << 30},
      {"1Ti", "1099511627776", 1LL << 40},
      {"1Pi", "1125899906842624", 1LL << 50},
      {"1Ei", "1152921504606846976", 1LL << 60},
      {"1e3", "1k", 1'000},
      {"1E3", "1k", 1'000},
      {"1e+3", "1k", 1'000},
      {"1E-3", "1m", 1},
      {"1e0", "1", 1},
  };
  for (const auto& [text, canonical, units] : cases) {
    EXPECT_EQ(Parsed(text).ToString(), canonical) << text;
    EXPECT_EQ(Parsed(text).Units(), units) << text;
  }
}

TEST(QuantityTest, IsExact) {
  struct Case {
    const char* text;
    const char* canonical;
  };
  const Case cases[] = {
      {"0", "0"},
      {"-0", "0"},
      {"0.000Ei", "0"},
      {"000", "0"},
      {"+2", "2"},
      {"-1.5", "-1500m"},
      {"007", "7"},
      {".5", "500m"},
      {"5.", "5"},
      {"5.k", "5k"},
      {"-.5Ki", "-512"},
      {"1.5Gi", "1610612736"},
      {"0.1", "100m"},
      {"1.1k", "1100"},
      {"1234500u", "1234500u"},
      {"1000000m", "1k"},
      {"0.1Ki", "102400m"},
      {"2.0000001Ki", "2048000102400n"},
      {"9223372036854775807", "9223372036854775807"},
      {"9.223372036854775807E", "9223372036854775807"},
      {"-9223372036854775807", "-9223372036854775807"},
      {"9223372036854775806.999999999", "9223372036854775806999999999n"},
      {"9007199254740993", "9007199254740993"},
      {"7.9999999999999999Ei", "9223372036854775692707849540n"},
      {"0.0000000000000000000000000001e28", "1"},
      {"10000000000000000000000000000e-28", "1"},
  };
  for (const auto& [text, canonical] : cases) EXPECT_EQ(Parsed(text).ToString(), canonical) << text;
}

TEST(QuantityTest, RoundsAwayFromZero) {
  EXPECT_EQ(Parsed("0.1n").ToString(), "1n");
  EXPECT_EQ(Parsed("-0.1n").ToString(), "-1n");
  EXPECT_EQ(Parsed("1.0000000001").ToString(), "1000000001n");
  EXPECT_EQ(Parsed("0.00000000000000000000000000000000000000001Ei").ToString(), "1n");
  EXPECT_EQ(Parsed("1e-400").ToString(), "1n");
  EXPECT_EQ(Parsed("1e-9223372036854775808").ToString(), "1n");
  EXPECT_EQ(Parsed("1001m").Units(), 2);
  EXPECT_EQ(Parsed("-1001m").Units(), -2);
  EXPECT_EQ(Parsed("1.0001").MilliUnits().value(), 1001);
  EXPECT_EQ(Parsed("-1.0001").MilliUnits().value(), -1001);
  EXPECT_EQ(Parsed("1100u").MilliUnits().value(), 2);
  EXPECT_EQ(Parsed("1n").MilliUnits().value(), 1);
}

TEST(QuantityTest, OverflowIsAnError) {
  const char* const cases[] = {
      "9223372036854775808",
      "-9223372036854775808",
      "9223372036854775807.000000001",
      "8Ei",
      "9.3E",
      "10E",
      "1e19",
      "1e1000000000",
      "1E9223372036854775807",
      "0.1e9223372036854775807",
      "9223372036854775808000000000n",
      "100000000000000000000000000000000000000000000000",
  };
  for (const char* text : cases) {
    const Result<Quantity> quantity = Quantity::Parse(text);
    ASSERT_FALSE(quantity) << text << " gave " << quantity->ToString();
    EXPECT_NE(quantity.error().message.find("too large"), std::string::npos) << quantity.error().message;
  }
  EXPECT_EQ(Parsed("0e1000000000"), Quantity());
  EXPECT_EQ(Parsed("9223372036854775807m").MilliUnits().value(), INT64_MAX);
  EXPECT_EQ(Parsed("-9223372036854775807m").MilliUnits().value(), -INT64_MAX);
  EXPECT_FALSE(Parsed("9223372036854775807001u").MilliUnits());
  EXPECT_EQ(Parsed("1E").MilliUnits().error().message, "1E is too large to be counted in thousandths");
}

TEST(QuantityTest, RefusesEverythingElse) {
  const char* const cases[] = {"",
                               " ",
                               "abc",
                               "+",
                               "-",
                               ".",
                               "k",
                               "Ki",
                               "+-1",
                               "--1",
                               "1.2.3",
                               "1..",
                               "1,5",
                               " 1",
                               "1 ",
                               "1 k",
                               "1kk",
                               "1Mk",
                               "1kM",
                               "1KiM",
                               "1MiKi",
                               "1K",
                               "1mi",
                               "1Kb",
                               "1EiB",
                               "1i",
                               "1ki",
                               "1e",
                               "1e+",
                               "1e-",
                               "1e+-3",
                               "1e3.5",
                               "1e3m",
                               "1e3k",
                               "1e3Ki",
                               "1e 3",
                               "0x10",
                               "1_000",
                               "inf",
                               "nan",
                               "1e9223372036854775808",
                               "e3",
                               "1\n",
                               "1E3E",
                               "1Ee3",
                               "\xd9\xa1"};
  for (const char* text : cases) {
    const Result<Quantity> quantity = Quantity::Parse(text);
    ASSERT_FALSE(quantity) << text << " gave " << quantity->ToString();
    EXPECT_NE(quantity.error().message.find("is not a quantity"), std::string::npos)
        << quantity.error().message;
  }
  EXPECT_FALSE(Quantity::Parse(std::string_view("1\0", 2)));
}

TEST(QuantityTest, ComparesByValue) {
  EXPECT_EQ(Parsed("1Ki"), Parsed("1024"));
  EXPECT_LT(Parsed("1k"), Parsed("1Ki"));
  EXPECT_LT(Parsed("-2"), Parsed("-1999m"));
}

TEST(QuantityTest, ReadsTextAndNumbersFromJson) {
  const auto read = [](const json& value) {
    const Result<Quantity> quantity = FromJson<Quantity>(value, "limits[x/y]");
    return quantity ? quantity->ToString() : quantity.error().message;
  };
  EXPECT_EQ(read("1.5Gi"), "1610612736");
  EXPECT_EQ(read(" 3 "), "3");
  EXPECT_EQ(read(2), "2");
  EXPECT_EQ(read(-2), "-2");
  EXPECT_EQ(read(0.1), "100m");
  EXPECT_EQ(read(1e22), "limits[x/y]: '1e+22' is too large a quantity: beyond 2^63 - 1");
  EXPECT_EQ(read(1e-300), "1n");
  EXPECT_EQ(read(9007199254740993), "9007199254740993");
  EXPECT_EQ(read(UINT64_MAX), "limits[x/y]: '18446744073709551615' is too large a quantity: beyond 2^63 - 1");
  EXPECT_EQ(read(std::nan("")), "limits[x/y]: 'nan' is not a quantity");
  EXPECT_EQ(read(" "), "limits[x/y]: '' is not a quantity");
  EXPECT_EQ(read("\t3"), "limits[x/y]: '\\x093' is not a quantity");
  EXPECT_EQ(read(true), "limits[x/y]: expected a quantity, found a boolean");
  EXPECT_EQ(read(nullptr), "limits[x/y]: expected a quantity, found null");
}

RC_GTEST_PROP(QuantityTest, ReadsWhatItWrites, (std::int64_t mantissa)) {
  const auto suffix = *rc::gen::element<std::string>("n", "u", "m", "", "Ki", "k", "Mi", "Ti", "e-5", "e2");
  const Result<Quantity> quantity = Quantity::Parse(std::to_string(mantissa) + suffix);
  RC_PRE(quantity.has_value());
  RC_ASSERT(Quantity::Parse(quantity->ToString()).value() == *quantity);
}

// A second way to the same number: whole and fractional part by integer arithmetic alone.
RC_GTEST_PROP(QuantityTest, AgreesWithPlainArithmetic, ()) {
  const auto whole = *rc::gen::inRange<std::int64_t>(0, 1'000'000'000);
  const auto milli = *rc::gen::inRange<std::int64_t>(0, 1000);
  const auto power = *rc::gen::inRange(0, 4);
  const bool negative = *rc::gen::arbitrary<bool>();
  const std::string suffix[] = {"", "Ki", "Mi", "Gi"};
  const std::string digits = std::to_string(1000 + milli).substr(1);
  const Quantity quantity =
      Parsed((negative ? "-" : "") + std::to_string(whole) + "." + digits + suffix[power]);
  const std::int64_t scale = std::int64_t{1} << (10 * power);
  const std::int64_t thousandths = milli * scale;
  const std::int64_t magnitude = whole * scale + thousandths / 1000 + (thousandths % 1000 > 0 ? 1 : 0);
  RC_ASSERT(quantity.Units() == (negative ? -magnitude : magnitude));
}

}  // namespace
}  // namespace adaptdl
