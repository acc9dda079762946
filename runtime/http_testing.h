// For tests: a client that says exactly what it is told to, on 127.0.0.1, and holds requests.
#pragma once

#include <arpa/inet.h>
#include <netinet/in.h>
#include <openssl/ssl.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <unistd.h>

#include <algorithm>
#include <condition_variable>
#include <cstdint>
#include <cstdlib>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "runtime/http_server.h"

namespace adaptdl {

struct TestReply {
  int status = 0;  // 0: the connection ended before a whole answer.
  std::string head;
  std::string body;
};

class TestClient {
 public:
  // `from`: an address of this machine to come from, where it matters.
  explicit TestClient(std::uint16_t port, int receive_bytes = 0, const char* from = nullptr)
      : fd_(socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0)) {
    const timeval limit{.tv_sec = 60, .tv_usec = 0};  // Of a test that would hang.
    setsockopt(fd_, SOL_SOCKET, SO_RCVTIMEO, &limit, sizeof limit);
    if (receive_bytes > 0) setsockopt(fd_, SOL_SOCKET, SO_RCVBUF, &receive_bytes, sizeof receive_bytes);
    sockaddr_in address{};
    address.sin_family = AF_INET;
    if (from != nullptr) inet_pton(AF_INET, from, &address.sin_addr);
    if (from != nullptr && bind(fd_, reinterpret_cast<sockaddr*>(&address), sizeof address) != 0)
      std::abort();  // NOLINT
    address.sin_port = htons(port);
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    if (connect(fd_, reinterpret_cast<sockaddr*>(&address), sizeof address) != 0) std::abort();  // NOLINT
  }
  TestClient(const TestClient&) = delete;
  TestClient& operator=(const TestClient&) = delete;
  ~TestClient() { Close(); }

  // Goes on through TLS, trusting anybody; the name in the server's certificate, empty where there is no
  // handshake.
  std::string Secure() {
    const std::unique_ptr<SSL_CTX, decltype(&SSL_CTX_free)> context(SSL_CTX_new(TLS_client_method()),
                                                                    SSL_CTX_free);
    tls_.reset(SSL_new(context.get()));
    SSL_set_fd(tls_.get(), fd_);
    if (SSL_connect(tls_.get()) != 1) return "";
    const std::unique_ptr<X509, decltype(&X509_free)> certificate(SSL_get1_peer_certificate(tls_.get()),
                                                                  X509_free);
    char name[100] = "";
    X509_NAME_get_text_by_NID(X509_get_subject_name(certificate.get()), NID_commonName, name, sizeof name);
    return name;
  }

  // False where the server takes no more.
  bool Send(std::string_view text) {
    while (!text.empty()) {
      const auto count = tls_ ? SSL_write(tls_.get(), text.data(), static_cast<int>(text.size()))
                              : send(fd_, text.data(), text.size(), MSG_NOSIGNAL);
      if (count <= 0) return false;
      text.remove_prefix(static_cast<std::size_t>(count));
    }
    return true;
  }

  TestReply Get(const std::string& target) {
    Send("GET " + target + " HTTP/1.1\r\nHost: x\r\n\r\n");
    return Read();
  }

  // The next answer; its body where `with_body`, which those to HEAD have none of.
  TestReply Read(bool with_body = true) {
    TestReply reply;
    std::size_t end = 0;
    while ((end = input_.find("\r\n\r\n")) == std::string::npos) {
      if (!ReadMore()) return reply;
    }
    reply.head = input_.substr(0, end + 2);
    input_.erase(0, end + 4);
    const std::size_t length = reply.head.find("Content-Length: ");
    const std::size_t size = with_body && length != std::string::npos
                                 ? std::strtoul(reply.head.c_str() + length + 16, nullptr, 10)
                                 : 0;
    while (input_.size() < size) {
      if (!ReadMore()) return reply;
    }
    reply.body = input_.substr(0, size);
    input_.erase(0, size);
    input_.shrink_to_fit();  // Clients of whose server the memory is measured cost little themselves.
    reply.status = std::atoi(reply.head.c_str() + 9);
    return reply;
  }

  // Waits for the server to close the connection; what it still said before.
  std::string ReadToEnd() {
    while (ReadMore()) {
    }
    return std::exchange(input_, {});
  }

  // At most so many bytes, of what a later Read returns. False at the end.
  bool ReadMore(std::size_t limit = 16384) {
    char bytes[16384];
    const std::size_t size = std::min(limit, sizeof bytes);
    if (size == 0) return true;
    const auto count = tls_ ? SSL_read(tls_.get(), bytes, static_cast<int>(size)) : recv(fd_, bytes, size, 0);
    was_reset_ = count < 0;
    if (count <= 0) return false;
    input_.append(bytes, static_cast<std::size_t>(count));
    return true;
  }

  // The connection did not end in order, but was torn down with what was still on its way.
  bool was_reset() const { return was_reset_; }

  void EndWriting() const { shutdown(fd_, SHUT_WR); }
  void Close() {
    tls_.reset();
    if (fd_ >= 0) close(std::exchange(fd_, -1));
  }

 private:
  int fd_;
  std::unique_ptr<SSL, decltype(&SSL_free)> tls_{nullptr, SSL_free};
  std::string input_;
  bool was_reset_ = false;
};

// A handler that keeps its requests until the test answers them.
class HeldRequests {
 public:
  HttpHandler Handler() {
    return [this](HttpRequest request, Responder responder) {
      const std::lock_guard lock(mutex_);
      held_.emplace_back(std::move(request), std::move(responder));
      changed_.notify_all();
    };
  }

  // Takes all, once there are `count` of them.
  std::vector<std::pair<HttpRequest, Responder>> Take(std::size_t count) {
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [&] { return held_.size() >= count; });
    return std::exchange(held_, {});
  }

 private:
  std::mutex mutex_;
  std::condition_variable changed_;
  std::vector<std::pair<HttpRequest, Responder>> held_;
};

inline HttpServerOptions OnLoopback() {
  HttpServerOptions options;
  options.address = "127.0.0.1";
  return options;
}

}  // namespace adaptdl
