#include "tests/bench/socket_loop.h"

#include <arpa/inet.h>
#include <netinet/tcp.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <future>
#include <utility>

namespace adaptdl {

namespace {

constexpr int kTickMs = 2;

sockaddr_in Endpoint(std::uint32_t address, std::uint16_t port) {
  sockaddr_in endpoint{};
  endpoint.sin_family = AF_INET;
  endpoint.sin_addr.s_addr = htonl(address);
  endpoint.sin_port = htons(port);
  return endpoint;
}

}  // namespace

void Die(const std::string& why) {
  std::fprintf(stderr, "supervisor_load: %s\n", why.c_str());
  std::_Exit(1);
}

SocketLoop::SocketLoop()
    : epoll_(epoll_create1(EPOLL_CLOEXEC)), wake_(eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC)) {
  epoll_event event{};
  event.events = EPOLLIN;
  event.data.u64 = static_cast<std::uint64_t>(wake_);
  if (epoll_ctl(epoll_, EPOLL_CTL_ADD, wake_, &event) != 0) Die("no epoll");
  thread_ = std::thread([this] { Run(); });
}

void SocketLoop::Stop() {
  if (!thread_.joinable()) return;
  Post([this] { stopped_ = true; });
  thread_.join();
  for (std::size_t i = 0; i < entries_.size(); ++i) {
    if (entries_[i].user != nullptr) close(static_cast<int>(i));
  }
  close(wake_);
  close(epoll_);
}

void SocketLoop::Post(std::function<void()> task) {
  {
    const std::lock_guard lock(mutex_);
    posted_.push_back(std::move(task));
  }
  eventfd_write(wake_, 1);
}

void SocketLoop::Call(const std::function<void()>& task) {
  std::promise<void> done;
  Post([&] {
    task();
    done.set_value();
  });
  done.get_future().wait();
}

int SocketLoop::Connect(std::uint32_t from, std::uint16_t port, SocketUser* user, std::size_t number) {
  const int made = socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
  if (made < 0) Die("no socket; are there enough file descriptors?");
  const int on = 1;
  setsockopt(made, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
  // The port is chosen when it connects, so that all addresses do not share one range.
  setsockopt(made, IPPROTO_IP, IP_BIND_ADDRESS_NO_PORT, &on, sizeof on);
  const sockaddr_in own = Endpoint(from, 0);
  const sockaddr_in other = Endpoint(INADDR_LOOPBACK, port);
  if (bind(made, reinterpret_cast<const sockaddr*>(&own), sizeof own) != 0) Die("no such address here");
  if (connect(made, reinterpret_cast<const sockaddr*>(&other), sizeof other) != 0 && errno != EINPROGRESS) {
    close(made);
    return -1;
  }
  const auto at = static_cast<std::size_t>(made);
  if (entries_.size() <= at) entries_.resize(at + 1);
  Entry& entry = entries_[at];
  entry = {user, number, entry.generation + 1};
  epoll_event event{};
  event.events = EPOLLIN | EPOLLOUT | EPOLLRDHUP | EPOLLET;
  event.data.u64 = static_cast<std::uint64_t>(entry.generation) << 32U | at;
  if (epoll_ctl(epoll_, EPOLL_CTL_ADD, made, &event) != 0) Die("no epoll for another socket");
  return made;
}

void SocketLoop::Close(int socket) {
  entries_[static_cast<std::size_t>(socket)].user = nullptr;
  close(socket);
}

void SocketLoop::RunPosted() {
  eventfd_t ignored = 0;
  eventfd_read(wake_, &ignored);
  std::vector<std::function<void()>> tasks;
  {
    const std::lock_guard lock(mutex_);
    tasks.swap(posted_);
  }
  for (const auto& task : tasks) task();
}

void SocketLoop::Run() {
  std::array<epoll_event, 256> events{};
  while (!stopped_) {
    const int count = epoll_wait(epoll_, events.data(), static_cast<int>(events.size()), kTickMs);
    for (int i = 0; i < count; ++i) {
      const std::uint64_t data = events[static_cast<std::size_t>(i)].data.u64;
      if (data == static_cast<std::uint64_t>(wake_)) {
        RunPosted();
        continue;
      }
      const Entry& entry = entries_[data & UINT32_MAX];
      if (entry.user != nullptr && entry.generation == data >> 32U) entry.user->OnSocket(entry.number);
    }
    for (const auto& tick : ticks_) tick();
  }
}

bool SendSome(int socket, std::string* text) {
  if (text->empty()) return true;
  const ssize_t sent = send(socket, text->data(), text->size(), MSG_NOSIGNAL);
  if (sent < 0) return errno == EAGAIN || errno == ENOTCONN;
  text->erase(0, static_cast<std::size_t>(sent));
  return true;
}

bool ReceiveSome(int socket, std::string* text) {
  std::array<char, 4096> chunk{};
  for (;;) {
    const ssize_t count = recv(socket, chunk.data(), chunk.size(), 0);
    if (count == 0) return false;
    if (count < 0) return errno == EAGAIN || errno == ENOTCONN;
    text->append(chunk.data(), static_cast<std::size_t>(count));
  }
}

std::uint32_t ReplicaAddress(std::size_t number) {
  constexpr std::uint32_t kFirst = 0x7f40'0001;  // 127.64.0.1
  return kFirst + static_cast<std::uint32_t>(number);
}

}  // namespace adaptdl
