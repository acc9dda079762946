// Objects: create, get, list, apply, delete.
#include <gmock/gmock.h>

#include "api/json.h"
#include "nlohmann/json.hpp"
#include "tests/conformance/conformance.h"

namespace adaptdl {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

ErrorCode CodeOf(const auto& result) {
  EXPECT_FALSE(result.has_value()) << "expected a failure";
  return result ? ErrorCode::kInternal : result.error().code;
}

std::vector<std::string> Names(const Page& page) {
  std::vector<std::string> names;
  for (const Object& object : page.objects) names.push_back(MetadataOf(object).name);
  return names;
}

TEST_P(Conformance, NewObjectHasIdentity) {
  const Result<Object> created =
      Create(Kind::kJob, JobJson("a", R"("labels": {"x": "1"})", R"("minReplicas": 2)"));
  ASSERT_TRUE(created.has_value()) << created.error().message;
  const auto& job = std::get<Job>(*created);
  EXPECT_EQ(job.metadata.name, "a");
  EXPECT_EQ(job.metadata.name_space, name_space());
  EXPECT_FALSE(job.metadata.uid.empty());
  EXPECT_FALSE(job.metadata.resource_version.empty());
  EXPECT_TRUE(job.metadata.creation_timestamp.has_value());
  EXPECT_EQ(job.metadata.labels, (Labels{{"x", "1"}}));
  EXPECT_EQ(job.spec.min_replicas, 2);
  EXPECT_EQ(Get(JobRef("a")), created);
}

TEST_P(Conformance, NewObjectHasNoStatus) {
  std::string json = JobJson("a");
  json.insert(json.size() - 1, R"(, "status": {"phase": "Running"})");
  ASSERT_TRUE(Create(Kind::kJob, json).has_value());
  EXPECT_FALSE(std::get<Job>(Get(JobRef("a")).value()).status.phase.has_value());
}

TEST_P(Conformance, NameIsTakenOnce) {
  ASSERT_TRUE(Create(Kind::kJob, JobJson("a")).has_value());
  EXPECT_EQ(CodeOf(Create(Kind::kJob, JobJson("a"))), ErrorCode::kAlreadyExists);
}

TEST_P(Conformance, RefusesWhatIsNotValid) {
  EXPECT_EQ(CodeOf(Create(Kind::kJob, JobJson("Not_A_Name"))), ErrorCode::kInvalid);
  EXPECT_EQ(CodeOf(Create(Kind::kJob, JobJson("a", "", R"("minReplicas": "two")"))), ErrorCode::kInvalid);
  EXPECT_EQ(CodeOf(Create(Kind::kJob, JobJson("a", "", R"("minReplicas": -1)"))), ErrorCode::kInvalid);
  EXPECT_EQ(CodeOf(Create(Kind::kPod, PodJson("Not_A_Name"))), ErrorCode::kInvalid);
  EXPECT_EQ(CodeOf(Get(JobRef("a"))), ErrorCode::kNotFound);
}

TEST_P(Conformance, MessageNamesTheField) {
  const Result<Object> refused = Create(Kind::kJob, JobJson("a", "", R"("minReplicas": -1)"));
  ASSERT_FALSE(refused.has_value());
  EXPECT_THAT(refused.error().message, HasSubstr("minReplicas"));
}

TEST_P(Conformance, AbsentIsNotFound) {
  EXPECT_EQ(CodeOf(Get(JobRef("a"))), ErrorCode::kNotFound);
  EXPECT_EQ(CodeOf(Delete({.ref = JobRef("a")})), ErrorCode::kNotFound);
  EXPECT_EQ(CodeOf(Apply(StatusPatch("a", R"({"group": 1})"))), ErrorCode::kNotFound);
}

TEST_P(Conformance, ObjectThatDoesNotReadIsThereAllTheSame) {
  // The resource's schema lets this pass; the codec does not.
  const std::string spec = R"("minReplicas": 4, "maxReplicas": 2)";
  const Result<Object> created = Create(Kind::kJob, JobJson("a", "", spec));
  ASSERT_TRUE(created.has_value()) << created.error().message;
  const auto& unreadable = std::get<Unreadable>(*created);
  EXPECT_EQ(unreadable.metadata.name, "a");
  EXPECT_EQ(unreadable.kind, Kind::kJob);
  EXPECT_THAT(unreadable.error.message, HasSubstr("maxReplicas"));
  EXPECT_EQ(List(Jobs()).value().objects, std::vector<Object>{*created});
}

TEST_P(Conformance, StatusIsPatchedApartFromTheRest) {
  const auto before = std::get<Job>(Create(Kind::kJob, JobJson("a", R"("labels": {"x": "1"})")).value());
  Patch patch = StatusPatch("a", R"({"phase": "Pending", "group": 3, "allocation": ["n1", "n2"]})");
  patch.merge = Document::Parse(R"({"metadata": {"labels": {"x": "2"}}, "spec": {"minReplicas": 5},
      "status": {"phase": "Pending", "group": 3, "allocation": ["n1", "n2"]}})")
                    .value();
  const Result<Object> patched = Apply(patch);
  ASSERT_TRUE(patched.has_value()) << patched.error().message;
  const auto& job = std::get<Job>(*patched);
  EXPECT_EQ(job.status.phase, JobPhase::kPending);
  EXPECT_EQ(job.status.group, 3);
  EXPECT_THAT(job.status.allocation, ElementsAre("n1", "n2"));
  EXPECT_EQ(job.spec, before.spec);
  EXPECT_EQ(job.metadata.labels, before.metadata.labels);
  EXPECT_NE(job.metadata.resource_version, before.metadata.resource_version);
}

