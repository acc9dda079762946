#include "cluster/sim/api_server.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "api/json.h"
#include "cluster/sim/sim_testing.h"
#include "nlohmann/json.hpp"

namespace adaptdl {
namespace {

using nlohmann::json;
using std::chrono::seconds;
using ::testing::ElementsAre;
using testing::JobNamed;
using testing::JobRef;
using testing::MainPatch;
using testing::Parsed;
using testing::PodNamed;
using testing::PodRef;
using testing::StatusPatch;

const Query kPods{.kind = Kind::kPod, .name_space = "", .labels = {}};

class SimApiServerTest : public ::testing::Test {
 protected:
  // What came of a call, in a word.
  template <typename T>
  static std::string Outcome(const Result<T>& result) {
    return result ? "Ok" : std::string(ToString(result.error().code));
  }
  std::string Create(Kind kind, const std::string& text) {
    return Outcome(server_.Create(kind, Parsed(text), now_));
  }
  std::string Apply(const Patch& patch) { return Outcome(server_.Apply(patch, now_)); }
  std::string Delete(const Ref& ref, std::optional<seconds> grace = {}, Precondition precondition = {}) {
    return Outcome(server_.Delete({ref, std::move(precondition), grace}, now_));
  }
  json ValueOf(const Ref& ref) { return server_.Get(ref).value()->document.value(); }
  json At(const Ref& ref, const std::string& pointer) {
    return ValueOf(ref).value(json::json_pointer(pointer), json());
  }
  std::string Version(const Ref& ref) { return At(ref, "/metadata/resourceVersion"); }

  // "ADDED a 2" and so on, of everything since.
  std::vector<std::string> Since(const Query& query, std::uint64_t version) {
    std::vector<std::string> lines;
    const Result<std::vector<WatchEvent>> events = server_.Since(query, version);
    for (const WatchEvent& event : *events) {
      const char* types[] = {"ADDED ", "MODIFIED ", "DELETED ", "BOOKMARK "};
      lines.push_back(types[static_cast<int>(event.type)] + MetadataOf(*event.object).name + " " +
                      MetadataOf(*event.object).resource_version);
      EXPECT_EQ(event.resource_version, MetadataOf(*event.object).resource_version);
    }
    return lines;
  }

  SimApiServer server_{{.history = 100, .age = seconds(300)}};
  Time now_ = ParseTime("2026-01-01T00:00:00.7Z").value();
};

TEST_F(SimApiServerTest, FillsInWhatIsItsOwnToSay) {
  const json job =
      server_
          .Create(Kind::kJob, Parsed(R"({"metadata": {"name": "a", "namespace": "d", "uid": "mine",
      "generation": 7, "deletionTimestamp": "2026-01-01T00:00:00Z"}, "spec": {"template": {}},
      "status": {"phase": "Running"}})"),
                  now_)
          .value()
          ->document.value();
  EXPECT_EQ(job["metadata"]["creationTimestamp"], "2026-01-01T00:00:00Z");
  EXPECT_EQ(job["metadata"]["generation"], 1);
  EXPECT_EQ(job["metadata"]["uid"].get<std::string>().size(), 36U);
  EXPECT_NE(job["metadata"]["uid"], "mine");
  EXPECT_FALSE(job["metadata"].contains("deletionTimestamp"));
  EXPECT_FALSE(job.contains("status"));
  EXPECT_EQ(server_.Create(Kind::kPod, PodNamed("p"), now_).value()->document.value()["status"]["phase"],
            "Pending");
  // A kubelet registers its node with its status.
  const auto node =
      server_.Create(Kind::kNode, Parsed(R"({"metadata": {"name": "n"}, "status": {"phase": "x"}})"), now_);
  EXPECT_EQ(node.value()->document.value()["status"]["phase"], "x");
}

