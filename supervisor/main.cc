// adaptdl-supervisor: the service that training processes talk to.
#include <sys/resource.h>

#include <algorithm>
#include <memory>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include "cluster/kube/program_cluster.h"
#include "runtime/event_loop.h"
#include "runtime/health.h"
#include "runtime/http_server.h"
#include "runtime/program.h"
#include "runtime/shutdown.h"
#include "runtime/tls_files.h"
#include "supervisor/rest/rest.h"
#include "supervisor/rpc/rpc_server.h"
#include "supervisor/settings.h"
#include "supervisor/supervisor.h"
#include "supervisor/token_key_file.h"

namespace adaptdl {
namespace {

constexpr std::chrono::seconds kHousekeeping{1};
constexpr std::chrono::seconds kLoopLimit{60};  // Beyond, the program hangs.
// So that an API server that is away is noticed soon, and two writes, one after the other, fit into what is
// left for shutting down.
constexpr std::chrono::seconds kCallDeadline{8};
constexpr std::size_t kMaxBody = 64 * 1024;  // A report of the largest size that is taken has half of that.
constexpr std::size_t kMaxTarget = 1024;
constexpr std::uint32_t kMaxHeader = 8 * 1024;

// As many files as the system lets this process open; how many those are.
std::size_t RaiseFileLimit() {
  rlimit limit{};
  if (getrlimit(RLIMIT_NOFILE, &limit) != 0) return 1024;
  limit.rlim_cur = limit.rlim_max;
  setrlimit(RLIMIT_NOFILE, &limit);
  getrlimit(RLIMIT_NOFILE, &limit);
  return limit.rlim_cur;
}

// The parts of the program, in the order in which they need each other.
class Program {
 public:
  Program(SupervisorSettings settings, Logger log)
      : settings_(std::move(settings)), log_(std::move(log)), seed_(std::random_device()()) {}

  Result<void> Start(const Environment& environment) {
    auto connection = FindConnection(settings_.kube, environment);
    if (!connection) return tl::unexpected(connection.error());
    if (auto keys = ReadKeys(); !keys) return keys;
    KubeOptions options;
    options.call_deadline = kCallDeadline;
    options.user_agent = "adaptdl-supervisor/" ADAPTDL_VERSION;
    options.seed = seed_;
    auto cluster = ConnectProgram(*connection, settings_.kube, options, loop_, metrics_);
    if (!cluster) return tl::unexpected(cluster.error());
    cluster_ = *std::move(cluster);
    const auto made = SupervisorMetrics::Make(metrics_);
    if (!made) return tl::unexpected(made.error());
    supervisor_ = std::make_unique<Supervisor>(loop_, *cluster_, Options(), log_, *made);
    return ServeHealth().and_then([this] { return Serve(); }).map([this] { Announce(); });
  }

  // Until a signal.
  int Run(Shutdown& shutdown) {
    Housekeeping();
    const int signal = shutdown.RunUntilSignal(loop_, [this](const std::function<void()>& done) {
      log_.Info("stopping", {{"drain_ms", settings_.drain_delay.count()}});
      housekeeping_.reset();  // It would say that all is ready.
      health_.Set(Health::Probe::kReady, "supervisor", Fail(ErrorCode::kUnavailable, "it is stopping"));
      // Until then others may still be sent here.
      housekeeping_ = loop_.After(settings_.drain_delay, [this, done] { Stop(done); });
    });
    log_.Info("stopped");
    return signal == 0 ? 1 : 0;
  }

 private:
  Result<void> ReadKeys() {
    if (settings_.auth == AuthMode::kOff) return {};
    const auto changed = [this](const TokenKeys& keys) { supervisor_->UseKeys(keys); };
    return TokenKeyFile::Open(loop_, settings_.token_keys, changed, log_)
        .map([this](std::unique_ptr<TokenKeyFile> file) { token_keys_ = std::move(file); });
  }

  SupervisorOptions Options() const {
    SupervisorOptions options;
    options.name_space = settings_.name_space;
    options.auth = settings_.auth;
    if (token_keys_ != nullptr) options.keys = token_keys_->keys();
    options.longest_poll = settings_.longest_poll;
    options.waiting_per_job = static_cast<std::size_t>(settings_.waiting_per_job);
    options.client_rate = settings_.client_rate;
    options.client_burst = settings_.client_burst;
    options.job_rate = settings_.job_rate;
    options.job_burst = settings_.job_burst;
    options.reports.writes_per_second = settings_.hint_writes;
    options.reports.seed = seed_ + 1;
    options.seed = seed_ + 2;
    return options;
  }

  Result<void> ServeHealth() {
    health_.Set(Health::Probe::kReady, "supervisor", supervisor_->Readiness());
    health_.WatchOver("loop", loop_, kLoopLimit);
    HttpServerOptions options;
    options.address = settings_.address;
    options.port = static_cast<std::uint16_t>(settings_.metrics_port);
    options.connections = 100;
    return HttpServer::Start(options, HealthHandler(health_, metrics_))
        .map([this](std::unique_ptr<HttpServer> server) { health_server_ = std::move(server); });
  }

