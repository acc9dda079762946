#include "cli/numbers.h"

#include <string>
#include <utility>
#include <vector>

#include "gtest/gtest.h"

namespace adaptdl {
namespace {

TEST(Numbers, ShortKeepsSignificantDigits) {
  const std::vector<std::pair<double, std::string>> cases = {
      {0, "0.00"},      {1, "1.00"},          {0.00568, "0.00568"}, {9.876, "9.88"},  {123.4, "123"},
      {12345, "12345"}, {-0.0123, "-0.0123"}, {1e-8, "1e-08"},      {5e300, "5e+300"}};
  for (const auto& [value, expected] : cases) EXPECT_EQ(Short(value), expected);
  EXPECT_EQ(Short(0.00064071, 4), "0.0006407");
}

TEST(Numbers, SignedPercent) {
  EXPECT_EQ(SignedPercent(0.032), "+3.2 %");
  EXPECT_EQ(SignedPercent(-0.5), "-50.0 %");
  EXPECT_EQ(SignedPercent(-0.0001), "0.0 %");
}

}  // namespace
}  // namespace adaptdl
