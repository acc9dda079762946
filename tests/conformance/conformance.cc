#include "tests/conformance/conformance.h"

#include "nlohmann/json.hpp"

namespace adaptdl {

void Conformance::SetUp() {
  Result<std::unique_ptr<ClusterUnderTest>> made = GetParam()();
  if (!made && made.error().code == ErrorCode::kNotFound) GTEST_SKIP() << made.error().message;
  ASSERT_TRUE(made.has_value()) << made.error().message;
  under_test_ = *std::move(made);
  name_space_ = under_test_->name_space();
}

template <typename T>
Result<T> Conformance::Await(const std::function<void(Done<T>)>& call) {
  // Shared, as the answer may come after the test has given up.
  auto answer = std::make_shared<std::optional<Result<T>>>();
  call([answer](Result<T> result) {
    EXPECT_FALSE(answer->has_value()) << "answered twice";
    *answer = std::move(result);
  });
  EXPECT_FALSE(answer->has_value()) << "answered inside the call";
  if (!RunUntil([&] { return answer->has_value(); })) {
    ADD_FAILURE() << "no answer";
    return Fail(ErrorCode::kInternal, "no answer");
  }
  return **answer;
}

Result<Object> Conformance::Get(const Ref& ref) {
  return Await<Object>([&](Done<Object> done) { cluster().Get(ref, std::move(done)); });
}

Result<Page> Conformance::List(const Query& query, std::size_t limit, const std::string& token) {
  return Await<Page>([&](Done<Page> done) { cluster().List(query, limit, token, std::move(done)); });
}

Result<Object> Conformance::Create(Kind kind, const std::string& json) {
  const Document object = Document::Parse(json).value();
  return Await<Object>([&](Done<Object> done) { cluster().Create(kind, object, std::move(done)); });
}

Result<Object> Conformance::Apply(const Patch& patch) {
  return Await<Object>([&](Done<Object> done) { cluster().Apply(patch, std::move(done)); });
}

Result<void> Conformance::Delete(const Deletion& deletion) {
  return Await<void>([&](Done<void> done) { cluster().Delete(deletion, std::move(done)); });
}

Result<void> Conformance::CheckTemplate(const std::string& json) {
  const PodTemplate pod_template(Document::Parse(json).value().value());
  return Await<void>(
      [&](Done<void> done) { cluster().CheckTemplate(name_space_, pod_template, std::move(done)); });
}

std::unique_ptr<Recording> Conformance::Record(const Query& query, const std::string& resource_version) {
  auto recording = std::make_unique<Recording>();
  recording->resource_version = resource_version;
  GoOn(query, recording.get());
  return recording;
}

void Conformance::GoOn(const Query& query, Recording* to) {
  to->watch = cluster().WatchFrom(query, to->resource_version, [this, query, to](Result<WatchEvent> event) {
    EXPECT_FALSE(to->end.has_value()) << "an event after the end";
    if (!event) {
      if (event.error().code == ErrorCode::kUnavailable) return GoOn(query, to);
      to->end = std::move(event.error());
      return;
    }
    to->resource_version = event->resource_version;
    if (event->type != WatchEvent::Type::kBookmark) to->events.push_back(*std::move(event));
  });
}

bool Conformance::RunUntilGone(const Ref& ref) {
  // Looks again with every answer; the cluster's own time limit ends it.
  auto gone = std::make_shared<bool>(false);
  const std::function<void()> look = [&, gone] {
    cluster().Get(ref, [&, gone](const Result<Object>& object) {
      *gone = !object && object.error().code == ErrorCode::kNotFound;
      if (!*gone) look();
    });
  };
  look();
  const bool seen = RunUntil([&] { return *gone; });
  EXPECT_TRUE(seen) << ToString(ref.key) << " is still there";
  return seen;
}

std::string Conformance::JobJson(const std::string& name, const std::string& metadata,
                                 const std::string& spec) const {
  return R"({"apiVersion": "adaptdl.petuum.com/v1", "kind": "AdaptDLJob", "metadata": {"name": ")" + name +
         R"(", "namespace": ")" + name_space_ + "\"" + (metadata.empty() ? "" : ", ") + metadata +
         R"(}, "spec": {"template": {"spec": {"containers": [{"name": "main", "image": "test/tools:1"}]}})" +
         (spec.empty() ? "" : ", ") + spec + "}}";
}

std::string Conformance::PodJson(const std::string& name, const std::string& annotations,
                                 const std::string& selector) const {
  return R"({"apiVersion": "v1", "kind": "Pod", "metadata": {"name": ")" + name + R"(", "namespace": ")" +
         name_space_ + R"(", "annotations": {)" + annotations +
         R"(}}, "spec": {"restartPolicy": "Never", "automountServiceAccountToken": false, "nodeSelector": {)" +
         selector + R"(}, "containers": [{"name": "main", "image": "test/tools:1"}]}})";
}

Patch Conformance::StatusPatch(const std::string& name, const std::string& json,
                               std::string resource_version) const {
  return {.ref = JobRef(name),
          .part = Patch::Part::kStatus,
          .merge = Document::Parse(R"({"status": )" + json + "}").value(),
          .resource_version = std::move(resource_version)};
}

Patch Conformance::MainPatch(const Ref& ref, const std::string& json, std::string resource_version) const {
  return {.ref = ref,
          .part = Patch::Part::kMain,
          .merge = Document::Parse(json).value(),
          .resource_version = std::move(resource_version)};
}

void PodStory::SetUp() {
  Conformance::SetUp();
  if (!IsSkipped() && !HasFatalFailure()) recording_ = Record(Pods(), List(Pods()).value().resource_version);
}

void PodStory::TearDown() {
  if (recording_ == nullptr) return;
  const Page left = List(Pods()).value_or(Page{});
  for (const Object& pod : left.objects) {
    (void)Delete({.ref = PodRef(MetadataOf(pod).name), .grace = std::chrono::seconds(0)});
  }
}

Pod PodStory::Await(const std::string& name, const Has& has) {
  std::optional<Pod> found;
  EXPECT_TRUE(RunUntil([&] {
    for (const WatchEvent& event : recording_->events) {
      const auto* pod = std::get_if<Pod>(&*event.object);
      if (pod != nullptr && pod->metadata.name == name && has(event, *pod)) found = *pod;
    }
    return found.has_value();
  })) << name
      << " did not get there";
  return found.value_or(Pod{});
}

Pod PodStory::AwaitPhase(const std::string& name, PodPhase phase) {
  return Await(name, [&](const WatchEvent&, const Pod& pod) { return pod.phase == phase; });
}

std::vector<std::string> Story(const std::vector<WatchEvent>& events) {
  std::vector<std::string> story;
  for (const WatchEvent& event : events) {
    const char* type = event.type == WatchEvent::Type::kAdded      ? "added "
                       : event.type == WatchEvent::Type::kModified ? "modified "
                       : event.type == WatchEvent::Type::kDeleted  ? "deleted "
                                                                   : "bookmark";
    story.push_back(type + (event.object ? MetadataOf(*event.object).name : ""));
  }
  return story;
}

}  // namespace adaptdl
