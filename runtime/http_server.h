// The HTTP/1.1 server of every program: one thread, connections that stay open, answers that may come much
// later. Plain or TLS.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>

#include "runtime/http.h"
#include "runtime/result.h"
#include "runtime/tls_identity.h"

namespace adaptdl {

struct HttpServerOptions {
  std::string address = "0.0.0.0";  // Numeric. "::" takes both families.
  std::uint16_t port = 0;           // 0: any free one.
  std::optional<TlsIdentity> tls = {};

  std::uint32_t header_bytes = 16 * 1024;          // Beyond: 431.
  std::size_t body_bytes = std::size_t{1} << 20U;  // Beyond: 413.
  std::size_t target_bytes = 8 * 1024;             // Beyond: 414.
  std::size_t connections = 10000;                 // Beyond: 503.
  std::size_t connections_per_peer = 0;            // Of one address; 0: no limit of its own. Beyond: 503.
  std::chrono::milliseconds read_timeout{
      30'000};  // From a request's first byte, or its connection, to its last byte.
  std::chrono::milliseconds idle_timeout{60'000};   // Between two requests.
  std::chrono::milliseconds write_timeout{30'000};  // For an answer to leave.
  std::chrono::milliseconds drain{10'000};          // For requests in hand, once the server stops.

  // Words what the server answers by itself: the refusals above, 400, and the 500 of a dropped request. The
  // status stays the server's, `why` is safe to print. On the server's thread. Empty: plain text.
  std::function<HttpResponse(int status, const std::string& why)> refusal = {};
};

class HttpServer {
 public:
  // Serves from now on. `handler` is called on the server's thread and must not block; for each request whose
  // form is right, one at a time on a connection. Malformed requests are refused without it. Fails where the
  // address cannot be had, with its name, or the TLS identity is wrong.
  static Result<std::unique_ptr<HttpServer>> Start(HttpServerOptions options, HttpHandler handler);

  // Cuts off what is left and joins the thread: after that, neither the handler nor any OnGone is called. Not
  // from the server's own thread.
  ~HttpServer();
  HttpServer(const HttpServer&) = delete;
  HttpServer& operator=(const HttpServer&) = delete;

  std::uint16_t port() const;

  // What new connections are made with; those there are keep what they have. On failure nothing changes. From
  // any thread.
  Result<void> ReloadTls(const TlsIdentity& identity);

  // Takes no more connections, closes the idle ones, and the others once their request is answered, but all
  // of them once `drain` has passed. Returns at once; `stopped` is called on the server's thread when no
  // connection is left. From any thread; later calls do nothing and drop their `stopped`.
  void Stop(std::function<void()> stopped = {});

 private:
  class Core;
  explicit HttpServer(std::unique_ptr<Core> core);

  std::unique_ptr<Core> core_;
};

}  // namespace adaptdl
