#include "operator/settings.h"

namespace adaptdl {

void Bind(OperatorSettings& settings, ConfigSchema& schema) {
  constexpr std::int64_t kMaxPort = 65535;
  Bind(settings.kube, schema);
  schema.Add({.key = "namespace", .help = "Whose jobs to care for; empty: those of every namespace"},
             settings.name_space);
  schema.Add({.key = "lease.name", .help = "The Lease by which one of several operators leads"},
             settings.lease_name);
  schema.Add({.key = "lease.namespace", .help = "Where that is; empty: the namespace of this pod"},
             settings.lease_namespace);
  schema.Add({.key = "lease.identity", .help = "Who this is; empty: the host and a random number"},
             settings.identity);
  schema.Add({.key = "concurrency", .help = "Jobs in work at the same time"}, settings.concurrency,
             {.min = 1, .max = 1000});
  schema.Add({.key = "job.supervisor-url",
              .help = "Where replicas find the supervisor",
              .env = "ADAPTDL_SUPERVISOR_URL"},
             settings.supervisor_url);
  schema.Add({.key = "job.token-keys",
              .help = "File with the keys of replicas' tokens, one a line, the first one in use; read again "
                      "when it changes; empty: no tokens"},
             settings.token_keys);
  schema.Add(
      {.key = "job.version", .help = "What replicas are told about us", .env = "ADAPTDL_SCHED_VERSION"},
      settings.version);
  schema.Add({.key = "job.default-resources",
              .help = "Requests and limits of replicas that name none, as JSON",
              .env = "ADAPTDL_JOB_DEFAULT_RESOURCES"},
             settings.default_resources);
  schema.Add({.key = "job.patch-pods",
              .help = "Changes to every pod, as a JSON list of operations (RFC 6902)",
              .env = "ADAPTDL_JOB_PATCH_PODS"},
             settings.patch_pods);
  schema.Add({.key = "job.patch-containers",
              .help = "The same for every container",
              .env = "ADAPTDL_JOB_PATCH_CONTAINERS"},
             settings.patch_containers);
  schema.Add({.key = "address", .help = "Where to listen"}, settings.address);
  schema.Add({.key = "metrics.port", .help = "Of /metrics, /livez and /readyz; 0: any free one"},
             settings.metrics_port, {.min = 0, .max = kMaxPort});
  schema.Add({.key = "webhook.port", .help = "Of the admission webhook (HTTPS); 0: none"},
             settings.webhook_port, {.min = 0, .max = kMaxPort});
  schema.Add(
      {.key = "webhook.certificate", .help = "File with its certificates (PEM); read again when it changes"},
      settings.webhook_certificate);
  schema.Add({.key = "webhook.key", .help = "File with its key (PEM)"}, settings.webhook_key);
  schema.Add({.key = "shutdown-limit", .help = "After SIGTERM, how long to finish what is in work"},
             settings.shutdown_limit, {.min = std::chrono::milliseconds(1000)});
  Bind(settings.log, schema);
}

Result<void> Validate(const OperatorSettings& settings) {
  if (settings.lease_name.empty()) return Invalid("lease.name: must not be empty");
  if (settings.webhook_port == 0) return {};
  if (settings.webhook_certificate.empty()) return Invalid("webhook.certificate: needed for webhook.port");
  if (settings.webhook_key.empty()) return Invalid("webhook.key: needed for webhook.port");
  return {};
}

}  // namespace adaptdl
