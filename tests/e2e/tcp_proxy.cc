#include "tests/e2e/tcp_proxy.h"

#include <arpa/inet.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <array>
#include <cstdio>
#include <cstdlib>

namespace adaptdl {

namespace {

// NOLINTBEGIN(google-readability-casting): sockets
sockaddr* Generic(sockaddr_in* address) { return reinterpret_cast<sockaddr*>(address); }
// NOLINTEND(google-readability-casting)

sockaddr_in Address(const std::string& address, std::uint16_t port) {
  sockaddr_in out{};
  out.sin_family = AF_INET;
  out.sin_port = htons(port);
  inet_pton(AF_INET, address.c_str(), &out.sin_addr);
  return out;
}

void Reset(int fd) {
  const linger now{.l_onoff = 1, .l_linger = 0};
  setsockopt(fd, SOL_SOCKET, SO_LINGER, &now, sizeof(now));
  close(fd);
}

bool WriteAll(int fd, const char* data, ssize_t size) {
  while (size > 0) {
    const ssize_t written = send(fd, data, static_cast<std::size_t>(size), MSG_NOSIGNAL);
    if (written <= 0) return false;
    data += written;
    size -= written;
  }
  return true;
}

}  // namespace

struct TcpProxy::Pipe {
  int client = -1;
  int server = -1;
  std::uint64_t epoch = 0;
  std::uint64_t to_client = 0;
  bool frozen = false;
  bool ended = false;  // In order: what was passed on is still to arrive.

  ~Pipe() {
    for (const int fd : {client, server}) ended ? static_cast<void>(close(fd)) : Reset(fd);
  }
};

TcpProxy::TcpProxy(std::string server_address, std::uint16_t server_port)
    : server_address_(std::move(server_address)), server_port_(server_port) {
  listener_ = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  sockaddr_in own = Address("127.0.0.1", 0);
  socklen_t size = sizeof(own);
  if (bind(listener_, Generic(&own), size) != 0 || listen(listener_, 64) != 0 ||
      getsockname(listener_, Generic(&own), &size) != 0) {
    std::perror("proxy");
    std::abort();
  }
  port_ = ntohs(own.sin_port);
  thread_ = std::thread([this] { Run(); });
}

TcpProxy::~TcpProxy() {
  stop_ = true;
  thread_.join();
  close(listener_);
}

void TcpProxy::CutAfter(std::uint64_t bytes) {
  cut_after_ = bytes;
  ++epoch_;
}

void TcpProxy::Freeze() { freeze_ = true; }

void TcpProxy::Accept() {
  auto pipe = std::make_unique<Pipe>();
  pipe->client = accept4(listener_, nullptr, nullptr, SOCK_CLOEXEC);
  pipe->server = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  sockaddr_in server = Address(server_address_, server_port_);
  if (pipe->client < 0 || connect(pipe->server, Generic(&server), sizeof(server)) != 0) return;
  pipe->epoch = epoch_;
  ++connections_;
  pipes_.push_back(std::move(pipe));
}

bool TcpProxy::Pass(Pipe& pipe, bool to_client) {
  std::array<char, 16384> buffer;
  ssize_t size = recv(to_client ? pipe.server : pipe.client, buffer.data(), buffer.size(), 0);
  pipe.ended = size == 0;
  if (size <= 0) return false;
  if (!to_client) return WriteAll(pipe.server, buffer.data(), size);
  if (pipe.epoch != epoch_) {
    pipe.epoch = epoch_;
    pipe.to_client = 0;
  }
  const std::uint64_t limit = cut_after_;
  const bool cut = limit > 0 && pipe.to_client + static_cast<std::uint64_t>(size) >= limit;
  if (cut) size = static_cast<ssize_t>(limit - pipe.to_client);
  pipe.to_client += static_cast<std::uint64_t>(size);
  if (!WriteAll(pipe.client, buffer.data(), size)) return false;
  if (cut) ++cuts_;
  return !cut;
}

void TcpProxy::Run() {
  while (!stop_) {
    if (freeze_.exchange(false)) {
      for (const auto& pipe : pipes_) pipe->frozen = true;
    }
    std::vector<pollfd> fds = {{.fd = listener_, .events = POLLIN, .revents = 0}};
    for (const auto& pipe : pipes_) {
      fds.push_back({.fd = pipe->frozen ? -1 : pipe->client, .events = POLLIN, .revents = 0});
      fds.push_back({.fd = pipe->frozen ? -1 : pipe->server, .events = POLLIN, .revents = 0});
    }
    if (poll(fds.data(), fds.size(), 10) <= 0) continue;
    for (std::size_t i = pipes_.size(); i-- > 0;) {
      bool goes_on = true;
      if (fds[1 + 2 * i].revents != 0) goes_on = Pass(*pipes_[i], false);
      if (goes_on && fds[2 + 2 * i].revents != 0) goes_on = Pass(*pipes_[i], true);
      if (!goes_on) pipes_.erase(pipes_.begin() + static_cast<std::ptrdiff_t>(i));
    }
    if (fds[0].revents != 0) Accept();
  }
  pipes_.clear();
}

}  // namespace adaptdl