TEST_F(SimApiServerTest, RefusesWhatTheRealOneRefuses) {
  const std::string long_name(64, 'a');
  const std::string pod_spec = R"("spec": {"containers": [{"name": "m", "image": "i"}]}})";
  const auto job = [](const std::string& name, const std::string& spec) {
    return R"({"metadata": {"namespace": "d", "name": ")" + name + R"("}, "spec": )" + spec + "}";
  };
  const struct {
    Kind kind;
    std::string object;
    std::string outcome;
  } cases[] = {
      {Kind::kJob, "{}", "Invalid"},
      {Kind::kJob, R"({"metadata": {"name": "a"}, "spec": {"template": {}}})", "Invalid"},
      {Kind::kJob,
       R"({"kind": "Pod", "metadata": {"name": "a", "namespace": "d"}, "spec": {"template": {}}})",
       "Invalid"},
      {Kind::kJob, job("UPPER", R"({"template": {}})"), "Invalid"},
      {Kind::kJob, job(long_name, R"({"template": {}})"), "Invalid"},
      {Kind::kJob, job("a", "{}"), "Invalid"},
      {Kind::kJob, job("a", R"({"template": "text"})"), "Invalid"},
      {Kind::kJob, job("a", R"({"template": {}, "minReplicas": -1})"), "Invalid"},
      {Kind::kJob, job("a", R"({"template": {}, "minReplicas": "1"})"), "Invalid"},
      {Kind::kJob, job("a", R"({"template": {}, "maxReplicas": 0})"), "Invalid"},
      {Kind::kJob, job("a", R"({"template": {}, "startTimeoutSeconds": -1})"), "Invalid"},
      {Kind::kJob, job("a", R"({"template": {}, "backoffLimit": "1"})"), "Invalid"},
      {Kind::kJob, job("a", R"({"template": {}, "ttlSecondsAfterFinished": 0.5})"), "Invalid"},
      {Kind::kJob, job("a", R"({"template": {}, "activeDeadlineSeconds": 0})"), "Invalid"},
      {Kind::kJob, job("a", R"({"template": {}, "suspend": "true"})"), "Invalid"},
      {Kind::kJob, job("b", R"({"template": {}, "minReplicas": 2.0, "backoffLimit": 1.0, "suspend": true})"),
       "Ok"},
      {Kind::kJob, job("c", R"({"template": {}, "minReplicas": 2, "maxReplicas": 1})"), "Ok"},
      {Kind::kJob, job("c", R"({"template": {}})"), "AlreadyExists"},
      {Kind::kPod, R"({"metadata": {"namespace": "d", "name": "p"}, "spec": {"containers": []}})", "Invalid"},
      {Kind::kPod,
       R"({"metadata": {"namespace": "d", "name": "p"}, "spec": {"containers": [{"name": "m"}]}})",
       "Invalid"},
      {Kind::kPod, R"({"metadata": {"namespace": "d", "name": "p", "labels": {"a": "b c"}}, )" + pod_spec,
       "Invalid"},
      {Kind::kPod, R"({"metadata": {"namespace": "d", "name": "p", "labels": {"a": 1}}, )" + pod_spec,
       "Invalid"},
      {Kind::kPod, R"({"metadata": {"namespace": "d", "name": "p", "labels": {"a/b/c": ""}}, )" + pod_spec,
       "Invalid"},
      {Kind::kPod, R"({"metadata": {"namespace": "d", "name": "p", "resourceVersion": "1"}, )" + pod_spec,
       "Invalid"},
      {Kind::kPod,
       R"({"metadata": {"namespace": "d", "name": "p", "ownerReferences": [{"kind": "A", "name": "b"}]}, )" +
           pod_spec,
       "Invalid"},
      {Kind::kPod,
       R"({"metadata": {"namespace": "d", "name": ")" + long_name + R"(", "labels": {"x.y/z": ""}}, )" +
           pod_spec,
       "Ok"},
      {Kind::kNode, R"({"metadata": {"name": "n", "namespace": "d"}})", "Ok"},
      {Kind::kNode, R"({"metadata": {"name": "n"}})", "AlreadyExists"},
      {Kind::kLease, R"({"metadata": {"name": "l", "namespace": "d"}})", "Ok"},
      {Kind::kLease, R"({"metadata": {"name": "m", "namespace": "d"}, "spec": {"leaseDurationSeconds": 0}})",
       "Invalid"},
      {Kind::kJob, job("big", R"({"template": {"a": ")" + std::string(1'500'000, 'x') + R"("}})"), "Invalid"},
  };
  for (const auto& one : cases)
    EXPECT_EQ(Create(one.kind, one.object), one.outcome) << one.object.substr(0, 300);
}

