// Thousands of clients of one machine on one thread: sockets of the loopback device, and what is done now and
// then. For load generators; what goes wrong ends the program.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <mutex>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

namespace adaptdl {

// Who is told about its sockets, each of which it knows by a number of its own.
class SocketUser {
 public:
  virtual ~SocketUser() = default;
  // Something has come, or can be sent, or the other side is gone. Told once: read and write until it fails.
  virtual void OnSocket(std::size_t number) = 0;
};

class SocketLoop {
 public:
  SocketLoop();
  ~SocketLoop() { Stop(); }
  SocketLoop(const SocketLoop&) = delete;
  SocketLoop& operator=(const SocketLoop&) = delete;

  // Runs the task on the loop's thread; Call waits until that is done. From any other thread.
  void Post(std::function<void()> task);
  void Call(const std::function<void()>& task);

  // After that no user is told anything, and all sockets are closed: before the first of the users goes.
  void Stop();

  // From here on on the loop's thread.

  // Every few milliseconds, from now on.
  void OnTick(std::function<void()> task) { ticks_.push_back(std::move(task)); }
  // A connection to 127.0.0.1 from another address of the loopback device, as that of a pod would be. It is
  // under way when this returns; -1: it was refused at once.
  int Connect(std::uint32_t from, std::uint16_t port, SocketUser* user, std::size_t number);
  void Close(int socket);

 private:
  struct Entry {
    SocketUser* user = nullptr;
    std::size_t number = 0;
    std::uint32_t generation = 0;  // A descriptor is used again; events that are on their way are not for it.
  };

  void Run();
  void RunPosted();

  const int epoll_;
  const int wake_;
  std::vector<Entry> entries_;  // By descriptor.
  std::vector<std::function<void()>> ticks_;
  std::mutex mutex_;
  std::vector<std::function<void()>> posted_;
  bool stopped_ = false;
  std::thread thread_;
};

// As many bytes as the socket takes now; they go from `text`. False: the other side is gone.
bool SendSome(int socket, std::string* text);
// What has come is put behind `text`. False: the other side is gone.
bool ReceiveSome(int socket, std::string* text);

// The address 127.A.B.C of a number from 0 on: one for each replica.
std::uint32_t ReplicaAddress(std::size_t number);

[[noreturn]] void Die(const std::string& why);

}  // namespace adaptdl
