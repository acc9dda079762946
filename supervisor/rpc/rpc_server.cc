#include "supervisor/rpc/rpc_server.h"

#include <arpa/inet.h>
#include <grpc/support/log.h>
#include <grpcpp/grpcpp.h>
#include <grpcpp/impl/service_type.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <iostream>
#include <string_view>
#include <system_error>
#include <thread>
#include <utility>

#include "supervisor/rpc/rpc_calls.h"

namespace adaptdl {
namespace {

using std::chrono::milliseconds;

// For the last words to leave, after `drain`.
constexpr milliseconds kLastWords{1'000};

struct Endpoint {
  std::string name;  // "10.0.0.1:80", "[::1]:80".
  sockaddr_storage address = {};
};

Result<Endpoint> EndpointOf(const RpcServerOptions& options) {
  Endpoint endpoint;
  const std::string port = ":" + std::to_string(options.port);
  sockaddr_in v4{.sin_family = AF_INET, .sin_port = htons(options.port)};
  sockaddr_in6 v6{.sin6_family = AF_INET6, .sin6_port = htons(options.port)};
  if (inet_pton(AF_INET, options.address.c_str(), &v4.sin_addr) == 1) {
    endpoint.name = options.address + port;
    std::memcpy(&endpoint.address, &v4, sizeof v4);
  } else if (inet_pton(AF_INET6, options.address.c_str(), &v6.sin6_addr) == 1) {
    endpoint.name = "[" + options.address + "]" + port;
    std::memcpy(&endpoint.address, &v6, sizeof v6);
  } else {
    return Invalid("address: " + Printable(options.address) + " is not numeric");
  }
  return endpoint;
}

// gRPC does not say why it cannot listen; the system says it again.
std::string WhyNot(const Endpoint& endpoint) {
  const int probe = socket(endpoint.address.ss_family, SOCK_STREAM | SOCK_CLOEXEC, 0);
  const auto* address =
      reinterpret_cast<const sockaddr*>(&endpoint.address);  // NOLINT(google-readability-casting)
  const bool fails = probe < 0 || bind(probe, address, sizeof endpoint.address) != 0;
  const std::string why = fails ? ": " + std::generic_category().message(errno) : "";
  if (probe >= 0) close(probe);
  return why;
}

Result<std::shared_ptr<grpc::ServerCredentials>> Credentials(const std::optional<TlsIdentity>& tls) {
  if (!tls) return grpc::InsecureServerCredentials();
  if (const auto checked = MakeServerTls(*tls); !checked) return tl::unexpected(checked.error());
  grpc::SslServerCredentialsOptions options;
  options.pem_key_cert_pairs.push_back({tls->key, tls->certificates});
  return grpc::SslServerCredentials(options);
}

void SetLimits(const RpcServerOptions& options, grpc::ServerBuilder* builder) {
  const auto set = [&](const char* name, std::int64_t value) {
    builder->AddChannelArgument(name, static_cast<int>(value));
  };
  builder->SetMaxReceiveMessageSize(options.message_bytes);
  // A small message could become a large one.
  builder->SetCompressionAlgorithmSupportStatus(GRPC_COMPRESS_DEFLATE, false);
  builder->SetCompressionAlgorithmSupportStatus(GRPC_COMPRESS_GZIP, false);
  set(GRPC_ARG_MAX_METADATA_SIZE, options.metadata_bytes);
  set(GRPC_ARG_MAX_CONCURRENT_STREAMS, options.streams);
  set(GRPC_ARG_MAX_CONNECTION_IDLE_MS, options.idle_timeout.count());
  set(GRPC_ARG_KEEPALIVE_TIME_MS, options.keepalive.count());
  set(GRPC_ARG_KEEPALIVE_TIMEOUT_MS, options.keepalive_timeout.count());
  set(GRPC_ARG_HTTP2_MAX_PINGS_WITHOUT_DATA, 0);  // As many as are due: a held call has no data.
  set(GRPC_ARG_HTTP2_MIN_RECV_PING_INTERVAL_WITHOUT_DATA_MS, options.least_ping.count());
  set(GRPC_ARG_ALLOW_REUSEPORT, 0);  // Two servers would share a port without a word.
}

}  // namespace

class RpcServer::Core {
 public:
  Core(Clock& clock, Supervisor& supervisor, milliseconds drain)
      : clock_(clock), drain_(drain), calls_(clock, supervisor), service_(MakeRpcService(calls_)) {}
  Core(const Core&) = delete;
  Core& operator=(const Core&) = delete;