TEST_F(SimApiServerTest, PatchesOnlyThePartThatIsMeant) {
  ASSERT_TRUE(server_.Create(Kind::kJob, JobNamed("a"), now_));
  const Ref a = JobRef("a");
  const char* both =
      R"({"metadata": {"labels": {"l": "1"}}, "spec": {"minReplicas": 3}, "status": {"group": 1}})";
  EXPECT_EQ(Apply(StatusPatch(a, both)), "Ok");
  EXPECT_EQ(At(a, "/status/group"), 1);
  EXPECT_EQ(At(a, "/spec/minReplicas"), json());
  EXPECT_EQ(At(a, "/metadata/labels/l"), json());
  EXPECT_EQ(At(a, "/metadata/generation"), 1);
  EXPECT_EQ(Apply(MainPatch(
                a, R"({"metadata": {"labels": {"l": "1"}}, "spec": {"minReplicas": 3}, "status": null})")),
            "Ok");
  EXPECT_EQ(At(a, "/status/group"), 1);
  EXPECT_EQ(At(a, "/spec/minReplicas"), 3);
  EXPECT_EQ(At(a, "/metadata/generation"), 2);
  EXPECT_EQ(Apply(MainPatch(a, R"({"metadata": {"labels": null}})")), "Ok");
  EXPECT_EQ(At(a, "/metadata/generation"), 2) << "only the spec counts";

  // The status of Kubernetes' own kinds takes labels with it.
  ASSERT_TRUE(server_.Create(Kind::kPod, PodNamed("p"), now_));
  EXPECT_EQ(
      Apply(StatusPatch(PodRef("p"), R"({"metadata": {"labels": {"l": "1"}}, "spec": {"nodeName": "n"}})")),
      "Ok");
  EXPECT_EQ(At(PodRef("p"), "/metadata/labels/l"), "1");
  EXPECT_EQ(At(PodRef("p"), "/spec/nodeName"), json());
  EXPECT_EQ(Create(Kind::kLease, R"({"metadata": {"name": "l", "namespace": "default"}})"), "Ok");
  EXPECT_EQ(Apply(StatusPatch({Kind::kLease, {"default", "l"}}, "{}")), "NotFound");
  EXPECT_EQ(Create(Kind::kEvent, R"({"metadata": {"name": "e", "namespace": "default"}})"), "Ok");
  EXPECT_EQ(Apply(StatusPatch({Kind::kEvent, {"default", "e"}}, "{}")), "NotFound");
}

TEST_F(SimApiServerTest, APatchThatChangesNothingLeavesTheVersion) {
  ASSERT_TRUE(server_.Create(Kind::kPod, PodNamed("p", R"(, "labels": {"a": "b"})"), now_));
  const std::string version = Version(PodRef("p"));
  const std::uint64_t all = server_.version();
  for (const char* patch :
       {"{}", R"({"metadata": {"labels": {"a": "b", "c": null}}})", R"({"status": {"phase": "x"}})",
        R"({"metadata": {"creationTimestamp": "2020-01-01T00:00:00Z"}})"}) {
    EXPECT_EQ(Apply(MainPatch(PodRef("p"), patch)), "Ok");
  }
  EXPECT_EQ(Version(PodRef("p")), version);
  EXPECT_EQ(server_.version(), all);
}

TEST_F(SimApiServerTest, RefusesPatchesThatTheRealOneRefuses) {
  ASSERT_TRUE(server_.Create(Kind::kPod, PodNamed("p"), now_));
  const std::string version = Version(PodRef("p"));
  const struct {
    const char* patch;
    std::string resource_version;
    const char* outcome;
  } cases[] = {
      {R"({"metadata": {"name": "q"}})", {}, "Invalid"},
      {R"({"metadata": {"namespace": "q"}})", {}, "Invalid"},
      {R"({"metadata": {"uid": "q"}})", {}, "Invalid"},
      {R"({"metadata": null})", {}, "Invalid"},
      {R"({"metadata": {"resourceVersion": "1"}})", {}, "Conflict"},
      {R"({"metadata": {"deletionTimestamp": "2026-01-01T00:00:00Z"}})", {}, "Invalid"},
      {R"({"metadata": {"labels": {"a": "b c"}}})", {}, "Invalid"},
      {R"({"spec": {"nodeName": "n"}})", {}, "Invalid"},
      {R"({"spec": {"containers": [{"name": "main", "image": "other"}]}})", {}, "Ok"},
      {R"({})", "1", "Conflict"},
      {R"({"metadata": {"labels": {"a": "b"}}})", version, "Conflict"},
      {R"({"metadata": {"labels": {"a": "b"}}})", "", "Ok"},
  };
  for (const auto& one : cases) {
    EXPECT_EQ(Apply(MainPatch(PodRef("p"), one.patch, one.resource_version)), one.outcome) << one.patch;
  }
  EXPECT_EQ(Apply(MainPatch(PodRef("none"), "{}")), "NotFound");
}

