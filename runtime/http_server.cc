#include "runtime/http_server.h"

#include <netinet/in.h>
#include <netinet/tcp.h>

#include <boost/asio/executor_work_guard.hpp>
#include <boost/asio/ip/v6_only.hpp>
#include <boost/asio/steady_timer.hpp>
#include <map>
#include <thread>
#include <utility>
#include <vector>

#include "runtime/http_connection.h"
#include "runtime/http_places.h"

namespace adaptdl {
namespace {

namespace net = boost::asio;
using boost::system::error_code;
using net::ip::tcp;

constexpr std::chrono::milliseconds kAcceptAgain{100};

// A request may be held for hours; a client that vanished without a word is noticed within some two minutes.
void KeepAlive(tcp::socket& socket) {
  error_code ignored;
  socket.set_option(tcp::no_delay(true), ignored);
  socket.set_option(net::socket_base::keep_alive(true), ignored);
  const std::pair<int, int> options[] = {{TCP_KEEPIDLE, 60}, {TCP_KEEPINTVL, 15}, {TCP_KEEPCNT, 4}};
  for (const auto& [option, value] : options) {
    setsockopt(socket.native_handle(), IPPROTO_TCP, option, &value, sizeof value);
  }
}

}  // namespace

class HttpServer::Core {
 public:
  Core(HttpServerOptions options, HttpHandler handler, std::shared_ptr<ssl_ctx_st> tls)
      : shared_(std::move(options), std::move(handler)), tls_(std::move(tls)) {
    shared_.closed = [this](std::uint64_t id) { Closed(id); };
  }
  Core(const Core&) = delete;
  Core& operator=(const Core&) = delete;

  ~Core() {
    shared_.mailbox->Close();
    shared_.io.stop();
    if (thread_.joinable()) thread_.join();
  }

  Result<void> Listen() {
    const HttpServerOptions& options = shared_.options;
    error_code error;
    const net::ip::address address = net::ip::make_address(options.address, error);
    if (error) return Invalid("address: " + Printable(options.address) + " is not numeric");
    const tcp::endpoint endpoint(address, options.port);
    acceptor_.open(endpoint.protocol(), error);
    if (!error) acceptor_.set_option(tcp::acceptor::reuse_address(true), error);
    if (!error && address.is_v6()) acceptor_.set_option(net::ip::v6_only(false), error);
    if (!error) acceptor_.bind(endpoint, error);
    if (!error) acceptor_.listen(net::socket_base::max_listen_connections, error);
    if (error) {
      return Fail(ErrorCode::kUnavailable, "cannot listen on " + options.address + " port " +
                                               std::to_string(options.port) + ": " +
                                               Printable(error.message()));
    }
    port_ = acceptor_.local_endpoint(error).port();
    Accept();
    thread_ = std::thread([this] { shared_.io.run(); });
    return {};
  }

  std::uint16_t port() const { return port_; }
  bool has_tls() const { return has_tls_; }

  void SetTls(std::shared_ptr<ssl_ctx_st> tls) {
    shared_.mailbox->Post([this, tls = std::move(tls)]() mutable { tls_ = std::move(tls); });
  }

  void Stop(std::function<void()> stopped) {
    shared_.mailbox->Post([this, stopped = std::move(stopped)]() mutable {
      if (std::exchange(shared_.stopping, true)) return;
      stopped_ = std::move(stopped);
      error_code ignored;
      acceptor_.close(ignored);
      for (const auto& connection : Connections()) connection->Stop();
      drain_.expires_after(shared_.options.drain);
      drain_.async_wait([this](error_code error) {
        if (error) return;
        for (const auto& connection : Connections()) connection->Close();
      });
      CheckStopped();
    });
  }

 private:
  struct Entry {
    std::shared_ptr<HttpConnection> connection;
    std::string peer;
    HttpPlaces::Place place;
  };

