#include "runtime/environment.h"

#include <cstdlib>

#include "gtest/gtest.h"

namespace adaptdl {
namespace {

TEST(Environment, CopiesTheVariablesOfTheProcess) {
  // NOLINTBEGIN(concurrency-mt-unsafe): this test has one thread.
  ASSERT_EQ(setenv("ADAPTDL_ENVIRONMENT_TEST", "a=b", 1), 0);
  const Environment environment = ProcessEnvironment();
  ASSERT_EQ(unsetenv("ADAPTDL_ENVIRONMENT_TEST"), 0);
  // NOLINTEND(concurrency-mt-unsafe)
  EXPECT_EQ(environment("ADAPTDL_ENVIRONMENT_TEST"), "a=b");
  EXPECT_EQ(environment("ADAPTDL_ENVIRONMENT_TEST_UNSET"), std::nullopt);
}

}  // namespace
}  // namespace adaptdl
