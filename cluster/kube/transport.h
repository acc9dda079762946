// HTTP to one server: many requests and streams at the same time, over few connections, on one thread.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>

#include "runtime/result.h"

namespace adaptdl {

// What we show to the server, and by what we know it. Empty: none; for `ca`: what the system trusts.
struct Identity {
  std::string token = {};
  std::string ca = {};  // PEM, as the next two.
  std::string certificate = {};
  std::string key = {};

  friend bool operator==(const Identity&, const Identity&) = default;
};

struct TransferRequest {
  std::string method = "GET";
  std::string target;  // Path and query, percent-encoded.
  std::string body = {};
  std::string content_type = {};  // Of the body.
  std::chrono::milliseconds timeout{30'000};
  std::size_t max_body = std::size_t{256} << 20;  // Of the answer, and unpacked; a stream's is not limited.
  std::shared_ptr<const Identity> identity = {};
  // Makes it a stream: takes the pieces of a 2xx answer's body as they come, on the I/O thread. False ends
  // the transfer.
  std::function<bool(std::string_view)> on_data = {};
};

struct TransferAnswer {
  enum class End {
    kAnswered,   // The answer is here, whole.
    kNotSent,    // It certainly did not reach the server.
    kUntrusted,  // Neither did it: the certificate of the server, or ours, does not do.
    kLost,       // The connection broke after it was sent, before or in the middle of the answer.
    kTimeout,    // The same, by the request's timeout.
    kTooLarge,   // The answer is larger than asked for.
    kStopped,    // on_data did not want more.
  };

  End end = End::kAnswered;
  int status = 0;  // 0: no answer has begun.
  std::chrono::seconds retry_after{0};
  std::string body = {};
  std::string message = {};  // Why it is not whole; safe to print.
};

struct TransportOptions {
  std::string server;  // As in KubeConnection.
  std::string tls_server_name = {};
  bool insecure_skip_tls_verify = false;
  std::string user_agent = "adaptdl-sched";
};

// All methods from any thread. TLS, the server's certificate and its name are checked unless the options say
// otherwise; redirects are not followed, and no proxy of the environment is used.
class Transport {
 public:
  using Handler = std::function<void(TransferAnswer)>;

  static Result<std::unique_ptr<Transport>> Create(TransportOptions options);
  // Ends what is under way, without calling its handlers.
  ~Transport();
  Transport(const Transport&) = delete;
  Transport& operator=(const Transport&) = delete;

  // `done` is called once, on the I/O thread, unless it is cancelled before. A request with another method
  // than GET is sent at most once. The number is for Cancel.
  std::uint64_t Start(TransferRequest request, Handler done);

  // Ends it soon; a handler may still be called if that is already under way.
  void Cancel(std::uint64_t transfer);

 private:
  class Loop;
  explicit Transport(std::unique_ptr<Loop> loop);
  std::unique_ptr<Loop> loop_;
};

}  // namespace adaptdl