TEST_P(Conformance, MainPartIsPatchedApartFromStatus) {
  ASSERT_TRUE(Create(Kind::kJob, JobJson("a")).has_value());
  ASSERT_TRUE(Apply(StatusPatch("a", R"({"group": 3})")).has_value());
  const Result<Object> patched = Apply(MainPatch(
      JobRef("a"),
      R"({"metadata": {"labels": {"y": "1"}}, "spec": {"maxReplicas": 7}, "status": {"group": 9}})"));
  ASSERT_TRUE(patched.has_value()) << patched.error().message;
  const auto& job = std::get<Job>(*patched);
  EXPECT_EQ(job.spec.max_replicas, 7);
  EXPECT_EQ(job.metadata.labels, (Labels{{"y", "1"}}));
  EXPECT_EQ(job.status.group, 3);
}

TEST_P(Conformance, PatchMergesAndNullRemoves) {
  ASSERT_TRUE(Create(Kind::kJob, JobJson("a")).has_value());
  ASSERT_TRUE(
      Apply(StatusPatch("a", R"({"group": 3, "reason": "x", "allocation": ["n1", "n2"]})")).has_value());
  const Result<Object> patched = Apply(StatusPatch("a", R"({"reason": null, "allocation": ["n3"]})"));
  ASSERT_TRUE(patched.has_value()) << patched.error().message;
  const auto& status = std::get<Job>(*patched).status;
  EXPECT_EQ(status.group, 3);
  EXPECT_FALSE(status.reason.has_value());
  EXPECT_THAT(status.allocation, ElementsAre("n3"));
}

TEST_P(Conformance, GenerationCountsWhatIsWanted) {
  ASSERT_TRUE(Create(Kind::kJob, JobJson("a")).has_value());
  const auto generation = [&] { return MetadataOf(Get(JobRef("a")).value()).generation; };
  EXPECT_EQ(generation(), 1);
  ASSERT_TRUE(Apply(StatusPatch("a", R"({"group": 1, "observedGeneration": 1})")).has_value());
  ASSERT_TRUE(Apply(MainPatch(JobRef("a"), R"({"metadata": {"labels": {"x": "1"}}})")).has_value());
  EXPECT_EQ(generation(), 1);
  ASSERT_TRUE(Apply(MainPatch(JobRef("a"), R"({"spec": {"suspend": true}})")).has_value());
  EXPECT_EQ(generation(), 2);
  EXPECT_TRUE(std::get<Job>(Get(JobRef("a")).value()).spec.suspend);
}

TEST_P(Conformance, PatchThatChangesNothingIsNoChange) {
  ASSERT_TRUE(Create(Kind::kJob, JobJson("a")).has_value());
  const Result<Object> first = Apply(StatusPatch("a", R"({"group": 3})"));
  EXPECT_EQ(Apply(StatusPatch("a", R"({"group": 3})")), first);
}

