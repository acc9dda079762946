// Those who waste a server's time: they send a header byte by byte, or nothing, or rubbish, or half a body.
// Who is cut off comes back, at a bounded rate.
#pragma once

#include <array>
#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "tests/bench/socket_loop.h"

namespace adaptdl {

class HostileClients final : public SocketUser {
 public:
  // Half of them of the first kind. The loop is stopped before this goes.
  HostileClients(SocketLoop& loop, std::uint16_t port, std::size_t count);

  std::size_t connected() const { return connected_; }
  std::size_t comebacks() const { return comebacks_; }

  void OnSocket(std::size_t number) override;

 private:
  using Instant = std::chrono::steady_clock::time_point;
  enum class Kind { kSlow, kSilent, kRubbish, kHalf };
  struct Client {
    Kind kind = Kind::kSilent;
    int socket = -1;
    Instant next = {};  // When it does something again.
    std::string unsent = {};
  };

  void Tick();
  void Act(std::size_t number);
  void Connect(std::size_t number);
  void Leave(Client& client);

  SocketLoop& loop_;
  const std::uint16_t port_;
  std::vector<Client> clients_;
  std::size_t turn_ = 0;  // Whose it is to be looked at.
  Instant last_{};
  double may_connect_ = 0;  // So many may do so now.
  std::atomic<std::size_t> connected_ = 0;
  std::atomic<std::size_t> comebacks_ = 0;
};

}  // namespace adaptdl
