#include "api/hints.h"

#include <string>
#include <utility>

#include "api/json.h"
#include "api/model_codec.h"
#include "api/reader.h"
#include "nlohmann/json.hpp"

namespace adaptdl {

using nlohmann::json;

namespace {

constexpr const char* kHintKeys[] = {"initBatchSize",
                                     "localBszBounds",
                                     "globalBatchSize",
                                     "maxBatchSize",
                                     "maxProfiledReplicas",
                                     "gradientAccumulation",
                                     "gradParams",
                                     "perfParams",
                                     "progress",
                                     "totalProgress",
                                     "epochs",
                                     "finishedEpochs",
                                     "checkpointSeconds",
                                     "restartSeconds",
                                     "profile"};

}  // namespace

void Decode(const Reader& in, PerfParams* out) {
  for (const PerfField& field : kPerfFields) in.Required(field.name, &(out->*field.value), field.limits);
}

void Decode(const Reader& in, GradParams* out) {
  in.Required("norm", &out->sqr, kNotNegative);
  in.Required("var", &out->var, kNotNegative);
}

void Decode(const Reader& in, Hints* out) {
  in.Optional("initBatchSize", &out->init_batch_size, kSizeLimits);
  ReadBounds(in, "localBszBounds", &out->min_local_bsz, &out->max_local_bsz);
  in.Optional("globalBatchSize", &out->global_batch_size, kSizeLimits);
  in.Optional("maxBatchSize", &out->max_batch_size, kSizeLimits);
  in.Optional("maxProfiledReplicas", &out->max_profiled_replicas, kCountLimits);
  in.Optional("gradientAccumulation", &out->gradient_accumulation);
  in.Optional("gradParams", &out->grad_params);
  in.Optional("perfParams", &out->perf_params);
  in.Optional("progress", &out->progress, kNotNegative);
  in.Optional("totalProgress", &out->total_progress, kNotNegative);
  in.Optional("epochs", &out->epochs, kCountLimits);
  in.Optional("finishedEpochs", &out->finished_epochs, kCountLimits);
  in.Optional("checkpointSeconds", &out->checkpoint_seconds, kNotNegative);
  in.Optional("restartSeconds", &out->restart_seconds, kNotNegative);
  in.Optional("profile", &out->profile);
  if (out->profile.size() > kMaxObservations) {
    in.Fail("profile", "has more than " + std::to_string(kMaxObservations) + " observations");
  }
  CheckOrder(in, "maxBatchSize", out->max_batch_size, "initBatchSize", out->init_batch_size);
}

json Encode(const Hints& hints) {
  json out = json::object();
  const auto set = [&](const char* key, const auto& value) {
    if (value) out[key] = *value;
  };
  set("initBatchSize", hints.init_batch_size);
  if (hints.min_local_bsz || hints.max_local_bsz) {
    out["localBszBounds"] = EncodeBounds(hints.min_local_bsz, hints.max_local_bsz);
  }
  set("globalBatchSize", hints.global_batch_size);
  set("maxBatchSize", hints.max_batch_size);
  set("maxProfiledReplicas", hints.max_profiled_replicas);
  set("gradientAccumulation", hints.gradient_accumulation);
  if (const auto& grad = hints.grad_params) out["gradParams"] = {{"norm", grad->sqr}, {"var", grad->var}};
  if (const auto& perf = hints.perf_params) {
    for (const PerfField& field : kPerfFields) out["perfParams"][field.name] = (*perf).*field.value;
  }
  set("progress", hints.progress);
  set("totalProgress", hints.total_progress);
  set("epochs", hints.epochs);
  set("finishedEpochs", hints.finished_epochs);
  set("checkpointSeconds", hints.checkpoint_seconds);
  set("restartSeconds", hints.restart_seconds);
  for (const Observation& one : hints.profile) out["profile"].push_back(Encode(one));
  return out;
}

Document HintsPatch(const Hints& hints) {
  json train = Encode(hints);
  for (const char* key : kHintKeys) {
    if (!train.contains(key)) train[key] = nullptr;
  }
  return Document(json{{"status", {{"train", std::move(train)}}}});
}

Result<Hints> ParseHints(std::string_view text) {
  return ParseJson(text).and_then([](const json& value) { return FromJson<Hints>(value); });
}

}  // namespace adaptdl
