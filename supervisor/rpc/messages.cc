#include "supervisor/rpc/messages.h"

#include <google/protobuf/duration.pb.h>

#include <algorithm>
#include <chrono>
#include <cstdint>

#include "adaptdl/v1/supervisor.pb.h"
#include "api/reader.h"
#include "nlohmann/json.hpp"

namespace adaptdl {

namespace {

using nlohmann::json;
using std::chrono::nanoseconds;
using std::chrono::seconds;

json ToJson(const v1::Bounds& bounds) {
  return json::array({bounds.has_min() ? json(bounds.min()) : json(),  //
                      bounds.has_max() ? json(bounds.max()) : json()});
}

json ToJson(const v1::GradParams& grad) {
  json out = json::object();
  if (grad.has_norm()) out["norm"] = grad.norm();
  if (grad.has_var()) out["var"] = grad.var();
  return out;
}

json ToJson(const v1::PerfParams& perf) {
  json out = json::object();
  if (perf.has_alpha_c()) out["alpha_c"] = perf.alpha_c();
  if (perf.has_beta_c()) out["beta_c"] = perf.beta_c();
  if (perf.has_alpha_n()) out["alpha_n"] = perf.alpha_n();
  if (perf.has_beta_n()) out["beta_n"] = perf.beta_n();
  if (perf.has_alpha_r()) out["alpha_r"] = perf.alpha_r();
  if (perf.has_beta_r()) out["beta_r"] = perf.beta_r();
  if (perf.has_gamma()) out["gamma"] = perf.gamma();
  return out;
}

json ToJson(const v1::Observation& one) {
  json out = json::object();
  if (one.has_num_nodes()) out["num_nodes"] = one.num_nodes();
  if (one.has_num_replicas()) out["num_replicas"] = one.num_replicas();
  if (one.has_atomic_bsz()) out["atomic_bsz"] = one.atomic_bsz();
  if (one.has_accum_step_time()) out["accum_step_time"] = one.accum_step_time();
  if (one.has_optim_step_time()) out["optim_step_time"] = one.optim_step_time();
  return out;
}

json ToJson(const v1::Hints& hints) {
  json out = json::object();
  if (hints.has_init_batch_size()) out["initBatchSize"] = hints.init_batch_size();
  if (hints.has_local_bsz_bounds()) out["localBszBounds"] = ToJson(hints.local_bsz_bounds());
  if (hints.has_global_batch_size()) out["globalBatchSize"] = hints.global_batch_size();
  if (hints.has_max_batch_size()) out["maxBatchSize"] = hints.max_batch_size();
  if (hints.has_max_profiled_replicas()) out["maxProfiledReplicas"] = hints.max_profiled_replicas();
  if (hints.has_gradient_accumulation()) out["gradientAccumulation"] = hints.gradient_accumulation();
  if (hints.has_grad_params()) out["gradParams"] = ToJson(hints.grad_params());
  if (hints.has_perf_params()) out["perfParams"] = ToJson(hints.perf_params());
  if (hints.has_progress()) out["progress"] = hints.progress();
  if (hints.has_total_progress()) out["totalProgress"] = hints.total_progress();
  if (hints.has_epochs()) out["epochs"] = hints.epochs();
  if (hints.has_finished_epochs()) out["finishedEpochs"] = hints.finished_epochs();
  if (hints.has_checkpoint_seconds()) out["checkpointSeconds"] = hints.checkpoint_seconds();
  if (hints.has_restart_seconds()) out["restartSeconds"] = hints.restart_seconds();
  for (const v1::Observation& one : hints.profile()) out["profile"].push_back(ToJson(one));
  return out;
}

int HexDigit(char c) {
  if (c >= '0' && c <= '9') return c - '0';
  if (c >= 'A' && c <= 'F') return c - 'A' + 10;
  return c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

std::string PercentDecoded(std::string_view text) {
  std::string out;
  for (std::size_t i = 0; i < text.size(); ++i) {
    const bool escape =
        text[i] == '%' && i + 2 < text.size() && HexDigit(text[i + 1]) >= 0 && HexDigit(text[i + 2]) >= 0;
    out += escape ? static_cast<char>(HexDigit(text[i + 1]) * 16 + HexDigit(text[i + 2])) : text[i];
    if (escape) i += 2;
  }
  return out;
}

}  // namespace

// By way of JSON: one codec decides what a report may say.
Result<Hints> ReadHints(const v1::Hints& message) { return FromJson<Hints>(ToJson(message), "hints"); }

Result<Duration> ReadTimeout(const google::protobuf::Duration& message) {
  constexpr std::int64_t kDay = 24 * 60 * 60;
  if (message.seconds() < 0 || message.nanos() < 0) return Invalid("timeout: must not be negative");
  if (message.nanos() > 999'999'999) return Invalid("timeout.nanos: must be below a second");
  return seconds(std::min(message.seconds(), kDay)) + nanoseconds(message.nanos());
}

std::string BearerToken(std::string_view authorization) {
  constexpr std::string_view kScheme = "bearer ";
  const bool bearer = authorization.size() > kScheme.size() &&
                      std::equal(kScheme.begin(), kScheme.end(), authorization.begin(), [](char a, char b) {
                        return a == (b >= 'A' && b <= 'Z' ? static_cast<char>(b + 32) : b);
                      });
  if (!bearer) return "";
  authorization.remove_prefix(kScheme.size());
  return std::string(authorization);
}

std::string PeerAddress(std::string_view peer) {
  if (!peer.starts_with("ipv4:") && !peer.starts_with("ipv6:")) return std::string(peer);
  std::string address = PercentDecoded(peer.substr(5));
  if (const auto end = address.find(']'); address.starts_with('[') && end != std::string::npos) {
    return address.substr(1, end - 1);
  }
  return address.substr(0, address.rfind(':'));
}

}  // namespace adaptdl
