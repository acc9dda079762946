#include "cluster/kube/resource_path.h"

#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace adaptdl {
namespace {

using std::chrono::seconds;
using ::testing::HasSubstr;

TEST(ResourcePath, Objects) {
  EXPECT_EQ(ObjectPath({Kind::kJob, {"ns", "a"}}), "/apis/adaptdl.petuum.com/v1/namespaces/ns/adaptdljobs/a");
  EXPECT_EQ(ObjectPath({Kind::kPod, {"ns", "a.b"}}), "/api/v1/namespaces/ns/pods/a.b");
  EXPECT_EQ(ObjectPath({Kind::kNode, {"", "n1"}}), "/api/v1/nodes/n1");
  EXPECT_EQ(ObjectPath({Kind::kLease, {"ns", "a"}}), "/apis/coordination.k8s.io/v1/namespaces/ns/leases/a");
  EXPECT_EQ(ObjectPath({Kind::kEvent, {"ns", "a.17"}}), "/api/v1/namespaces/ns/events/a.17");
  EXPECT_EQ(CollectionPath(Kind::kEvent, "ns"), "/api/v1/namespaces/ns/events");
  EXPECT_EQ(ObjectPath({Kind::kPod, {"ns", "a?b=c&\xc3\xa9"}}),
            "/api/v1/namespaces/ns/pods/a%3Fb%3Dc%26%C3%A9");
  EXPECT_EQ(CollectionPath(Kind::kPod, "ns"), "/api/v1/namespaces/ns/pods");
  EXPECT_EQ(TemplateCheckTarget("ns"), "/api/v1/namespaces/ns/podtemplates?dryRun=All");
}

TEST(ResourcePath, RefusesWhatWouldLeadElsewhere) {
  for (const std::string name : {"", ".", "..", "a/b", "../a", "a%2fb", "a\nb", "a b"}) {
    EXPECT_FALSE(ObjectPath({Kind::kPod, {"ns", name}})) << name;
    EXPECT_FALSE(ObjectPath({Kind::kPod, {name, "a"}})) << name;
    EXPECT_FALSE(CollectionPath(Kind::kPod, name)) << name;
    EXPECT_FALSE(TemplateCheckTarget(name)) << name;
  }
  EXPECT_THAT(ObjectPath({Kind::kNode, {"ns", "a"}}).error().message, HasSubstr("a Node has none"));
  EXPECT_FALSE(ListTarget({.kind = Kind::kPod, .name_space = ".."}, 0, ""));
  EXPECT_FALSE(ListTarget({.kind = Kind::kPod, .labels = {{"a,b", "c"}}}, 0, ""));
  EXPECT_FALSE(ListTarget({.kind = Kind::kPod, .labels = {{"a", "c=d"}}}, 0, ""));
  EXPECT_FALSE(ListTarget({.kind = Kind::kPod, .labels = {{"", "c"}}}, 0, ""));
  EXPECT_FALSE(WatchTarget({}, "", seconds(1)));
  EXPECT_FALSE(WatchTarget({}, "0", seconds(1)));
}

TEST(ResourcePath, Queries) {
  EXPECT_EQ(ListTarget({.kind = Kind::kPod}, 0, ""), "/api/v1/pods");
  EXPECT_EQ(ListTarget({.kind = Kind::kNode, .labels = {{"b/c", "1"}, {"a", ""}}}, 50, "x+/="),
            "/api/v1/nodes?labelSelector=a%3D%2Cb%2Fc%3D1&limit=50&continue=x%2B%2F%3D");
  EXPECT_EQ(
      WatchTarget({.kind = Kind::kPod, .name_space = "ns"}, "17", seconds(300)),
      "/api/v1/namespaces/ns/pods?watch=1&allowWatchBookmarks=true&timeoutSeconds=300&resourceVersion=17");
}

}  // namespace
}  // namespace adaptdl