  ~Core() {
    if (server_ == nullptr) return;
    calls_.Close();
    if (stopper_.joinable()) {
      stopper_.join();
    } else {
      server_->Shutdown(std::chrono::system_clock::now());
    }
    calls_.WaitUntilNone();
  }

  Result<void> Listen(const RpcServerOptions& options) {
    const Result<Endpoint> endpoint = EndpointOf(options);
    if (!endpoint) return tl::unexpected(endpoint.error());
    const auto credentials = Credentials(options.tls);
    if (!credentials) return tl::unexpected(credentials.error());
    grpc::ServerBuilder builder;
    SetLimits(options, &builder);
    builder.AddListeningPort(endpoint->name, *credentials, &port_);
    builder.RegisterService(service_.get());
    server_ = builder.BuildAndStart();
    if (server_ == nullptr || port_ == 0) {
      return Fail(ErrorCode::kUnavailable, "cannot listen on " + options.address + " port " +
                                               std::to_string(options.port) + WhyNot(*endpoint));
    }
    return {};
  }

  std::uint16_t port() const { return static_cast<std::uint16_t>(port_); }

  void Stop(std::function<void()> stopped) {
    if (!calls_.Stop()) return;
    stopped_ = std::move(stopped);
    end_ = clock_.After(drain_, [this] { calls_.EndAll(); });
    // gRPC knows no other way than to wait for it.
    stopper_ = std::thread([this, self = std::weak_ptr(self_)] {
      server_->Shutdown(std::chrono::system_clock::now() + drain_ + kLastWords);
      clock_.Post([self] {
        const auto core = self.lock();
        if (core == nullptr) return;
        (*core)->end_.reset();
        if (const auto done = std::exchange((*core)->stopped_, nullptr)) done();
      });
    });
  }

 private:
  Clock& clock_;
  const milliseconds drain_;
  RpcCalls calls_;
  const std::unique_ptr<grpc::Service> service_;
  int port_ = 0;
  std::unique_ptr<grpc::Server> server_;
  Timer end_;
  std::function<void()> stopped_;
  std::thread stopper_;
  const std::shared_ptr<Core*> self_ = std::make_shared<Core*>(this);  // Gone with this.
};

void RpcServer::SilenceLibrary() {
  gpr_set_log_function([](gpr_log_func_args* args) {
    const std::string_view message = args->message;
    if (message.starts_with("assertion failed")) std::cerr << "gRPC: " << message << std::endl;
  });
}

RpcServer::RpcServer(std::unique_ptr<Core> core) : core_(std::move(core)) {}
RpcServer::~RpcServer() = default;

Result<std::unique_ptr<RpcServer>> RpcServer::Start(Clock& clock, Supervisor& supervisor,
                                                    const RpcServerOptions& options) {
  auto core = std::make_unique<Core>(clock, supervisor, options.drain);
  if (const Result<void> listening = core->Listen(options); !listening) {
    return tl::unexpected(listening.error());
  }
  return std::unique_ptr<RpcServer>(new RpcServer(std::move(core)));
}

std::uint16_t RpcServer::port() const { return core_->port(); }

void RpcServer::Stop(std::function<void()> stopped) { core_->Stop(std::move(stopped)); }

}  // namespace adaptdl
