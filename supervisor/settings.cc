#include "supervisor/settings.h"

namespace adaptdl {

namespace {

using std::chrono::milliseconds;

void BindLimits(SupervisorSettings& settings, ConfigSchema& schema) {
  schema.Add({.key = "limits.poll", .help = "A replica is told to ask again after this long at the latest"},
             settings.longest_poll, {.min = milliseconds(1000)});
  schema.Add({.key = "limits.waiting-per-job", .help = "Most requests of one job that wait at the same time"},
             settings.waiting_per_job, {.min = 1});
  schema.Add({.key = "limits.connections", .help = "Most connections at the same time"}, settings.connections,
             {.min = 1});
  schema.Add(
      {.key = "limits.connections-per-client", .help = "The same of one address; 0: as many as of all"},
      settings.connections_per_client, {.min = 0});
  schema.Add({.key = "limits.client-rate", .help = "Most requests a second of one address, in the long run"},
             settings.client_rate, {.min = 0.1});
  schema.Add({.key = "limits.client-burst", .help = "The same at once"}, settings.client_burst, {.min = 1});
  schema.Add({.key = "limits.job-rate", .help = "Most requests a second about one job, in the long run"},
             settings.job_rate, {.min = 0.1});
  schema.Add({.key = "limits.job-burst", .help = "The same at once"}, settings.job_burst, {.min = 1});
  schema.Add({.key = "limits.hint-writes", .help = "Most writes of hints to the API server a second"},
             settings.hint_writes, {.min = 0.1});
}

}  // namespace

void Bind(SupervisorSettings& settings, ConfigSchema& schema) {
  constexpr std::int64_t kMaxPort = 65535;
  Bind(settings.kube, schema);
  schema.Add({.key = "namespace", .help = "Whose jobs to serve; empty: those of every namespace"},
             settings.name_space);
  schema.Add({.key = "address", .help = "Where to listen; \"::\" for both families"}, settings.address);
  schema.Add({.key = "port",
              .help = "Of /discover, /hints and /healthz; 0: any free one",
              .env = "ADAPTDL_SUPERVISOR_SERVICE_PORT"},
             settings.port, {.min = 0, .max = kMaxPort});
  schema.Add({.key = "grpc.port", .help = "Of the same as gRPC; 0: none"}, settings.grpc_port,
             {.min = 0, .max = kMaxPort});
  schema.Add({.key = "metrics.port", .help = "Of /metrics, /livez and /readyz; 0: any free one"},
             settings.metrics_port, {.min = 0, .max = kMaxPort});
  schema.Add(
      {.key = "tls.certificate",
       .help =
           "File with certificates (PEM), for TLS on both ports; read again when it changes, by HTTP only"},
      settings.certificate);
  schema.Add({.key = "tls.key", .help = "File with its key (PEM)"}, settings.key);
  schema.Add({.key = "auth", .help = "Whether replicas have to show their tokens"}, settings.auth,
             {{"required", AuthMode::kRequired}, {"optional", AuthMode::kOptional}, {"off", AuthMode::kOff}});
  schema.Add({.key = "token-keys",
              .help = "File with the keys of tokens, one a line, as the operator has it; read again when it "
                      "changes"},
             settings.token_keys);
  BindLimits(settings, schema);
  schema.Add({.key = "drain-delay",
              .help = "After SIGTERM, how long to go on serving until everybody knows of another supervisor"},
             settings.drain_delay, {.min = milliseconds(0)});
  schema.Add({.key = "shutdown-limit", .help = "After SIGTERM, how long to finish what is in work"},
             settings.shutdown_limit, {.min = milliseconds(1000)});
  Bind(settings.log, schema);
}

Result<void> Validate(const SupervisorSettings& settings) {
  if (settings.auth != AuthMode::kOff && settings.token_keys.empty()) {
    return Invalid("token-keys: needed to check tokens; see also --auth");
  }
  if (settings.certificate.empty() != settings.key.empty()) {
    return Invalid(std::string(settings.key.empty() ? "tls.key" : "tls.certificate") +
                   ": needed for the other of the two");
  }
  if (settings.shutdown_limit <= settings.drain_delay) {
    return Invalid("shutdown-limit: must be longer than drain-delay");
  }
  return {};
}

}  // namespace adaptdl
