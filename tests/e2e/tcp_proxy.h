// A cable that can be cut: passes TCP on to 127.0.0.1 or wherever the server is, until it is told to fail.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <string>
#include <thread>
#include <vector>

namespace adaptdl {

class TcpProxy {
 public:
  // Listens on a free port of 127.0.0.1.
  TcpProxy(std::string server_address, std::uint16_t server_port);
  ~TcpProxy();
  TcpProxy(const TcpProxy&) = delete;
  TcpProxy& operator=(const TcpProxy&) = delete;

  std::uint16_t port() const { return port_; }

  // Where connections go from now on; those that are open stay where they are.
  void SendTo(std::uint16_t server_port) { server_port_ = server_port; }

  // From now on every connection breaks (with a reset) after so many bytes towards the client; 0: none does.
  // Those that are open begin to count now.
  void CutAfter(std::uint64_t bytes);
  // The connections that are open now stay so, but nothing goes through them any more: a half-open network.
  // New ones work.
  void Freeze();

  std::uint64_t connections() const { return connections_; }
  std::uint64_t cuts() const { return cuts_; }

 private:
  struct Pipe;

  void Run();
  void Accept();
  // Passes on what is there; false when the connection is over: in order where the server or the client has
  // ended it so.
  bool Pass(Pipe& pipe, bool to_client);

  std::string server_address_;
  std::atomic<std::uint16_t> server_port_;
  std::uint16_t port_ = 0;
  int listener_ = -1;
  std::atomic<std::uint64_t> cut_after_ = 0;
  std::atomic<std::uint64_t> epoch_ = 0;  // Of the counting.
  std::atomic<bool> freeze_ = false;
  std::atomic<bool> stop_ = false;
  std::atomic<std::uint64_t> connections_ = 0;
  std::atomic<std::uint64_t> cuts_ = 0;
  std::vector<std::unique_ptr<Pipe>> pipes_;  // Of the thread alone.
  std::thread thread_;
};

}  // namespace adaptdl
