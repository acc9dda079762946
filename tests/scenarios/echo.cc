#include "tests/scenarios/echo.h"

#include <utility>
#include <vector>

#include "nlohmann/json.hpp"

namespace adaptdl {

namespace {

constexpr const char* kJobLabel = "adaptdl/job";

std::vector<std::string> JobOf(const Pod& pod) {
  const auto label = pod.metadata.labels.find(kJobLabel);
  if (label == pod.metadata.labels.end()) return {};
  return {pod.metadata.name_space + "/" + label->second};
}

LeaderElectionOptions Election(const std::string& identity, std::uint64_t seed) {
  return {.lease = {"default", "echo"}, .identity = identity, .seed = seed};
}

}  // namespace

Echo::Echo(Clock& clock, Cluster& cluster, const std::string& identity, std::uint64_t seed, Observer observer)
    : cluster_(cluster),
      observer_(std::move(observer)),
      log_("echo", {.level = LogLevel::kError, .sink = [](std::string_view) {}}),
      jobs_(clock, cluster, {}, log_, {.reflector = {.seed = seed}}),
      pods_(clock, cluster, {}, log_, {.indexes = {{"job", JobOf}}, .reflector = {.seed = seed + 1}}),
      election_(clock, cluster, Election(identity, seed + 2), {.started = [this] { controller_.Wake(); }},
                log_),
      controller_(
          clock, {.name = "echo", .concurrency = 2, .seed = seed + 3},
          [this] { return jobs_.ready() && pods_.ready() && election_.MayAct(); },
          [this](const Key& key, const Done<Outcome>& done) { Reconcile(key, done); }, log_) {
  jobs_.Subscribe([this](const Key& key, const Job* before, const Job* after) {
    observer_.changed({Kind::kJob, key}, before ? &before->metadata : nullptr,
                      after ? &after->metadata : nullptr);
    controller_.Enqueue(key);
  });
  pods_.Subscribe([this](const Key& key, const Pod* before, const Pod* after) {
    observer_.changed({Kind::kPod, key}, before ? &before->metadata : nullptr,
                      after ? &after->metadata : nullptr);
    const auto label = (after != nullptr ? after : before)->metadata.labels.find(kJobLabel);
    if (label != (after != nullptr ? after : before)->metadata.labels.end()) {
      controller_.Enqueue({key.name_space, label->second});
    }
  });
  jobs_.WhenReady([this] { controller_.Wake(); });
  pods_.WhenReady([this] { controller_.Wake(); });
  jobs_.Start();
  pods_.Start();
  election_.Start();
}

// One step towards where the job should be; the change that it makes brings the next.
void Echo::Reconcile(const Key& key, const Done<Outcome>& done) {
  const auto job = jobs_.Find(key);
  if (job == nullptr || job->metadata.deletion_timestamp) return done(Outcome{});
  observer_.acts();
  const auto wanted = static_cast<std::size_t>(job->spec.min_replicas);
  const auto over = [done](const auto& result) {
    if (!result && result.error().code != ErrorCode::kAlreadyExists &&
        result.error().code != ErrorCode::kNotFound) {
      return done(tl::unexpected<Error>(result.error()));
    }
    // The change comes through the watch; should it have come before, somebody looks again all the same.
    done(Outcome{.again_after = std::chrono::seconds(30)});
  };
  std::vector<std::string> missing;
  for (std::size_t i = 0; i < wanted; ++i) {
    const std::string name = key.name + "-" + std::to_string(i);
    const auto pod = pods_.Find({key.name_space, name});
    if (pod == nullptr) {
      missing.push_back(name);
    } else if (pod->metadata.owner && pod->metadata.owner->uid != job->metadata.uid) {
      return done(
          Outcome{.again_after = std::chrono::seconds(1)});  // Of an earlier job: it is being collected.
    }
  }
  if (!missing.empty()) return cluster_.Create(Kind::kPod, PodOf(*job, missing.front()), over);
  for (const auto& pod : pods_.Indexed("job", ToString(key))) {
    const std::string rank = pod->metadata.name.substr(pod->metadata.name.rfind('-') + 1);
    if (static_cast<std::size_t>(std::stoi(rank)) < wanted || pod->metadata.deletion_timestamp) continue;
    return cluster_.Delete(
        {.ref = {Kind::kPod, KeyOf(pod->metadata)}, .precondition = {.uid = pod->metadata.uid}}, over);
  }
  if (job->status.replicas == job->spec.min_replicas) return done(Outcome{});
  const nlohmann::json merge = {{"status", {{"replicas", job->spec.min_replicas}}}};
  cluster_.Apply({.ref = {Kind::kJob, key},
                  .merge = Document(merge),
                  .resource_version = job->metadata.resource_version},
                 over);
}

Document Echo::PodOf(const Job& job, const std::string& name) const {
  Metadata metadata{.name = name, .name_space = job.metadata.name_space};
  metadata.labels = {{kJobLabel, job.metadata.name}};
  metadata.owner = Owner{"adaptdl.petuum.com/v1", "AdaptDLJob", job.metadata.name, job.metadata.uid};
  const nlohmann::json container = {{"name", "main"}, {"image", "test/tools:1"}};
  return Document({{"apiVersion", "v1"},
                   {"kind", "Pod"},
                   {"metadata", Encode(metadata)},
                   {"spec", {{"restartPolicy", "Never"}, {"containers", {container}}}}});
}

}  // namespace adaptdl