TEST_P(Conformance, PatchHoldsToItsVersion) {
  const std::string old = MetadataOf(Create(Kind::kJob, JobJson("a")).value()).resource_version;
  ASSERT_TRUE(Apply(StatusPatch("a", R"({"group": 1})", old)).has_value());
  EXPECT_EQ(CodeOf(Apply(StatusPatch("a", R"({"group": 2})", old))), ErrorCode::kConflict);
  EXPECT_EQ(CodeOf(Apply(MainPatch(JobRef("a"), R"({"spec": {"maxReplicas": 4}})", old))),
            ErrorCode::kConflict);
  EXPECT_TRUE(Apply(StatusPatch("a", R"({"group": 3})")).has_value());
  EXPECT_EQ(std::get<Job>(Get(JobRef("a")).value()).status.group, 3);
}

TEST_P(Conformance, PatchIsValidated) {
  ASSERT_TRUE(Create(Kind::kJob, JobJson("a")).has_value());
  EXPECT_EQ(CodeOf(Apply(MainPatch(JobRef("a"), R"({"spec": {"minReplicas": "two"}})"))),
            ErrorCode::kInvalid);
  EXPECT_EQ(CodeOf(Apply(MainPatch(JobRef("a"), R"({"spec": {"template": null}})"))), ErrorCode::kInvalid);
}

TEST_P(Conformance, DeleteHoldsToItsPreconditions) {
  const Metadata metadata = MetadataOf(Create(Kind::kJob, JobJson("a")).value());
  const std::string other_uid = "00000000-0000-0000-0000-000000000000";
  EXPECT_EQ(CodeOf(Delete({.ref = JobRef("a"), .precondition = {.uid = other_uid}})), ErrorCode::kConflict);
  EXPECT_EQ(CodeOf(Delete({.ref = JobRef("a"), .precondition = {.resource_version = "1"}})),
            ErrorCode::kConflict);
  EXPECT_TRUE(
      Delete({.ref = JobRef("a"), .precondition = {metadata.uid, metadata.resource_version}}).has_value());
  EXPECT_EQ(CodeOf(Get(JobRef("a"))), ErrorCode::kNotFound);
}

TEST_P(Conformance, SameNameAgainIsAnotherObject) {
  const Metadata first = MetadataOf(Create(Kind::kJob, JobJson("a")).value());
  ASSERT_TRUE(Delete({.ref = JobRef("a")}).has_value());
  const Metadata second = MetadataOf(Create(Kind::kJob, JobJson("a")).value());
  EXPECT_NE(first.uid, second.uid);
  EXPECT_EQ(CodeOf(Apply(StatusPatch("a", R"({"group": 1})", first.resource_version))), ErrorCode::kConflict);
  EXPECT_EQ(CodeOf(Delete({.ref = JobRef("a"), .precondition = {.uid = first.uid}})), ErrorCode::kConflict);
}

TEST_P(Conformance, ObjectWaitsForItsFinalizers) {
  ASSERT_TRUE(Create(Kind::kJob, JobJson("a", R"("finalizers": ["example.com/wait"])")).has_value());
  ASSERT_TRUE(Delete({.ref = JobRef("a")}).has_value());
  const Result<Object> leaving = Get(JobRef("a"));
  ASSERT_TRUE(leaving.has_value());
  EXPECT_TRUE(MetadataOf(*leaving).deletion_timestamp.has_value());
  EXPECT_EQ(CodeOf(Create(Kind::kJob, JobJson("a"))), ErrorCode::kAlreadyExists);
  ASSERT_TRUE(Apply(MainPatch(JobRef("a"), R"({"metadata": {"finalizers": null}})")).has_value());
  EXPECT_EQ(CodeOf(Get(JobRef("a"))), ErrorCode::kNotFound);
}

TEST_P(Conformance, ListIsSortedAndOfOneNamespace) {
  for (const char* name : {"b", "c", "a"}) ASSERT_TRUE(Create(Kind::kJob, JobJson(name)).has_value());
  EXPECT_THAT(Names(List(Jobs()).value()), ElementsAre("a", "b", "c"));
  EXPECT_THAT(List({.kind = Kind::kJob, .name_space = "no-such-namespace"}).value().objects, IsEmpty());
  std::size_t ours = 0;
  const Page everywhere = List({.kind = Kind::kJob}).value();
  for (const Object& object : everywhere.objects)
    ours += MetadataOf(object).name_space == name_space() ? 1 : 0;
  EXPECT_EQ(ours, 3);
}

