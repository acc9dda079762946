#include "api/metadata.h"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <string>

#include "api/generators.h"
#include "api/json.h"
#include "api/reader.h"
#include "nlohmann/json.hpp"

namespace adaptdl {
namespace {

using nlohmann::json;

TEST(MetadataTest, ReadsWhatKubernetesWrites) {
  const json given = ParseJson(R"({
    "name": "job-1", "generateName": "job-", "namespace": "default", "uid": "u-1", "resourceVersion": "42",
    "generation": 3, "labels": {"adaptdl": "true", "a.b/c": ""}, "annotations": null,
    "creationTimestamp": "2026-01-01T00:00:00Z", "deletionTimestamp": null, "finalizers": ["x"],
    "ownerReferences": [
      {"apiVersion": "v1", "kind": "ConfigMap", "name": "c", "uid": "u-2"},
      {"apiVersion": "adaptdl.petuum.com/v1", "kind": "AdaptDLJob", "name": "j", "uid": "u-3", "controller": true}]
  })")
                         .value();
  Metadata expected;
  expected.name = "job-1";
  expected.name_space = "default";
  expected.uid = "u-1";
  expected.resource_version = "42";
  expected.generation = 3;
  expected.labels = {{"adaptdl", "true"}, {"a.b/c", ""}};
  expected.creation_timestamp = ParseTime("2026-01-01T00:00:00Z").value();
  expected.owner = Owner{"adaptdl.petuum.com/v1", "AdaptDLJob", "j", "u-3"};
  const Result<Metadata> metadata = FromJson<Metadata>(given);
  ASSERT_TRUE(metadata) << metadata.error().message;
  EXPECT_EQ(*metadata, expected);
}

TEST(MetadataTest, NamesTheFieldThatIsWrong) {
  const auto message = [](const char* text) {
    return FromJson<Metadata>(ParseJson(text).value(), "metadata").error().message;
  };
  EXPECT_EQ(message(R"({"name": 3})"), "metadata.name: expected text, found the number 3");
  EXPECT_EQ(message(R"({"resourceVersion": 42})"),
            "metadata.resourceVersion: expected text, found the number 42");
  EXPECT_EQ(message(R"({"generation": "3"})"), "metadata.generation: expected an integer, found text");
  EXPECT_EQ(message(R"({"labels": {"adaptdl/rank": 0}})"),
            "metadata.labels[adaptdl/rank]: expected text, found the number 0");
  EXPECT_EQ(message(R"({"labels": []})"), "metadata.labels: expected an object, found a list");
  EXPECT_EQ(message(R"({"creationTimestamp": "today"})"),
            "metadata.creationTimestamp: 'today' is not a time as in 2026-01-31T12:00:00Z");
  EXPECT_EQ(message(R"({"ownerReferences": [{"controller": "yes"}]})"),
            "metadata.ownerReferences[0].controller: expected a boolean, found text");
  EXPECT_EQ(message(R"({"ownerReferences": [{"controller": true, "name": "x"}]})"),
            "metadata.ownerReferences[0].kind: missing");
}

TEST(MetadataTest, KnowsTheNamesAJobMayHave) {
  for (const char* name : {"a", "0", "job-1", "a.b", "a-b.c-d", "a--b"}) EXPECT_TRUE(IsJobName(name)) << name;
  for (const char* name :
       {"", "-", ".", "-a", "a-", ".a", "a.", "a..b", "a-.b", "a.-b", "A", "a_b", "a b", "ä"}) {
    EXPECT_FALSE(IsJobName(name)) << name;
  }
  EXPECT_TRUE(IsJobName(std::string(63, 'a')));
  EXPECT_FALSE(IsJobName(std::string(64, 'a')));
}

TEST(MetadataTest, HasNoGenerationWhereTheKindHasNone) {
  EXPECT_EQ(FromJson<Metadata>(json::object())->generation, 0);
  EXPECT_FALSE(Encode(Metadata()).contains("generation"));
}

RC_GTEST_PROP(MetadataTest, ReadsWhatItWrites, ()) {
  const Metadata metadata = generate::SomeMetadata();
  RC_ASSERT(FromJson<Metadata>(Encode(metadata)).value() == metadata);
}

}  // namespace
}  // namespace adaptdl
