// What adaptdl-supervisor can be told: flags, environment and a file, see runtime/config.h.
#pragma once

#include <chrono>
#include <cstdint>
#include <string>

#include "cluster/kube/program_cluster.h"
#include "runtime/config.h"
#include "runtime/program.h"
#include "supervisor/supervisor.h"

namespace adaptdl {

struct SupervisorSettings {
  KubeSettings kube = {};
  std::string name_space = {};

  std::string address = "0.0.0.0";
  std::int64_t port = 8080;
  std::int64_t grpc_port = 0;  // 0: no gRPC.
  std::int64_t metrics_port = 9091;
  std::string certificate = {};
  std::string key = {};

  AuthMode auth = AuthMode::kRequired;
  std::string token_keys = {};  // Path.

  std::chrono::milliseconds longest_poll{300'000};
  std::int64_t waiting_per_job = 2000;
  std::int64_t connections = 20'000;
  std::int64_t connections_per_client = 2000;
  double client_rate = 20, client_burst = 200;
  double job_rate = 200, job_burst = 4000;
  double hint_writes = 50;

  std::chrono::milliseconds drain_delay{5'000};
  std::chrono::milliseconds shutdown_limit{25'000};
  LogSettings log = {};
};

// `settings` outlives the schema.
void Bind(SupervisorSettings& settings, ConfigSchema& schema);

// What does not fit together, by the name of its key.
Result<void> Validate(const SupervisorSettings& settings);

}  // namespace adaptdl
