#include "api/profile.h"

#include <gtest/gtest.h>

#include <string>

namespace adaptdl {
namespace {

const std::vector<Observation> kExpected = {{1, 1, 32, 0.5, 0.75}, {2, 8, 64, 1, 2}};

TEST(ProfileTest, ReadsAListOfObjects) {
  const auto profile = ParseProfile(R"([
    {"num_nodes": 1, "num_replicas": 1, "atomic_bsz": 32, "accum_step_time": 0.5, "optim_step_time": 0.75, "x": 1},
    {"num_nodes": 2, "num_replicas": 8, "atomic_bsz": 64, "accum_step_time": 1, "optim_step_time": 2}])");
  ASSERT_TRUE(profile) << profile.error().message;
  EXPECT_EQ(*profile, kExpected);
}

TEST(ProfileTest, ReadsAnObjectOfLists) {
  const auto profile = ParseProfile(R"({"num_nodes": [1, 2], "num_replicas": [1, 8], "atomic_bsz": [32, 64],
    "accum_step_time": [0.5, 1], "optim_step_time": [0.75, 2], "noise": 0.02, "fitted": [1]})");
  ASSERT_TRUE(profile) << profile.error().message;
  EXPECT_EQ(*profile, kExpected);
}

TEST(ProfileTest, MayBeEmpty) {
  EXPECT_TRUE(ParseProfile("[]")->empty());
  EXPECT_TRUE(ParseProfile(R"({"num_nodes": [], "num_replicas": [], "atomic_bsz": [], "accum_step_time": [],
                               "optim_step_time": []})")
                  ->empty());
}

std::string Row(const std::string& field, const std::string& value) {
  std::string row = "{";
  for (const char* name : {"num_nodes", "num_replicas", "atomic_bsz", "accum_step_time", "optim_step_time"}) {
    row += std::string(row.size() > 1 ? ", " : "") + "\"" + name + "\": " + (name == field ? value : "4");
  }
  return row + "}";
}

TEST(ProfileTest, SaysWhichValueIsWrong) {
  struct Case {
    const char* field;
    const char* value;
    const char* message;
  };
  const Case cases[] = {
      {"num_nodes", "0", "[1].num_nodes: must be between 1 and 9007199254740992, found 0"},
      {"num_nodes", "5", "[1].num_replicas: 4 is below num_nodes, 5"},
      {"num_replicas", "3", "[1].num_replicas: 3 is below num_nodes, 4"},
      {"num_replicas", "4.5", "[1].num_replicas: expected an integer, found the number 4.5"},
      {"num_replicas", "null", "[1].num_replicas: missing"},
      {"atomic_bsz", "0", "[1].atomic_bsz: must be between 1 and 9007199254740992, found 0"},
      {"atomic_bsz", "\"4\"", "[1].atomic_bsz: expected an integer, found text"},
      {"accum_step_time", "0", "[1].accum_step_time: must be above 0, found 0"},
      {"accum_step_time", "-1", "[1].accum_step_time: must be above 0, found -1"},
      {"optim_step_time", "0.0", "[1].optim_step_time: must be above 0, found 0.0"},
      {"optim_step_time", "true", "[1].optim_step_time: expected a number, found a boolean"},
  };
  for (const auto& [field, value, message] : cases) {
    const auto profile = ParseProfile("[" + Row("", "") + ", " + Row(field, value) + "]");
    ASSERT_FALSE(profile) << message;
    EXPECT_EQ(profile.error().message, message);
  }
  EXPECT_FALSE(ParseProfile("[" + Row("optim_step_time", "NaN") + "]"));
  EXPECT_FALSE(ParseProfile("[" + Row("optim_step_time", "1e999") + "]"));
}

TEST(ProfileTest, RefusesListsThatDoNotFit) {
  EXPECT_EQ(ParseProfile(R"({"num_nodes": [1, 1], "num_replicas": [1]})").error().message,
            "num_replicas: the lists differ in length: 1 here, 2 in num_nodes");
  EXPECT_EQ(ParseProfile(R"({"num_nodes": [1]})").error().message, "num_replicas: expected a list");
  EXPECT_EQ(ParseProfile(R"({"num_nodes": 1})").error().message, "num_nodes: expected a list");
  EXPECT_EQ(ParseProfile(R"({"num_nodes": [1], "num_replicas": [1], "atomic_bsz": [1], "accum_step_time": [0],
                             "optim_step_time": [1]})")
                .error()
                .message,
            "[0].accum_step_time: must be above 0, found 0");
  EXPECT_EQ(ParseProfile("3").error().message, "expected a list, found the number 3");
  EXPECT_EQ(ParseProfile("[3]").error().message, "[0]: expected an object, found the number 3");
}

}  // namespace
}  // namespace adaptdl
