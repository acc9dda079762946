#include "tests/conformance/differential.h"

#include <map>
#include <optional>
#include <random>
#include <utility>
#include <vector>

#include "api/json.h"
#include "nlohmann/json.hpp"

namespace adaptdl {

namespace {

using nlohmann::json;

constexpr const char* kLabels[] = {R"({"x": "1"})", R"({"x": "2", "y": "1"})", "{}"};
constexpr const char* kStatuses[] = {R"({"group": 1})",
                                     R"({"group": 2, "allocation": ["n1", "n2"]})",
                                     R"({"allocation": null, "reason": "because"})",
                                     R"({"phase": "Running", "replicas": 2})",
                                     R"({"train": {"initBatchSize": 128}})",
                                     R"({"train": {"initBatchSize": null, "maxBatchSize": 1024}})",
                                     "null"};
constexpr const char* kSpecs[] = {
    R"({"minReplicas": 2})",    R"({"maxReplicas": 1})",
    R"({"maxReplicas": null})", R"({"minReplicas": -1})",
    R"({"minReplicas": 1.5})",  R"({"preemptible": false})",
    R"({"preemptible": "no"})", R"({"template": {"metadata": {"labels": {"a": "b"}}}})"};

class Player {
 public:
  Player(ClusterUnderTest& under_test, std::uint64_t seed)
      : under_test_(under_test), name_space_(under_test.name_space()), rng_(seed) {}

  std::string Run(int steps) {
    const Page start =
        Await<Page>([&](auto done) { cluster().List(Jobs({}), 0, "", std::move(done)); }).value();
    for (int i = 0; i < steps; ++i) Step();
    TellWatch(start.resource_version, {});
    TellWatch(start.resource_version, {{"x", "1"}});
    return std::move(story_);
  }

 private:
  Cluster& cluster() { return under_test_.cluster(); }
  std::size_t Below(std::size_t bound) { return rng_() % bound; }
  template <std::size_t N>
  std::string OneOf(const char* const (&choices)[N]) {
    return choices[Below(N)];
  }

  template <typename T>
  Result<T> Await(const std::function<void(Done<T>)>& call) {
    auto answer = std::make_shared<std::optional<Result<T>>>();
    call([answer](Result<T> result) { *answer = std::move(result); });
    if (!under_test_.RunUntil([&] { return answer->has_value(); }))
      return Fail(ErrorCode::kInternal, "no answer");
    return **answer;
  }

  Query Jobs(Labels labels) const {
    return {.kind = Kind::kJob, .name_space = name_space_, .labels = std::move(labels)};
  }

  std::string Tell(const Object& object) {
    const Metadata& metadata = MetadataOf(object);
    const auto uid = uids_.emplace(metadata.uid, uids_.size()).first->second;
    std::string told = metadata.name + " uid#" + std::to_string(uid) +
                       (metadata.deletion_timestamp ? " leaving " : " ") + json(metadata.labels).dump();
    if (const auto* job = std::get_if<Job>(&object)) {
      json value = Encode(*job);
      value.erase("metadata");
      told += " " + ToText(value);
    } else {
      told += " " + std::string(ToString(KindOf(object))) + (object.index() == 4 ? " unreadable" : "");
    }
    return told;
  }

  void TellResult(const std::string& call, const Result<Object>& result) {
    story_ += call + " -> ";
    if (!result) {
      story_ += ToString(result.error().code);
    } else {
      const Metadata& metadata = MetadataOf(*result);
      std::string& last = versions_[metadata.uid];
      story_ += Tell(*result) + (last == metadata.resource_version ? " same" : "");
      last = metadata.resource_version;
      known_[metadata.name].push_back(metadata);
    }
    story_ += "\n";
  }

  // One of the states that the object of that name was seen in; now and then none.
  Metadata SomeState(const std::string& name) {
    const std::vector<Metadata>& seen = known_[name];
    const bool none = Below(2) == 0;
    const std::size_t back = Below(3);
    if (seen.empty() || none) return {};
    return seen[back < seen.size() ? seen.size() - 1 - back : 0];
  }

  std::string SomeName() {
    static constexpr const char* kNames[] = {"a", "b", "c", "d.e", "Wrong_Name"};
    return OneOf(kNames);
  }

  void CreateJob() {
    const std::string name = SomeName();
    json job = {
        {"apiVersion", "adaptdl.petuum.com/v1"},
        {"kind", "AdaptDLJob"},
        {"metadata", {{"name", name}, {"namespace", name_space_}, {"labels", json::parse(OneOf(kLabels))}}},
        {"spec", {{"template", {{"spec", {{"containers", json::array()}}}}}}}};
    if (Below(2) == 0) job["spec"].merge_patch(json::parse(OneOf(kSpecs)));
    if (Below(4) == 0) job["status"] = {{"group", 7}};
    if (Below(4) == 0) job["metadata"]["finalizers"] = {"example.com/one"};
    TellResult("create " + name + " " + job["spec"].dump(), Await<Object>([&](auto done) {
                 cluster().Create(Kind::kJob, Document(job), std::move(done));
               }));
  }