TEST_P(Conformance, ListChoosesByLabels) {
  ASSERT_TRUE(Create(Kind::kJob, JobJson("a", R"("labels": {"x": "1", "y": "1"})")).has_value());
  ASSERT_TRUE(Create(Kind::kJob, JobJson("b", R"("labels": {"x": "1"})")).has_value());
  ASSERT_TRUE(Create(Kind::kJob, JobJson("c", R"("labels": {"x": "2", "y": "1"})")).has_value());
  Query query = Jobs();
  query.labels = {{"x", "1"}};
  EXPECT_THAT(Names(List(query).value()), ElementsAre("a", "b"));
  query.labels = {{"x", "1"}, {"y", "1"}};
  EXPECT_THAT(Names(List(query).value()), ElementsAre("a"));
  query.labels = {{"z", "1"}};
  EXPECT_THAT(Names(List(query).value()), IsEmpty());
}

TEST_P(Conformance, PagesShowOneMoment) {
  for (const char* name : {"a", "b", "c", "d", "e"})
    ASSERT_TRUE(Create(Kind::kJob, JobJson(name)).has_value());
  const Page first = List(Jobs(), 2).value();
  EXPECT_THAT(Names(first), ElementsAre("a", "b"));
  ASSERT_FALSE(first.next.empty());
  ASSERT_TRUE(Delete({.ref = JobRef("d")}).has_value());
  ASSERT_TRUE(Create(Kind::kJob, JobJson("c2")).has_value());
  const Page second = List(Jobs(), 2, first.next).value();
  EXPECT_THAT(Names(second), ElementsAre("c", "d"));
  const Page third = List(Jobs(), 2, second.next).value();
  EXPECT_THAT(Names(third), ElementsAre("e"));
  EXPECT_EQ(third.next, "");
  EXPECT_EQ(second.resource_version, first.resource_version);
  EXPECT_EQ(third.resource_version, first.resource_version);
  // A watch from there sees what changed meanwhile.
  const auto recording = Record(Jobs(), third.resource_version);
  EXPECT_TRUE(RunUntil([&] { return recording->events.size() >= 2; }));
  EXPECT_THAT(Story(recording->events), ElementsAre("deleted d", "added c2"));
}

TEST_P(Conformance, TokenOfAListGoesStale) {
  for (const char* name : {"a", "b", "c"}) ASSERT_TRUE(Create(Kind::kJob, JobJson(name)).has_value());
  const Page first = List(Jobs(), 1).value();
  ASSERT_TRUE(Delete({.ref = JobRef("c")}).has_value());
  ForgetHistory();
  EXPECT_EQ(CodeOf(List(Jobs(), 1, first.next)), ErrorCode::kGone);
}

TEST_P(Conformance, TokenThatIsNoneIsRefused) {
  EXPECT_EQ(CodeOf(List(Jobs(), 1, "rubbish")), ErrorCode::kInvalid);
}

TEST_P(Conformance, LeaseChangesHandsOnlyByItsVersion) {
  const std::string lease =
      R"({"apiVersion": "coordination.k8s.io/v1", "kind": "Lease", "metadata": {"name": "l",
      "namespace": ")" +
      name_space() + R"("}, "spec": {"holderIdentity": "one", "leaseDurationSeconds": 15,
      "renewTime": "2026-01-01T00:00:00.000000Z"}})";
  const Result<Object> created = Create(Kind::kLease, lease);
  ASSERT_TRUE(created.has_value()) << created.error().message;
  EXPECT_EQ(std::get<Lease>(*created).holder, "one");
  const Ref ref{Kind::kLease, {name_space(), "l"}};
  const std::string version = MetadataOf(*created).resource_version;
  const auto take = [&](const std::string& who) {
    return Apply(MainPatch(ref, R"({"spec": {"holderIdentity": ")" + who + R"("}})", version));
  };
  EXPECT_TRUE(take("two").has_value());
  EXPECT_EQ(CodeOf(take("three")), ErrorCode::kConflict);
  EXPECT_EQ(std::get<Lease>(Get(ref).value()).holder, "two");
  EXPECT_EQ(std::get<Lease>(Get(ref).value()).duration_seconds, 15);
}

