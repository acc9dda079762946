// What adaptdl-operator can be told: flags, environment and a file, see runtime/config.h.
#pragma once

#include <chrono>
#include <cstdint>
#include <string>

#include "cluster/kube/program_cluster.h"
#include "runtime/config.h"
#include "runtime/program.h"

namespace adaptdl {

struct OperatorSettings {
  KubeSettings kube = {};
  std::string name_space = {};

  std::string lease_name = "adaptdl-operator";
  std::string lease_namespace = {};  // Empty: that of the connection.
  std::string identity = {};         // Empty: made up.

  std::int64_t concurrency = 64;

  std::string supervisor_url = {};
  std::string token_keys = {};  // Path; empty: replicas are given no tokens.
  std::string version = ADAPTDL_VERSION;
  std::string default_resources = {};
  std::string patch_pods = {};
  std::string patch_containers = {};

  std::string address = "0.0.0.0";
  std::int64_t metrics_port = 9091;
  std::int64_t webhook_port = 0;  // 0: no webhook.
  std::string webhook_certificate = {};
  std::string webhook_key = {};

  std::chrono::milliseconds shutdown_limit{20'000};
  LogSettings log = {};
};

// `settings` outlives the schema.
void Bind(OperatorSettings& settings, ConfigSchema& schema);

// What does not fit together, by the name of its key.
Result<void> Validate(const OperatorSettings& settings);

}  // namespace adaptdl
