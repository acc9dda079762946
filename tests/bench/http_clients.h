// HTTP clients that keep their connections open, each from an address of its own, one request at a time.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "tests/bench/socket_loop.h"

namespace adaptdl {

class HttpClients final : public SocketUser {
 public:
  // Status 0: no answer came. Inside it the client can send again.
  using Answered = std::function<void(std::size_t client, int status, const std::string& body)>;

  // The loop is stopped before this goes.
  HttpClients(SocketLoop& loop, std::uint16_t port, Answered answered)
      : loop_(loop), port_(port), answered_(std::move(answered)) {}

  // All on the loop's thread.

  // One more, with the next number from 0 on; connected when it first sends.
  std::size_t Add(std::uint32_t address);
  bool busy(std::size_t client) const { return clients_[client].busy; }
  void Send(std::size_t client, const std::string& request);
  void Close();

  void OnSocket(std::size_t number) override;

 private:
  struct Client {
    std::uint32_t address = 0;
    int socket = -1;
    bool busy = false;
    std::string unsent = {};
    std::string received = {};
  };

  void End(std::size_t number);
  void Take(std::size_t number);

  SocketLoop& loop_;
  const std::uint16_t port_;
  const Answered answered_;
  std::vector<Client> clients_;
};

}  // namespace adaptdl