  Result<void> Serve() {
    HttpServerOptions options;
    options.address = settings_.address;
    options.port = static_cast<std::uint16_t>(settings_.port);
    options.header_bytes = kMaxHeader;
    options.body_bytes = kMaxBody;
    options.target_bytes = kMaxTarget;
    options.connections = Connections();
    options.connections_per_peer = static_cast<std::size_t>(settings_.connections_per_client);
    options.read_timeout = std::chrono::seconds(10);
    options.refusal = JsonError;
    const TlsFiles files{settings_.certificate, settings_.key};
    if (!settings_.certificate.empty()) {
      auto identity = ReadTlsFiles(files);
      if (!identity) return tl::unexpected(identity.error());
      options.tls = *std::move(identity);
    }
    if (auto rpc = ServeRpc(options.tls); !rpc) return rpc;
    auto server = HttpServer::Start(options, OnClock(loop_, RestHandler(loop_, *supervisor_)));
    if (!server) return tl::unexpected(server.error());
    server_ = *std::move(server);
    if (options.tls) {
      certificates_ = std::make_unique<TlsReloader>(
          loop_, files, *options.tls,
          [this](const TlsIdentity& renewed) { return server_->ReloadTls(renewed); }, log_);
    }
    return {};
  }

  Result<void> ServeRpc(const std::optional<TlsIdentity>& tls) {
    if (settings_.grpc_port == 0) return {};
    RpcServerOptions options;
    options.address = settings_.address;
    options.port = static_cast<std::uint16_t>(settings_.grpc_port);
    options.tls = tls;
    return RpcServer::Start(loop_, *supervisor_, options).map([this](std::unique_ptr<RpcServer> server) {
      rpc_server_ = std::move(server);
    });
  }

  // Only once all is well: what keeps it from starting is one line, and the only one.
  void Announce() const {
    if (const std::size_t possible = Connections(); possible < Wanted()) {
      log_.Warn("fewer connections than wanted, for want of file descriptors",
                {{"connections", possible}, {"wanted", Wanted()}});
    }
    log_.Info("serving metrics and health", {{"port", health_server_->port()}});
    if (rpc_server_ != nullptr) log_.Info("serving replicas by gRPC", {{"port", rpc_server_->port()}});
    log_.Info("serving replicas", {{"port", server_->port()}, {"tls", certificates_ != nullptr}});
  }

  std::size_t Wanted() const { return static_cast<std::size_t>(settings_.connections); }
  // No more than there are file descriptors for.
  std::size_t Connections() const {
    constexpr std::size_t kOthers = 200;
    const std::size_t files = RaiseFileLimit();
    return std::min(Wanted(), std::max<std::size_t>(files, 2 * kOthers) - kOthers);
  }

  // Every second: what others read without asking.
  void Housekeeping() {
    supervisor_->Measure();
    health_.Set(Health::Probe::kReady, "supervisor", supervisor_->Readiness());
    housekeeping_ = loop_.After(kHousekeeping, [this] { Housekeeping(); });
  }

  // Nobody is dropped: those who wait are told to ask again, which they do at once, and elsewhere.
  void Stop(const std::function<void()>& done) {
    const auto left = std::make_shared<int>(rpc_server_ == nullptr ? 2 : 3);
    const auto one_done = [this, left, done] {
      loop_.Post([left, done] {
        if (--*left == 0) done();
      });
    };
    server_->Stop(one_done);
    if (rpc_server_ != nullptr) rpc_server_->Stop(one_done);
    supervisor_->Drain(one_done);
  }

  const SupervisorSettings settings_;
  const Logger log_;
  const std::uint64_t seed_;
  Metrics metrics_;
  EventLoop loop_;
  Health health_;
  std::unique_ptr<TokenKeyFile> token_keys_;
  std::unique_ptr<Cluster> cluster_;
  std::unique_ptr<Supervisor> supervisor_;
  std::unique_ptr<HttpServer> server_;
  std::unique_ptr<RpcServer> rpc_server_;
  std::unique_ptr<TlsReloader> certificates_;
  std::unique_ptr<HttpServer> health_server_;
  Timer housekeeping_;
};

int Main(const std::vector<std::string>& args) {
  const ProgramInfo program_info{
      .name = "adaptdl-supervisor",
      .purpose = "Tells the replicas of AdaptDLJobs where their peers are, and takes their reports.",
      .version = ADAPTDL_VERSION};
  const Environment environment = ProcessEnvironment();
  SupervisorSettings settings;
  ConfigSchema schema;
  Bind(settings, schema);
  const auto done =
      ReadCommandLine(program_info, schema, args, environment, [&] { return Validate(settings); });
  if (done) return *done;
  RpcServer::SilenceLibrary();
  Shutdown shutdown(settings.shutdown_limit);
  Program program(settings,
                  Logger("supervisor", {.level = settings.log.level, .format = settings.log.format}));
  if (const auto started = program.Start(environment); !started) {
    return Complain(program_info, started.error().message, kExitFailed);
  }
  return program.Run(shutdown);
}

}  // namespace
}  // namespace adaptdl

int main(int argc, char** argv) { return adaptdl::Main({argv + 1, argv + argc}); }