TEST_F(SimApiServerTest, ABoundPodEndsInItsOwnTime) {
  ASSERT_TRUE(server_.Create(Kind::kPod, PodNamed("p", "", R"(, "nodeName": "n")"), now_));
  const std::uint64_t start = server_.version();
  const auto left = [&] { return At(PodRef("p"), "/metadata/deletionGracePeriodSeconds"); };
  EXPECT_EQ(Delete(PodRef("p"), seconds(20)), "Ok");
  EXPECT_EQ(At(PodRef("p"), "/metadata/deletionTimestamp"), "2026-01-01T00:00:20Z");
  now_ += seconds(1);
  EXPECT_EQ(Delete(PodRef("p"), seconds(25)), "Ok");
  EXPECT_EQ(Delete(PodRef("p")), "Ok");
  EXPECT_EQ(left(), 20) << "a grace only gets shorter";
  EXPECT_EQ(Delete(PodRef("p"), seconds(5)), "Ok");
  EXPECT_EQ(At(PodRef("p"), "/metadata/deletionTimestamp"), "2026-01-01T00:00:05Z");
  EXPECT_EQ(Apply(StatusPatch(PodRef("p"), R"({"status": {"phase": "Failed"}})")), "Ok");
  EXPECT_EQ(Delete(PodRef("p")), "Ok");
  EXPECT_EQ(left(), 5);
  EXPECT_EQ(Delete(PodRef("p"), seconds(0)), "Ok");
  EXPECT_EQ(Outcome(server_.Get(PodRef("p"))), "NotFound");
  EXPECT_THAT(Since(kPods, start),
              ElementsAre("MODIFIED p 3", "MODIFIED p 4", "MODIFIED p 5", "MODIFIED p 6", "DELETED p 7"));
}

TEST_F(SimApiServerTest, APodThatDoesNotRunGoesAtOnce) {
  ASSERT_TRUE(server_.Create(Kind::kPod, PodNamed("unbound"), now_));
  ASSERT_TRUE(server_.Create(Kind::kPod, PodNamed("ended", "", R"(, "nodeName": "n")"), now_));
  ASSERT_TRUE(server_.Apply(StatusPatch(PodRef("ended"), R"({"status": {"phase": "Succeeded"}})"), now_));
  EXPECT_EQ(Delete(PodRef("unbound")), "Ok");
  EXPECT_EQ(Delete(PodRef("ended"), seconds(30)), "Ok");
  EXPECT_TRUE(server_.List(kPods, 0, "")->objects.empty());
  EXPECT_EQ(Delete(PodRef("ended")), "NotFound");
}

TEST_F(SimApiServerTest, ADefaultGraceIsThePodsOwn) {
  ASSERT_TRUE(server_.Create(Kind::kPod, PodNamed("a", "", R"(, "nodeName": "n")"), now_));
  ASSERT_TRUE(server_.Create(
      Kind::kPod, PodNamed("b", "", R"(, "nodeName": "n", "terminationGracePeriodSeconds": 7)"), now_));
  EXPECT_EQ(Delete(PodRef("a")), "Ok");
  EXPECT_EQ(Delete(PodRef("b")), "Ok");
  EXPECT_EQ(At(PodRef("a"), "/metadata/deletionGracePeriodSeconds"), 30);
  EXPECT_EQ(At(PodRef("b"), "/metadata/deletionGracePeriodSeconds"), 7);
}

TEST_F(SimApiServerTest, AnObjectWithFinalizersWaitsForThem) {
  ASSERT_TRUE(server_.Create(Kind::kJob, JobNamed("a"), now_));
  const Ref a = JobRef("a");
  EXPECT_EQ(Apply(MainPatch(a, R"({"metadata": {"finalizers": ["x.y/z"]}})")), "Ok");
  EXPECT_EQ(Delete(a), "Ok");
  EXPECT_EQ(At(a, "/metadata/deletionGracePeriodSeconds"), 0);
  EXPECT_EQ(At(a, "/metadata/generation"), 2);
  const std::string version = Version(a);
  EXPECT_EQ(Delete(a, seconds(5)), "Ok");
  EXPECT_EQ(Version(a), version);
  EXPECT_EQ(Apply(MainPatch(a, R"({"metadata": {"finalizers": ["x.y/z", "new/one"]}})")), "Invalid");
  EXPECT_EQ(Apply(StatusPatch(a, R"({"status": {"phase": "Failed"}})")), "Ok");
  EXPECT_EQ(Apply(MainPatch(a, R"({"metadata": {"finalizers": []}})")), "Ok");
  EXPECT_EQ(Outcome(server_.Get(a)), "NotFound");
}

