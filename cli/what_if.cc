#include "cli/what_if.h"

#include <algorithm>
#include <chrono>
#include <map>
#include <set>
#include <tuple>
#include <utility>
#include <vector>

#include "api/job.h"
#include "api/json.h"
#include "api/reader.h"
#include "nlohmann/json.hpp"

namespace adaptdl {
namespace {

using nlohmann::json;
using NewJobs = std::map<std::string, SnapshotJob>;

// By devices first: in Kubernetes they are what has a domain in its name ("nvidia.com/gpu").
bool Smaller(const SnapshotNode& a, const SnapshotNode& b) {
  const auto size = [](const SnapshotNode& node) {
    std::int64_t devices = 0;
    for (const auto& [resource, amount] : node.resources) {
      if (resource.find('/') != std::string::npos) devices = std::max(devices, amount);
    }
    const auto amount = [&](const char* resource) {
      const auto found = node.resources.find(resource);
      return found == node.resources.end() ? 0 : found->second;
    };
    return std::tuple(devices, amount("cpu"), amount("memory"));
  };
  return size(a) < size(b);
}

// Those that exist, and those that are gone but are still called the place of a replica.
std::set<std::string> NodeNames(const Snapshot& snapshot) {
  std::set<std::string> names;
  for (const auto& [name, node] : snapshot.nodes) names.insert(name);
  for (const auto& [job, nodes] : snapshot.base_allocations) names.insert(nodes.begin(), nodes.end());
  return names;
}

Result<SnapshotJob> AsSnapshotJob(const Job& job) {
  const auto containers = job.spec.pod_template.ReadContainers();
  if (!containers) return tl::unexpected(containers.error());
  Result<Resources> resources = PodRequests(*containers);
  if (!resources) return Invalid("spec.template.spec.containers: " + resources.error().message);

  SnapshotJob out;
  out.resources = *std::move(resources);
  out.min_replicas = job.spec.min_replicas;
  out.preemptible = job.spec.preemptible;
  out.creation_timestamp = job.metadata.creation_timestamp.value_or(Time());
  const Hints hints = job.status.train.value_or(Hints());
  if (hints.perf_params && hints.init_batch_size) {  // The model needs both.
    out.perf_params = hints.perf_params;
    out.grad_params = hints.grad_params;
  }
  out.init_batch_size = hints.init_batch_size.value_or(1);
  out.batch = {hints.max_batch_size, hints.min_local_bsz, hints.max_local_bsz,
               hints.gradient_accumulation.value_or(false)};
  const std::int64_t profiled = std::min(hints.max_profiled_replicas.value_or(0), kMaxSize / 2);
  const std::int64_t most = std::max<std::int64_t>(2 * profiled, 1);
  out.max_replicas = std::max(std::min(most, job.spec.max_replicas.value_or(most)), job.spec.min_replicas);
  return out;
}

Result<void> ReadJob(const json& value, const std::string& path, NewJobs& out) {
  const auto place = [&](const Error& error) {
    return Invalid(path.empty() ? error.message : path + ": " + error.message);
  };
  const std::string kind = value.is_object() ? value.value("kind", json()).dump() : "";
  if (kind != "\"AdaptDLJob\"")
    return place({.message = "kind: expected an AdaptDLJob, found " + Printable(kind)});
  const Result<Job> job = FromJson<Job>(value);
  if (!job) return place(job.error());
  Result<SnapshotJob> made = AsSnapshotJob(*job);
  if (!made) return place(made.error());
  if (!out.emplace(job->metadata.name, *std::move(made)).second) {
    return place({.message = "metadata.name: " + Printable(job->metadata.name) + " is there twice"});
  }
  return {};
}

Result<NewJobs> ReadJobs(const json& value) {
  if (!value.is_object()) return Invalid("expected an AdaptDLJob or an object with jobs by their names");
  NewJobs out;
  const auto kind = value.find("kind");
  if (kind == value.end() || !kind->is_string()) {
    Result<Snapshot> wrapped = FromJson<Snapshot>({{"jobs", value}, {"nodes", json::object()}});
    if (!wrapped) return tl::unexpected(wrapped.error());
    out = std::move(wrapped->jobs);
  } else if (const auto items = value.find("items");
             *kind == "List" && items != value.end() && items->is_array()) {
    for (std::size_t i = 0; i < items->size(); ++i) {
      if (auto read = ReadJob((*items)[i], ElementPath("items", i), out); !read)
        return tl::unexpected(read.error());
    }
  } else if (auto read = ReadJob(value, "", out); !read) {
    return tl::unexpected(read.error());
  }
  if (out.empty()) return Invalid("there is no job in it");
  return out;
}

}  // namespace

Result<Snapshot> AddNodes(Snapshot snapshot, std::int64_t count) {
  if (!snapshot.node_template && snapshot.nodes.empty()) {
    return Invalid("no telling what a further node looks like: the snapshot needs a node_template or a node");
  }
  const auto by_size = [](const auto& a, const auto& b) { return Smaller(a.second, b.second); };
  const SnapshotNode node =
      snapshot.node_template
          ? *snapshot.node_template
          : std::max_element(snapshot.nodes.begin(), snapshot.nodes.end(), by_size)->second;
  const std::set<std::string> taken = NodeNames(snapshot);
  for (std::int64_t number = 1; count > 0; ++number) {
    const std::string name = "new-" + std::to_string(number);
    if (taken.contains(name)) continue;
    snapshot.nodes[name] = node;
    --count;
  }
  return snapshot;
}

Result<Snapshot> RemoveNode(Snapshot snapshot, const std::string& name) {
  if (snapshot.nodes.erase(name) > 0) return snapshot;
  constexpr std::size_t kShown = 8;
  std::string message = Printable(name) + ": no such node in the snapshot";
  std::size_t shown = 0;
  for (const auto& [known, node] : snapshot.nodes) {
    if (shown == kShown) {
      message += ", ...";
      break;
    }
    message += (shown++ == 0 ? "; there is " : ", ") + Printable(known);
  }
  return Fail(ErrorCode::kNotFound, message);
}

Result<Snapshot> AddJobs(Snapshot snapshot, std::string_view text) {
  Result<NewJobs> jobs = ParseJson(text).and_then(ReadJobs);
  if (!jobs) return tl::unexpected(jobs.error());
  Time latest;
  for (const auto& [name, job] : snapshot.jobs) latest = std::max(latest, job.creation_timestamp);
  for (auto& [name, job] : *jobs) {
    if (job.creation_timestamp == Time()) job.creation_timestamp = latest + std::chrono::seconds(1);
    if (!snapshot.jobs.emplace(name, std::move(job)).second) {
      return Fail(ErrorCode::kConflict,
                  "the snapshot has a job " + Printable(name) + " already: give the new one another name");
    }
    snapshot.base_allocations.erase(name);  // Of an earlier job of that name.
  }
  return snapshot;
}

}  // namespace adaptdl