  void Accept() {
    acceptor_.async_accept([this](error_code error, tcp::socket socket) {
      if (!acceptor_.is_open()) return;
      if (!error) {
        Add(std::move(socket));
        return Accept();
      }
      // Out of file descriptors, as a rule: trying again at once would only keep the thread busy.
      accept_again_.expires_after(kAcceptAgain);
      accept_again_.async_wait([this](error_code) {
        if (acceptor_.is_open()) Accept();
      });
    });
  }

  void Add(tcp::socket socket) {
    error_code error;
    const tcp::endpoint endpoint = socket.remote_endpoint(error);
    if (error) return;
    const std::string peer = endpoint.address().to_string();
    const std::optional<HttpPlaces::Place> place = places_.Take(peer);
    if (!place) return;
    KeepAlive(socket);
    const std::uint64_t id = next_id_++;
    auto connection = MakeHttpConnection(shared_, id, MakeHttpStream(std::move(socket), tls_.get()), peer,
                                         *place == HttpPlaces::Place::kRefused);
    connections_.emplace(id, Entry{connection, peer, *place});
    connection->Start();
  }

  // Copies: closing one takes it out of the map.
  std::vector<std::shared_ptr<HttpConnection>> Connections() const {
    std::vector<std::shared_ptr<HttpConnection>> out;
    out.reserve(connections_.size());
    for (const auto& [id, entry] : connections_) out.push_back(entry.connection);
    return out;
  }

  void Closed(std::uint64_t id) {
    const auto at = connections_.find(id);
    places_.Leave(at->second.peer, at->second.place);
    connections_.erase(at);
    CheckStopped();
  }

  void CheckStopped() {
    if (!shared_.stopping || !connections_.empty()) return;
    drain_.cancel();
    if (const auto stopped = std::exchange(stopped_, nullptr)) stopped();
  }

  HttpShared shared_;
  net::executor_work_guard<net::io_context::executor_type> work_{shared_.io.get_executor()};
  tcp::acceptor acceptor_{shared_.io};
  net::steady_timer accept_again_{shared_.io};
  net::steady_timer drain_{shared_.io};
  std::uint16_t port_ = 0;
  std::shared_ptr<ssl_ctx_st> tls_;
  const bool has_tls_ = tls_ != nullptr;
  std::map<std::uint64_t, Entry> connections_;
  HttpPlaces places_{shared_.options.connections, shared_.options.connections_per_peer};
  std::uint64_t next_id_ = 0;
  std::function<void()> stopped_;
  std::thread thread_;
};

HttpServer::HttpServer(std::unique_ptr<Core> core) : core_(std::move(core)) {}
HttpServer::~HttpServer() = default;

Result<std::unique_ptr<HttpServer>> HttpServer::Start(HttpServerOptions options, HttpHandler handler) {
  std::shared_ptr<ssl_ctx_st> tls;
  if (options.tls) {
    Result<std::shared_ptr<ssl_ctx_st>> made = MakeServerTls(*options.tls);
    if (!made) return tl::unexpected(made.error());
    tls = *std::move(made);
    options.tls.reset();  // The key is not kept twice.
  }
  auto core = std::make_unique<Core>(std::move(options), std::move(handler), std::move(tls));
  if (const Result<void> listening = core->Listen(); !listening) return tl::unexpected(listening.error());
  return std::unique_ptr<HttpServer>(new HttpServer(std::move(core)));
}

std::uint16_t HttpServer::port() const { return core_->port(); }

Result<void> HttpServer::ReloadTls(const TlsIdentity& identity) {
  if (!core_->has_tls()) return Invalid("TLS: this server was started without it");
  return MakeServerTls(identity).map(
      [this](std::shared_ptr<ssl_ctx_st> tls) { core_->SetTls(std::move(tls)); });
}

void HttpServer::Stop(std::function<void()> stopped) { core_->Stop(std::move(stopped)); }

}  // namespace adaptdl