TEST_F(SimApiServerTest, DeletesOnlyWhatIsMeant) {
  ASSERT_TRUE(server_.Create(Kind::kJob, JobNamed("a"), now_));
  EXPECT_EQ(Delete(JobRef("a"), {}, {.uid = "x", .resource_version = {}}), "Conflict");
  EXPECT_EQ(Delete(JobRef("a"), {}, {.uid = {}, .resource_version = "1"}), "Conflict");
  EXPECT_EQ(Delete(JobRef("a"), {}, {.uid = {}, .resource_version = Version(JobRef("a"))}), "Ok");
}

TEST_F(SimApiServerTest, CollectsWhatHasLostAllOfItsOwners) {
  ASSERT_TRUE(server_.Create(Kind::kJob, JobNamed("a"), now_));
  const std::string uid = At(JobRef("a"), "/metadata/uid");
  const auto owned = [](const std::string& kind, const std::string& owner_uid) {
    return R"(, "ownerReferences": [{"apiVersion": "v1", "kind": ")" + kind + R"(", "name": "a", "uid": ")" +
           owner_uid + "\"}]";
  };
  ASSERT_TRUE(server_.Create(Kind::kPod, PodNamed("mine", owned("AdaptDLJob", uid)), now_));
  ASSERT_TRUE(
      server_.Create(Kind::kPod, PodNamed("bound", owned("AdaptDLJob", uid), R"(, "nodeName": "n")"), now_));
  ASSERT_TRUE(server_.Create(Kind::kPod, PodNamed("foreign", owned("ReplicaSet", "1")), now_));
  ASSERT_TRUE(server_.Create(Kind::kPod, PodNamed("free"), now_));
  EXPECT_FALSE(server_.has_garbage());
  ASSERT_TRUE(server_.Create(Kind::kPod, PodNamed("late", owned("AdaptDLJob", "of-one-before")), now_));
  EXPECT_THAT(server_.Collect(now_), ElementsAre(PodRef("late")));
  EXPECT_EQ(Delete(JobRef("a")), "Ok");
  ASSERT_TRUE(server_.Create(Kind::kJob, JobNamed("a"), now_)) << "one of that name is no owner";
  EXPECT_TRUE(server_.has_garbage());
  EXPECT_THAT(server_.Collect(now_), ElementsAre(PodRef("bound"), PodRef("mine")));
  EXPECT_EQ(At(PodRef("bound"), "/metadata/deletionGracePeriodSeconds"), 30);
  EXPECT_FALSE(server_.has_garbage());
}

TEST_F(SimApiServerTest, PagesShowOneVersion) {
  for (const char* name : {"a", "b", "c", "d", "e"})
    ASSERT_TRUE(server_.Create(Kind::kPod, PodNamed(name), now_));
  std::vector<std::string> seen;
  std::string token;
  std::string version;
  do {
    const Page page = server_.List(kPods, 2, token).value();
    if (version.empty()) version = page.resource_version;
    EXPECT_EQ(page.resource_version, version);
    for (const Object& object : page.objects) seen.push_back(MetadataOf(object).name);
    token = page.next;
    (void)server_.Create(Kind::kPod, PodNamed("bb"), now_);
    (void)server_.Delete({.ref = PodRef("e")}, now_);
  } while (!token.empty());
  EXPECT_THAT(seen, ElementsAre("a", "b", "c", "d", "e"));
  const std::string next = server_.List(kPods, 2, "").value().next;
  server_.ForgetHistory();
  EXPECT_EQ(Outcome(server_.List(kPods, 2, next)), "Ok") << "the present is always there";
  ASSERT_TRUE(server_.Create(Kind::kPod, PodNamed("f"), now_));
  server_.ForgetHistory();
  EXPECT_EQ(Outcome(server_.List(kPods, 2, next)), "Gone");
  for (const char* bad : {"x", "1", "1:", ":a/b", "/:"})
    EXPECT_EQ(Outcome(server_.List(kPods, 2, bad)), "Invalid") << bad;
}

