#include "tests/bench/hostile_clients.h"

#include <algorithm>

namespace adaptdl {

namespace {

using std::chrono::milliseconds;
using Clock = std::chrono::steady_clock;

constexpr double kConnectsPerSecond = 300;
constexpr double kConnectsAtOnce = 50;
constexpr milliseconds kBetweenBytes{1000};
constexpr milliseconds kComeBack{500};
constexpr milliseconds kRubbishStays{2000};  // As long as the server waits for the client to go.
constexpr std::size_t kOfOneAddress = 100;
constexpr std::size_t kFirstAddress = 60'000;  // Beyond those of the replicas.

// Longer than the server has patience.
const std::string& SlowHeader() {
  static const std::string text =
      "GET /discover/bench/job/0 HTTP/1.1\r\nHost: x\r\nX-Slow: " + std::string(1000, 'x');
  return text;
}

}  // namespace

HostileClients::HostileClients(SocketLoop& loop, std::uint16_t port, std::size_t count)
    : loop_(loop), port_(port), clients_(count) {
  constexpr std::array<Kind, 6> kKinds = {Kind::kSlow,    Kind::kSilent, Kind::kSlow,
                                          Kind::kRubbish, Kind::kSlow,   Kind::kHalf};
  for (std::size_t i = 0; i < count; ++i) clients_[i].kind = kKinds[i % kKinds.size()];
  loop_.Call([this] { loop_.OnTick([this] { Tick(); }); });
}

void HostileClients::Tick() {
  const Instant now = Clock::now();
  const std::chrono::duration<double> passed(now - std::max(last_, now - milliseconds(100)));
  may_connect_ = std::min(may_connect_ + passed.count() * kConnectsPerSecond, kConnectsAtOnce);
  last_ = now;
  for (std::size_t i = 0; i < clients_.size(); ++i) {
    const std::size_t number = (turn_ + i) % clients_.size();
    if (clients_[number].next > now) continue;
    if (clients_[number].socket < 0) {
      if (may_connect_ < 1) {
        turn_ = number;  // First in the next round.
        break;
      }
      may_connect_ -= 1;
      Connect(number);
    } else {
      Act(number);
    }
  }
}

void HostileClients::Connect(std::size_t number) {
  Client& client = clients_[number];
  client.socket = loop_.Connect(ReplicaAddress(kFirstAddress + number / kOfOneAddress), port_, this, number);
  if (client.socket < 0) return Leave(client);
  ++connected_;
  client.next = Instant::max();  // What it has to say it says once it is connected.
  switch (client.kind) {
    case Kind::kSlow:
      client.unsent = SlowHeader();
      client.next = Clock::now();
      break;
    case Kind::kSilent:
      break;
    case Kind::kRubbish:
      client.unsent = std::string("\x16\x03\x01\0\xff\r\n\r\n\0\n", 10);
      client.next = Clock::now() + kRubbishStays;
      break;
    case Kind::kHalf:
      client.unsent =
          "PUT /hints/bench/job HTTP/1.1\r\nHost: x\r\nContent-Length: 1000\r\n\r\n" + std::string(500, '{');
      break;
  }
}

void HostileClients::Act(std::size_t number) {
  Client& client = clients_[number];
  if (client.kind != Kind::kSlow) return Leave(client);
  client.next = Clock::now() + kBetweenBytes;
  std::string byte(1, client.unsent.front());
  if (!SendSome(client.socket, &byte)) return Leave(client);
  if (byte.empty() && client.unsent.size() > 1) client.unsent.erase(0, 1);
}

void HostileClients::OnSocket(std::size_t number) {
  Client& client = clients_[number];
  std::string ignored;
  const bool open = ReceiveSome(client.socket, &ignored);
  if (client.kind == Kind::kRubbish && !open) return;  // To be told so does not make it go.
  if (!open) return Leave(client);
  if (client.kind != Kind::kSlow && !SendSome(client.socket, &client.unsent)) Leave(client);
}

void HostileClients::Leave(Client& client) {
  if (client.socket >= 0) {
    loop_.Close(client.socket);
    --connected_;
    ++comebacks_;
  }
  client.socket = -1;
  client.unsent.clear();
  client.next = Clock::now() + kComeBack;
}

}  // namespace adaptdl
