// A small HTTP/1.1 server for tests, on 127.0.0.1: does to each request what the test says, also what no good
// server would do.
#pragma once

#include <arpa/inet.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/socket.h>
#include <unistd.h>

#include <array>
#include <cstdlib>
#include <functional>
#include <list>
#include <map>
#include <mutex>
#include <string>
#include <string_view>
#include <thread>
#include <utility>
#include <vector>

namespace adaptdl {

class ScriptedServer {
 public:
  struct Request {
    std::string method;
    std::string target;
    std::map<std::string, std::string> headers;  // Names in lower case.
    std::string body;
  };

  // The way back of one request. Everything is sent at once, in pieces as given.
  class Reply {
   public:
    explicit Reply(int fd) : fd_(fd) {}

    void Raw(std::string_view bytes) const {
      while (!bytes.empty()) {
        const ssize_t sent = send(fd_, bytes.data(), bytes.size(), MSG_NOSIGNAL);
        if (sent <= 0) return;
        bytes.remove_prefix(static_cast<std::size_t>(sent));
      }
    }
    void Answer(int status, std::string_view body, std::string_view header_lines = "") const {
      Raw("HTTP/1.1 " + std::to_string(status) + " X\r\nContent-Length: " + std::to_string(body.size()) +
          "\r\n" + std::string(header_lines) + "\r\n" + std::string(body));
    }
    void BeginStream() const { Raw("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n"); }
    void Piece(std::string_view bytes) const {
      std::array<char, 20> size{};
      (void)std::snprintf(size.data(), size.size(), "%zx\r\n", bytes.size());
      Raw(std::string(size.data()) + std::string(bytes) + "\r\n");
    }
    void EndStream() const { Raw("0\r\n\r\n"); }
    void Cut() const { shutdown(fd_, SHUT_RDWR); }
    // Until the client, or the end of the server, closes the connection.
    void WaitForClose() const {
      std::array<char, 256> dropped{};
      while (recv(fd_, dropped.data(), dropped.size(), 0) > 0) {
      }
    }

   private:
    int fd_;
  };

  // Called on the thread of the request's connection.
  using Handler = std::function<void(const Request&, const Reply&)>;

  explicit ScriptedServer(Handler handler)
      : handler_(std::move(handler)), listener_(socket(AF_INET, SOCK_STREAM, 0)) {
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    socklen_t size = sizeof address;
    const bool listens = bind(listener_, reinterpret_cast<sockaddr*>(&address), size) == 0 &&
                         listen(listener_, SOMAXCONN) == 0 &&
                         getsockname(listener_, reinterpret_cast<sockaddr*>(&address), &size) == 0;
    if (!listens) std::abort();
    port_ = ntohs(address.sin_port);
    acceptor_ = std::thread([this] { Accept(); });
  }

  ~ScriptedServer() {
    shutdown(listener_, SHUT_RDWR);
    acceptor_.join();
    {
      const std::lock_guard lock(mutex_);
      for (const Connection& one : connections_) shutdown(one.fd, SHUT_RDWR);
    }
    for (Connection& one : connections_) {
      one.thread.join();
      close(one.fd);
    }
    close(listener_);
  }

  ScriptedServer(const ScriptedServer&) = delete;
  ScriptedServer& operator=(const ScriptedServer&) = delete;

  std::string url() const { return "http://127.0.0.1:" + std::to_string(port_); }

  // Those answered or being answered, so far.
  std::vector<Request> requests() const {
    const std::lock_guard lock(mutex_);
    return requests_;
  }
  std::size_t connections() const {
    const std::lock_guard lock(mutex_);
    return connections_.size();
  }
  // Does not remember requests any more, where there are many.
  void Forget() {
    const std::lock_guard lock(mutex_);
    remember_ = false;
  }

 private:
  struct Connection {
    int fd;
    std::thread thread;
  };

  void Accept() {
    while (true) {
      const int fd = accept(listener_, nullptr, nullptr);
      if (fd < 0) return;
      const int on = 1;  // A piece goes out as it is, not once the one before is acknowledged.
      (void)setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
      const std::lock_guard lock(mutex_);
      Connection& one = connections_.emplace_back(Connection{fd, {}});
      one.thread = std::thread([this, fd] { Serve(fd); });
    }
  }

  void Serve(int fd) {
    std::string buffer;
    std::array<char, 65536> piece{};
    const auto more = [&] {
      const ssize_t size = recv(fd, piece.data(), piece.size(), 0);
      if (size > 0) buffer.append(piece.data(), static_cast<std::size_t>(size));
      return size > 0;
    };
    while (true) {
      std::size_t head = 0;
      while ((head = buffer.find("\r\n\r\n")) == std::string::npos) {
        if (!more()) return;
      }
      Request request = ReadHead(buffer.substr(0, head + 2));
      const std::size_t length = std::strtoul(request.headers["content-length"].c_str(), nullptr, 10);
      buffer.erase(0, head + 4);
      while (buffer.size() < length) {
        if (!more()) return;
      }
      request.body = buffer.substr(0, length);
      buffer.erase(0, length);
      {
        const std::lock_guard lock(mutex_);
        if (remember_) requests_.push_back(request);
      }
      handler_(request, Reply(fd));
    }
  }

  static Request ReadHead(const std::string& head) {
    Request request;
    const std::size_t space = head.find(' ');
    request.method = head.substr(0, space);
    request.target = head.substr(space + 1, head.find(' ', space + 1) - space - 1);
    for (std::size_t at = head.find("\r\n") + 2; at < head.size();) {
      const std::size_t end = head.find("\r\n", at);
      const std::size_t colon = head.find(": ", at);
      std::string name = head.substr(at, colon - at);
      for (char& c : name) c = static_cast<char>(c >= 'A' && c <= 'Z' ? c - 'A' + 'a' : c);
      request.headers[name] = head.substr(colon + 2, end - colon - 2);
      at = end + 2;
    }
    return request;
  }

  Handler handler_;
  int listener_;
  int port_ = 0;
  mutable std::mutex mutex_;
  std::vector<Request> requests_;
  bool remember_ = true;
  std::list<Connection> connections_;
  std::thread acceptor_;
};

}  // namespace adaptdl
