// Inside the HTTP server, for its own sources alone: one connection, from its first byte to its last.
#pragma once

#include <boost/asio/io_context.hpp>
#include <boost/asio/post.hpp>
#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <string>
#include <utility>

#include "runtime/http_server.h"
#include "runtime/http_stream.h"

namespace adaptdl {

// The way to the server's thread, for those who may live longer than the server.
class HttpMailbox {
 public:
  explicit HttpMailbox(boost::asio::io_context* io) : io_(io) {}

  template <typename Task>
  void Post(Task task) {
    const std::lock_guard lock(mutex_);
    if (io_ != nullptr) boost::asio::post(*io_, std::move(task));
  }

  void Close() {
    const std::lock_guard lock(mutex_);
    io_ = nullptr;
  }

 private:
  std::mutex mutex_;
  boost::asio::io_context* io_;
};

// What a connection needs of its server; they are all on one thread.
struct HttpShared {
  HttpShared(HttpServerOptions o, HttpHandler h) : options(std::move(o)), handler(std::move(h)) {}

  const HttpServerOptions options;
  const HttpHandler handler;
  boost::asio::io_context io{1};
  const std::shared_ptr<HttpMailbox> mailbox = std::make_shared<HttpMailbox>(&io);
  bool stopping = false;
  std::function<void(std::uint64_t id)> closed;  // That connection is no more.
};

// Everything on the server's thread. It lives on while the server or an operation of its own holds it.
class HttpConnection {
 public:
  virtual ~HttpConnection() = default;
  virtual void Start() = 0;
  // No further request after the one in hand: closes where there is none.
  virtual void Stop() = 0;
  // At once. A request in hand learns that its client is gone.
  virtual void Close() = 0;
};

// `refused`: answers 503 and closes, whatever the client wants. `shared` outlives what the connection does.
std::shared_ptr<HttpConnection> MakeHttpConnection(HttpShared& shared, std::uint64_t id,
                                                   std::unique_ptr<HttpStream> stream, std::string peer,
                                                   bool refused);

}  // namespace adaptdl
