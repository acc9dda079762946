#include "api/snapshot.h"

#include <array>
#include <utility>

#include "api/json.h"
#include "api/model_codec.h"
#include "api/reader.h"
#include "nlohmann/json.hpp"

namespace adaptdl {

using nlohmann::json;

namespace {

// The member `key` as a list of `parts`, each written to where it belongs.
struct Part {
  double* value = nullptr;
  Limits limits;
};

template <std::size_t N>
bool ReadList(const Reader& in, std::string_view key, const std::array<Part, N>& parts) {
  const std::optional<Reader> list = in.Find(key);
  if (!list) return false;
  const std::vector<Reader> elements = list->Elements();
  if (elements.size() != N) {
    list->Fail("expected " + std::to_string(N) + " numbers, found " + std::to_string(elements.size()));
    return false;
  }
  for (std::size_t i = 0; i < N; ++i) elements[i].Read(parts[i].value, parts[i].limits);
  return true;
}

void ReadModel(const Reader& in, SnapshotJob* out) {
  PerfParams perf;
  std::array<Part, kPerfFields.size()> parts;
  for (std::size_t i = 0; i < parts.size(); ++i) {
    parts[i] = {&(perf.*kPerfFields[i].value), kPerfFields[i].limits};
  }
  if (ReadList(in, "perf_params", parts)) out->perf_params = perf;
  GradParams grad;
  const std::array<Part, 2> statistics = {{{&grad.sqr, kNotNegative}, {&grad.var, kNotNegative}}};
  if (ReadList(in, "grad_params", statistics)) out->grad_params = grad;
}

}  // namespace

void Decode(const Reader& in, SnapshotJob* out) {
  in.Required("resources", &out->resources, kNotNegative);
  ReadModel(in, out);
  BatchLimits& batch = out->batch;
  if (out->perf_params) {
    in.Required("init_batch_size", &out->init_batch_size, kSizeLimits);
  } else {
    in.Optional("init_batch_size", &out->init_batch_size, kSizeLimits);
  }
  in.Optional("max_batch_size", &batch.max_batch_size, kSizeLimits);
  ReadBounds(in, "local_bsz_bounds", &batch.min_local_bsz, &batch.max_local_bsz);
  in.Optional("gradient_accumulation", &batch.gradient_accumulation);
  in.Optional("min_replicas", &out->min_replicas, kNotNegative);
  in.Optional("max_replicas", &out->max_replicas, kNotNegative);
  in.Optional("creation_timestamp", &out->creation_timestamp);
  in.Optional("preemptible", &out->preemptible);
  in.Optional("attained_service", &out->attained_service, kNotNegative);
  in.Optional("age", &out->age, kNotNegative);
  in.Optional("restarts", &out->restarts, kNotNegative);
  in.Optional("progress", &out->progress, kNotNegative);
  in.Optional("total_progress", &out->total_progress, kNotNegative);
  in.Optional("restart_seconds", &out->restart_seconds, kNotNegative);
  CheckOrder(in, "max_batch_size", batch.max_batch_size, "init_batch_size", out->init_batch_size);
  CheckOrder(in, "max_replicas", out->max_replicas, "min_replicas", out->min_replicas);
}

void Decode(const Reader& in, SnapshotNode* out) {
  in.Required("resources", &out->resources, kNotNegative);
  in.Optional("preemptible", &out->preemptible);
}

void Decode(const Reader& in, Snapshot* out) {
  in.Required("jobs", &out->jobs);
  in.Required("nodes", &out->nodes);
  in.Optional("node_template", &out->node_template);
  in.Optional("base_allocations", &out->base_allocations);
}

namespace {

json Encode(const SnapshotJob& job) {
  json out = {{"resources", job.resources},
              {"init_batch_size", job.init_batch_size},
              {"local_bsz_bounds", EncodeBounds(job.batch.min_local_bsz, job.batch.max_local_bsz)},
              {"gradient_accumulation", job.batch.gradient_accumulation},
              {"min_replicas", job.min_replicas},
              {"creation_timestamp", FormatTime(job.creation_timestamp)},
              {"preemptible", job.preemptible}};
  const auto set = [&](const char* key, const auto& value) {
    if (value) out[key] = *value;
  };
  if (const auto& perf = job.perf_params) {
    for (const PerfField& field : kPerfFields) out["perf_params"].push_back((*perf).*field.value);
  }
  if (const auto& grad = job.grad_params) out["grad_params"] = {grad->sqr, grad->var};
  set("max_batch_size", job.batch.max_batch_size);
  set("max_replicas", job.max_replicas);
  set("attained_service", job.attained_service);
  set("age", job.age);
  set("restarts", job.restarts);
  set("progress", job.progress);
  set("total_progress", job.total_progress);
  set("restart_seconds", job.restart_seconds);
  return out;
}

json Encode(const SnapshotNode& node) {
  return {{"resources", node.resources}, {"preemptible", node.preemptible}};
}

}  // namespace

json Encode(const Snapshot& snapshot) {
  json out = {
      {"jobs", json::object()}, {"nodes", json::object()}, {"base_allocations", snapshot.base_allocations}};
  for (const auto& [name, job] : snapshot.jobs) out["jobs"][name] = Encode(job);
  for (const auto& [name, node] : snapshot.nodes) out["nodes"][name] = Encode(node);
  if (snapshot.node_template) out["node_template"] = Encode(*snapshot.node_template);
  return out;
}

Result<Snapshot> ParseSnapshot(std::string_view text) {
  return ParseJson(text).and_then([](const json& value) { return FromJson<Snapshot>(value); });
}

}  // namespace adaptdl
