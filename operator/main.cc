// adaptdl-operator: cares for the AdaptDLJobs of a Kubernetes cluster.
#include <memory>
#include <optional>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include "cluster/kube/program_cluster.h"
#include "operator/admission.h"
#include "operator/operator.h"
#include "operator/settings.h"
#include "runtime/event_loop.h"
#include "runtime/health.h"
#include "runtime/http_server.h"
#include "runtime/program.h"
#include "runtime/shutdown.h"
#include "runtime/tls_files.h"
#include "supervisor/token_key_file.h"

namespace adaptdl {
namespace {

// A write that was begun while this instance led is over before another may act: the call's deadline is
// shorter than what lies between the two.
constexpr std::chrono::seconds kLeaseDuration{20};
constexpr std::chrono::seconds kRenewDeadline{10};
constexpr std::chrono::seconds kCallDeadline{8};

constexpr std::chrono::seconds kHousekeeping{1};
constexpr std::chrono::seconds kLoopLimit{60};  // Beyond, the program hangs.

// The parts of the program, in the order in which they need each other.
class Program {
 public:
  Program(OperatorSettings settings, Logger log)
      : settings_(std::move(settings)), log_(std::move(log)), seed_(std::random_device()()) {}

  Result<void> Start(const Environment& environment) {
    auto connection = FindConnection(settings_.kube, environment);
    if (!connection) return tl::unexpected(connection.error());
    auto pods =
        PodSettings::Parse(settings_.default_resources, settings_.patch_pods, settings_.patch_containers);
    if (!pods) return tl::unexpected(pods.error());
    pods->supervisor_url = settings_.supervisor_url;
    pods->version = settings_.version;
    if (auto keys = UseTokenKeys(&*pods); !keys) return keys;
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
    KubeOptions options;
    options.call_deadline = kCallDeadline;
    options.user_agent = "adaptdl-operator/" ADAPTDL_VERSION;
    options.seed = seed_;
    return ConnectProgram(connection, settings_.kube, options, loop_, metrics_)
        .map([this](std::unique_ptr<Cluster> cluster) { cluster_ = std::move(cluster); });
  }

  // Replicas are given tokens under the first of the keys there are at that time.
  Result<void> UseTokenKeys(PodSettings* pods) {
    if (settings_.token_keys.empty()) return {};
    return TokenKeyFile::Open(
               loop_, settings_.token_keys, [](const TokenKeys&) {}, log_)
        .map([this, pods](std::unique_ptr<TokenKeyFile> file) {
          token_keys_ = std::move(file);
          pods->token = [this](const ReplicaIdentity& replica) { return token_keys_->keys().Seal(replica); };
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
  std::unique_ptr<TokenKeyFile> token_keys_;
  std::unique_ptr<Cluster> cluster_;
  std::unique_ptr<Operator> operator_;
  std::unique_ptr<HttpServer> webhook_;
  std::unique_ptr<TlsReloader> certificates_;
  std::unique_ptr<HttpServer> health_server_;
  Timer housekeeping_;
};

int Main(const std::vector<std::string>& args) {
  const ProgramInfo program_info{
      .name = "adaptdl-operator",
      .purpose = "Cares for the AdaptDLJobs of a Kubernetes cluster: starts, moves and ends their replicas.",
      .version = ADAPTDL_VERSION};
  const Environment environment = ProcessEnvironment();
  OperatorSettings settings;
  ConfigSchema schema;
  Bind(settings, schema);
  const auto done =
      ReadCommandLine(program_info, schema, args, environment, [&] { return Validate(settings); });
  if (done) return *done;
  Shutdown shutdown(settings.shutdown_limit);
  Program program(settings, Logger("operator", {.level = settings.log.level, .format = settings.log.format}));
  if (const auto started = program.Start(environment); !started) {
    return Complain(program_info, started.error().message, kExitFailed);
  }
  return program.Run(shutdown);
}

}  // namespace
}  // namespace adaptdl

int main(int argc, char** argv) { return adaptdl::Main({argv + 1, argv + argc}); }
