// adaptdl-operator: cares for the AdaptDLJobs of a Kubernetes cluster.
#include <unistd.h>

#include <iostream>
#include <memory>
#include <optional>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include "cluster/kube/kube_cluster.h"
#include "cluster/kube/kube_config.h"
#include "operator/admission.h"
#include "operator/operator.h"
#include "operator/settings.h"
#include "runtime/event_loop.h"
#include "runtime/health.h"
#include "runtime/http_server.h"
#include "runtime/shutdown.h"
#include "runtime/tls_files.h"

namespace adaptdl {
namespace {

// A write that was begun while this instance led is over before another may act: the call's deadline is
// shorter than what lies between the two.
constexpr std::chrono::seconds kLeaseDuration{20};
constexpr std::chrono::seconds kRenewDeadline{10};
constexpr std::chrono::seconds kCallDeadline{8};

constexpr std::chrono::seconds kHousekeeping{1};
constexpr std::chrono::seconds kLoopLimit{60};  // Beyond, the program hangs.

std::string MakeIdentity(std::uint64_t random) {
  char host[256] = "";
  if (gethostname(host, sizeof host - 1) != 0) host[0] = '\0';
  return std::string(host) + "-" + std::to_string(random % 1'000'000'000);
}

Result<KubeConnection> Connection(const OperatorSettings& settings, const Environment& environment) {
  return settings.kubeconfig.empty() ? FindConnection(environment) : LoadKubeconfig(settings.kubeconfig);
}

// The parts of the program, in the order in which they need each other.
class Program {
 public:
  Program(OperatorSettings settings, Logger log)
      : settings_(std::move(settings)), log_(std::move(log)), seed_(std::random_device()()) {}

  Result<void> Start(const Environment& environment) {
    auto connection = Connection(settings_, environment);
    if (!connection) return tl::unexpected(connection.error());
    auto pods =
        PodSettings::Parse(settings_.default_resources, settings_.patch_pods, settings_.patch_containers);
    if (!pods) return tl::unexpected(pods.error());
    pods->supervisor_url = settings_.supervisor_url;
    pods->version = settings_.version;
    return OperatorMetrics::Make(metrics_).and_then([&](const OperatorMetrics& jobs) {
      return ControllerMetrics::Make(metrics_).and_then([&](const ControllerMetrics& controller) {
        return Connect(*connection).and_then([&]() -> Result<void> {
          operator_ = std::make_unique<Operator>(loop_, *cluster_, Options(*connection, *std::move(pods)),
                                                 log_, jobs, controller);
          return Serve();
        });
      });
    });
  }

  // Until a signal.
  int Run(Shutdown& shutdown) {
    Housekeeping();
    const int signal = shutdown.RunUntilSignal(loop_, [this](const std::function<void()>& done) {
      log_.Info("stopping");
      housekeeping_.reset();  // It would say that all is ready.
      health_.Set(Health::Probe::kReady, "operator", Fail(ErrorCode::kUnavailable, "it is stopping"));
      operator_->Stop([this, done] { StopServing(done); });
    });
    log_.Info("stopped");
    return signal == 0 ? 1 : 0;
  }

 private:
  Result<void> Connect(const KubeConnection& connection) {
    auto requests =
        metrics_.AddCounter("adaptdl_api_requests_total",
                            "Requests to the API server; code 0: no answer came", {"verb", "kind", "code"});
    if (!requests) return tl::unexpected(requests.error());
    KubeOptions options;
    options.requests_per_second = settings_.requests_per_second;
    options.burst = settings_.burst;
    options.call_deadline = kCallDeadline;
    options.user_agent = "adaptdl-operator/" ADAPTDL_VERSION;
    options.seed = seed_;
    options.on_request = [requests = *requests](std::string_view verb, Kind kind, int status) {
      requests.Increment({verb, ToString(kind), std::to_string(status)});
    };
    return ConnectToKubernetes(connection, options, loop_).map([this](std::unique_ptr<Cluster> cluster) {
      cluster_ = std::move(cluster);
    });
  }

  OperatorOptions Options(const KubeConnection& connection, PodSettings pods) const {
    OperatorOptions options;
    options.election.lease = {
        settings_.lease_namespace.empty() ? connection.name_space : settings_.lease_namespace,
        settings_.lease_name};
    options.election.identity = settings_.identity.empty() ? MakeIdentity(seed_) : settings_.identity;
    options.election.lease_duration = kLeaseDuration;
    options.election.renew_deadline = kRenewDeadline;
    options.election.seed = seed_ + 1;
    options.pods = std::move(pods);
    options.name_space = settings_.name_space;
    options.concurrency = static_cast<std::size_t>(settings_.concurrency);
    options.seed = seed_ + 2;
    return options;
  }

  Result<void> Serve() {
    health_.Set(Health::Probe::kReady, "operator", operator_->Readiness());
    health_.WatchOver("loop", loop_, kLoopLimit);
    HttpServerOptions options;
    options.address = settings_.address;
    options.port = static_cast<std::uint16_t>(settings_.metrics_port);
    options.connections = 100;
    auto server = HttpServer::Start(options, HealthHandler(health_, metrics_));
    if (!server) return tl::unexpected(server.error());
    health_server_ = *std::move(server);
    log_.Info("serving metrics and health", {{"port", health_server_->port()}});
    return settings_.webhook_port == 0 ? Result<void>() : ServeWebhook();
  }

  Result<void> ServeWebhook() {
    auto reviews = metrics_.AddCounter("adaptdl_admission_reviews_total",
                                       "Jobs that were looked at on admission", {"result"});
    if (!reviews) return tl::unexpected(reviews.error());
    const TlsFiles files{settings_.webhook_certificate, settings_.webhook_key};
    const auto identity = ReadTlsFiles(files);
    if (!identity) return tl::unexpected(identity.error());
    HttpServerOptions options;
    options.address = settings_.address;
    options.port = static_cast<std::uint16_t>(settings_.webhook_port);
    options.body_bytes = kMaxReviewBytes;
    options.connections = 1000;
    options.tls = *identity;
    const Logger log = log_.Named("webhook");
    auto server =
        HttpServer::Start(options, OnClock(loop_, AdmissionHandler(loop_, *cluster_, log, *reviews)));
    if (!server) return tl::unexpected(server.error());
    webhook_ = *std::move(server);
    certificates_ = std::make_unique<TlsReloader>(
        loop_, files, *identity, [this](const TlsIdentity& renewed) { return webhook_->ReloadTls(renewed); },
        log);
    log.Info("serving admission", {{"port", webhook_->port()}});
    return {};
  }

  // Every second: what others read without asking.
  void Housekeeping() {
    operator_->Measure();
    health_.Set(Health::Probe::kReady, "operator", operator_->Readiness());
    housekeeping_ = loop_.After(kHousekeeping, [this] { Housekeeping(); });
  }

  void StopServing(const std::function<void()>& done) {
    if (webhook_ == nullptr) return done();
    webhook_->Stop(done);
  }

  const OperatorSettings settings_;
  const Logger log_;
  const std::uint64_t seed_;
  Metrics metrics_;
  EventLoop loop_;
  Health health_;
  std::unique_ptr<Cluster> cluster_;
  std::unique_ptr<Operator> operator_;
  std::unique_ptr<HttpServer> webhook_;
  std::unique_ptr<TlsReloader> certificates_;
  std::unique_ptr<HttpServer> health_server_;
  Timer housekeeping_;
};

int Complain(const std::string& message, int code) {
  std::cerr << "adaptdl-operator: " << message << "\n";
  return code;
}

int Main(const std::vector<std::string>& args) {
  constexpr int kFailed = 1;
  constexpr int kWrongUsage = 2;
  constexpr std::size_t kWidth = 100;
  const Environment environment = ProcessEnvironment();
  OperatorSettings settings;
  ConfigSchema schema;
  Bind(settings, schema);
  const auto arguments = schema.Load(args, environment);
  if (!arguments) return Complain(arguments.error().message, kWrongUsage);
  if (arguments->help) {
    std::cout
        << "Cares for the AdaptDLJobs of a Kubernetes cluster: starts, moves and ends their replicas.\n\n"
           "usage: adaptdl-operator [FLAGS]\n\nflags:\n"
        << schema.Help(kWidth);
    return 0;
  }
  if (arguments->version) {
    std::cout << "adaptdl-operator " ADAPTDL_VERSION "\n";
    return 0;
  }
  if (arguments->print_config) {
    std::cout << schema.Print();
    return 0;
  }
  if (!arguments->positional.empty()) {
    return Complain(Printable(arguments->positional.front()) + ": it takes flags only; see --help",
                    kWrongUsage);
  }
  if (const auto valid = Validate(settings); !valid) return Complain(valid.error().message, kWrongUsage);
  Shutdown shutdown(settings.shutdown_limit);
  Program program(settings, Logger("operator", {.level = settings.log_level, .format = settings.log_format}));
  if (const auto started = program.Start(environment); !started) {
    return Complain(started.error().message, kFailed);
  }
  return program.Run(shutdown);
}

}  // namespace
}  // namespace adaptdl

int main(int argc, char** argv) { return adaptdl::Main({argv + 1, argv + argc}); }