  void ApplyPatch() {
    const std::string name = SomeName();
    const bool status = Below(2) == 0;
    json merge = json::object();
    if (status || Below(4) == 0) merge["status"] = json::parse(OneOf(kStatuses));
    if (!status && Below(2) == 0) merge["spec"] = json::parse(OneOf(kSpecs));
    if (!status && Below(3) == 0) merge["metadata"]["labels"] = json::parse(OneOf(kLabels));
    if (!status && Below(4) == 0) merge["metadata"]["finalizers"] = nullptr;
    const Patch patch{.ref = {Kind::kJob, {name_space_, name}},
                      .part = status ? Patch::Part::kStatus : Patch::Part::kMain,
                      .merge = Document(merge),
                      .resource_version = SomeState(name).resource_version};
    TellResult(std::string(status ? "status " : "main ") + name + " " + merge.dump() +
                   (patch.resource_version.empty() ? "" : " if version"),
               Await<Object>([&](auto done) { cluster().Apply(patch, std::move(done)); }));
  }

  void Delete() {
    const std::string name = SomeName();
    const Metadata state = SomeState(name);
    const bool by_uid = Below(2) == 0;
    const Deletion deletion{.ref = {Kind::kJob, {name_space_, name}},
                            .precondition = {.uid = by_uid ? state.uid : "",
                                             .resource_version = by_uid ? "" : state.resource_version}};
    const Result<void> result = Await<void>([&](auto done) { cluster().Delete(deletion, std::move(done)); });
    story_ += "delete " + name +
              (state.uid.empty() ? ""
               : by_uid          ? " if uid"
                                 : " if version") +
              " -> " + (result ? "ok" : std::string(ToString(result.error().code))) + "\n";
  }

  void List() {
    static constexpr std::size_t kLimits[] = {0, 1, 2};
    const std::size_t limit = kLimits[Below(3)];
    const Labels labels = json::parse(OneOf(kLabels)).get<Labels>();
    story_ += "list " + json(labels).dump() + " by " + std::to_string(limit) + "\n";
    std::string token;
    do {
      const Result<Page> page =
          Await<Page>([&](auto done) { cluster().List(Jobs(labels), limit, token, std::move(done)); });
      if (!page) {
        story_ += "  " + std::string(ToString(page.error().code)) + "\n";
        return;
      }
      for (const Object& object : page->objects) story_ += "  " + Tell(object) + "\n";
      token = page->next;
    } while (!token.empty());
  }

  void Get() {
    const std::string name = SomeName();
    TellResult("get " + name, Await<Object>([&](auto done) {
                 cluster().Get({Kind::kJob, {name_space_, name}}, std::move(done));
               }));
  }

  void Step() {
    const std::size_t what = Below(10);
    if (what < 3) return CreateJob();
    if (what < 7) return ApplyPatch();
    if (what < 8) return Delete();
    if (what < 9) return List();
    Get();
  }

  // All that happened, up to a job made for the purpose.
  void TellWatch(const std::string& from, const Labels& labels) {
    const std::string last = "last-" + std::to_string(labels.size());
    json job = {{"apiVersion", "adaptdl.petuum.com/v1"},
                {"kind", "AdaptDLJob"},
                {"metadata", {{"name", last}, {"namespace", name_space_}, {"labels", labels}}},
                {"spec", {{"template", json::object()}}}};
    (void)Await<Object>([&](auto done) { cluster().Create(Kind::kJob, Document(job), std::move(done)); });
    story_ += "watch " + json(labels).dump() + "\n";
    bool over = false;
    const std::unique_ptr<Watch> watch =
        cluster().WatchFrom(Jobs(labels), from, [&](const Result<WatchEvent>& event) {
          if (over || (event && event->type == WatchEvent::Type::kBookmark)) return;
          over = !event || MetadataOf(*event->object).name == last;
          static constexpr const char* kTypes[] = {"added ", "modified ", "deleted "};
          story_ += "  " +
                    (event ? kTypes[static_cast<int>(event->type)] + Tell(*event->object)
                           : std::string(ToString(event.error().code))) +
                    "\n";
        });
    if (!under_test_.RunUntil([&] { return over; })) story_ += "  no end\n";
  }

  ClusterUnderTest& under_test_;
  std::string name_space_;
  std::mt19937_64 rng_;
  std::map<std::string, std::size_t> uids_;
  std::map<std::string, std::string> versions_;         // The last seen, by uid.
  std::map<std::string, std::vector<Metadata>> known_;  // By name, in the order in which they were seen.
  std::string story_;
};

}  // namespace

std::string Play(ClusterUnderTest& under_test, std::uint64_t seed, int steps) {
  return Player(under_test, seed).Run(steps);
}

}  // namespace adaptdl