TEST_P(Conformance, TemplateThatCouldBeAPodPasses) {
  for (const std::string more :
       {"", R"(, "metadata": {"name": "Not_A_Name", "creationTimestamp": null, "labels": {"a": "b"}})",
        R"(, "metadata": null)"}) {
    const Result<void> checked =
        CheckTemplate(R"({"spec": {"containers": [{"name": "main", "image": "test/tools:1",
            "resources": {"limits": {"cpu": "500m", "nvidia.com/gpu": 1}}}]})" +
                      more + "}");
    EXPECT_TRUE(checked.has_value()) << more << ": " << checked.error().message;
  }
  EXPECT_THAT(List(Pods()).value().objects, IsEmpty());
}

TEST_P(Conformance, TemplateThatCouldBeNoPodIsRefused) {
  for (
      const char* json : {
          "{}",
          R"({"spec": {}})",
          R"({"spec": {"containers": []}})",
          R"({"spec": {"containers": {}}})",
          R"({"spec": {"containers": [{"name": "main"}]}})",
          R"({"spec": {"containers": [{"name": "main", "image": 3}]}})",
          R"({"spec": {"containers": [{"name": "main", "image": "i",
               "resources": {"limits": {"cpu": "lots"}}}]}})",
          R"({"metadata": {"labels": {"a": "/"}}, "spec": {"containers": [{"name": "main", "image": "i"}]}})",
      }) {
    EXPECT_EQ(CodeOf(CheckTemplate(json)), ErrorCode::kInvalid) << json;
  }
  EXPECT_THAT(CheckTemplate(R"({"spec": {"containers": []}})").error().message,
              HasSubstr("template.spec.containers: "));
}

TEST_P(Conformance, EventIsThereOnceItIsCreated) {
  const Metadata job = MetadataOf(Create(Kind::kJob, JobJson("a")).value());
  Event event;
  event.metadata = {.name = "a.17", .name_space = name_space()};
  event.about = {"adaptdl.petuum.com/v1", "AdaptDLJob", "a", job.uid};
  event.warning = true;
  event.reason = "PodFailure";
  event.message = "it failed";
  event.component = "adaptdl-operator";
  event.at = ParseTime("2026-01-01T00:00:00Z").value();
  const Result<Object> created = Create(Kind::kEvent, ToText(Encode(event)));
  ASSERT_TRUE(created.has_value()) << created.error().message;
  const Ref ref{Kind::kEvent, {name_space(), "a.17"}};
  EXPECT_EQ(Get(ref), created);
  EXPECT_EQ(CodeOf(Create(Kind::kEvent, ToText(Encode(event)))), ErrorCode::kAlreadyExists);
  event.metadata = MetadataOf(*created);
  EXPECT_FALSE(event.metadata.uid.empty());
  EXPECT_EQ(*created, Object(event));
  const Query about{.kind = Kind::kEvent, .name_space = name_space(), .labels = {}, .about = job.uid};
  EXPECT_THAT(List(about).value().objects, ElementsAre(*created));
  const Query other{.kind = Kind::kEvent, .name_space = name_space(), .labels = {}, .about = "other"};
  EXPECT_THAT(List(other).value().objects, IsEmpty());
}

TEST_P(Conformance, OwnedObjectsGoAfterTheirOwner) {
  const Metadata owner = MetadataOf(Create(Kind::kJob, JobJson("a")).value());
  const std::string reference =
      R"("ownerReferences": [{"apiVersion": "adaptdl.petuum.com/v1", "kind": "AdaptDLJob",
      "name": "a", "uid": ")" +
      owner.uid + R"(", "controller": true, "blockOwnerDeletion": true}])";
  ASSERT_TRUE(Create(Kind::kJob, JobJson("b", reference)).has_value());
  ASSERT_TRUE(Create(Kind::kJob, JobJson("c")).has_value());
  EXPECT_EQ(MetadataOf(Get(JobRef("b")).value()).owner->uid, owner.uid);
  ASSERT_TRUE(Delete({.ref = JobRef("a")}).has_value());
  EXPECT_TRUE(RunUntilGone(JobRef("b")));
  EXPECT_TRUE(Get(JobRef("c")).has_value());
}

}  // namespace
}  // namespace adaptdl