TEST_F(SimApiServerTest, ListsByNamespaceAndLabels) {
  ASSERT_TRUE(server_.Create(Kind::kJob, JobNamed("a", "one"), now_));
  ASSERT_TRUE(server_.Create(Kind::kJob, JobNamed("a", "two"), now_));
  ASSERT_TRUE(server_.Apply(
      MainPatch({Kind::kJob, {"two", "a"}}, R"({"metadata": {"labels": {"x": "1", "y": "2"}}})"), now_));
  const auto count = [&](const Query& query) { return server_.List(query, 0, "")->objects.size(); };
  EXPECT_EQ(count({Kind::kJob, "", {}}), 2U);
  EXPECT_EQ(count({Kind::kJob, "one", {}}), 1U);
  EXPECT_EQ(count({Kind::kJob, "", {{"x", "1"}}}), 1U);
  EXPECT_EQ(count({Kind::kJob, "", {{"x", "1"}, {"y", "2"}}}), 1U);
  EXPECT_EQ(count({Kind::kJob, "", {{"x", "1"}, {"y", "1"}}}), 0U);
  EXPECT_EQ(count({Kind::kJob, "one", {{"x", "1"}}}), 0U);
}

TEST_F(SimApiServerTest, AWatchSeesObjectsComeAndGoByTheirLabels) {
  const std::uint64_t start = server_.version();
  ASSERT_TRUE(server_.Create(Kind::kPod, PodNamed("s", R"(, "labels": {"a": "b"})"), now_));
  ASSERT_TRUE(server_.Apply(MainPatch(PodRef("s"), R"({"metadata": {"labels": {"a": "c"}}})"), now_));
  ASSERT_TRUE(server_.Apply(MainPatch(PodRef("s"), R"({"metadata": {"labels": {"q": "1"}}})"), now_));
  ASSERT_TRUE(server_.Apply(MainPatch(PodRef("s"), R"({"metadata": {"labels": {"a": "b"}}})"), now_));
  ASSERT_TRUE(server_.Delete({.ref = PodRef("s")}, now_));
  EXPECT_THAT(Since({Kind::kPod, "", {{"a", "b"}}}, start),
              ElementsAre("ADDED s 2", "DELETED s 3", "ADDED s 5", "MODIFIED s 6", "DELETED s 7"));
  const auto events = server_.Since({Kind::kPod, "", {{"a", "b"}}}, start).value();
  EXPECT_EQ(MetadataOf(*events[1].object).labels.at("a"), "b") << "as it was when it last matched";
}

TEST_F(SimApiServerTest, ForgetsByCountAndByAge) {
  const std::uint64_t start = server_.version();
  ASSERT_TRUE(server_.Create(Kind::kPod, PodNamed("a"), now_));
  EXPECT_EQ(Outcome(server_.Since(kPods, start)), "Ok");
  now_ += seconds(301);
  ASSERT_TRUE(server_.Create(Kind::kPod, PodNamed("b"), now_));
  EXPECT_EQ(Outcome(server_.Since(kPods, start)), "Gone");
  const std::uint64_t later = server_.version();
  for (int i = 0; i < 101; ++i) {
    EXPECT_EQ(Outcome(server_.Since(kPods, later)), "Ok") << i;
    ASSERT_TRUE(server_.Apply(
        MainPatch(PodRef("a"), R"({"metadata": {"labels": {"n": ")" + std::to_string(i) + "\"}}}"), now_));
  }
  EXPECT_EQ(Outcome(server_.Since(kPods, later)), "Gone");
  EXPECT_EQ(Outcome(server_.Since({Kind::kJob, "", {}}, start)), "Ok") << "each kind for itself";
}

TEST_F(SimApiServerTest, BindsAPodOnce) {
  ASSERT_TRUE(server_.Create(Kind::kPod, PodNamed("a"), now_));
  EXPECT_EQ(Outcome(server_.Bind({"default", "a"}, "n", now_)), "Ok");
  EXPECT_EQ(Outcome(server_.Bind({"default", "a"}, "m", now_)), "Conflict");
  EXPECT_EQ(Outcome(server_.Bind({"default", "b"}, "m", now_)), "NotFound");
}

}  // namespace
}  // namespace adaptdl
