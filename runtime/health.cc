#include "runtime/health.h"

#include <atomic>
#include <utility>

namespace adaptdl {

struct Health::Heartbeat : std::enable_shared_from_this<Heartbeat> {
  Heartbeat(Clock& c, Duration l) : clock(c), limit(l), last(c.Now()) {}

  // Often enough that one beat that comes late does not count as one that is missing.
  void Beat() {
    last = clock.Now();
    timer = clock.After(limit / 4, [weak = weak_from_this()] {
      if (const auto self = weak.lock()) self->Beat();
    });
  }

  Result<void> Check() const {
    if (clock.Now() - last.load() <= limit) return {};
    const auto seconds = std::chrono::duration_cast<std::chrono::seconds>(limit).count();
    return Fail(ErrorCode::kTimeout, "did not come round for more than " + std::to_string(seconds) + " s");
  }

  Clock& clock;
  const Duration limit;
  std::atomic<Instant> last;
  Timer timer;  // Of the clock's thread alone.
};

void Health::Set(Probe probe, const std::string& name, Result<void> state) {
  const std::lock_guard lock(mutex_);
  reported_[probe].insert_or_assign(name, std::move(state));
}

void Health::WatchOver(const std::string& name, Clock& clock, Duration limit) {
  const auto heartbeat = std::make_shared<Heartbeat>(clock, limit);
  clock.Post([weak = std::weak_ptr(heartbeat)] {
    if (const auto self = weak.lock()) self->Beat();
  });
  const std::lock_guard lock(mutex_);
  heartbeats_.insert_or_assign(name, heartbeat);
}

Health::Report Health::Check(Probe probe) const {
  const std::lock_guard lock(mutex_);
  const auto at = reported_.find(probe);
  Report out = at == reported_.end() ? Report() : at->second;
  if (probe == Probe::kLive) {
    for (const auto& [name, heartbeat] : heartbeats_) out.insert_or_assign(name, heartbeat->Check());
  }
  return out;
}

namespace {

HttpResponse Answer(const Health::Report& report, bool verbose) {
  HttpResponse out;
  for (const auto& [name, state] : report) {
    if (!state) out.status = 503;
    if (!state) out.body += "[-]" + Printable(name) + " failed: " + Printable(state.error().message) + "\n";
    if (state && verbose) out.body += "[+]" + Printable(name) + " ok\n";
  }
  if (out.status == 200) out.body += "ok";
  return out;
}

}  // namespace

HttpHandler HealthHandler(const Health& health, const Metrics& metrics) {
  return [&health, &metrics](const HttpRequest& request, const Responder& responder) {
    const bool live = request.path == "/livez" || request.path == "/healthz";
    const bool ready = request.path == "/readyz";
    if (!live && !ready && request.path != "/metrics") {
      return responder.Answer({.status = 404, .body = "not found\n"});
    }
    if (request.method != "GET" && request.method != "HEAD") {
      return responder.Answer({.status = 405, .body = "only GET\n", .headers = {{"Allow", "GET, HEAD"}}});
    }
    if (!live && !ready) {
      return responder.Answer(
          {.content_type = "text/plain; version=0.0.4; charset=utf-8", .body = metrics.Render()});
    }
    const Health::Probe probe = live ? Health::Probe::kLive : Health::Probe::kReady;
    responder.Answer(Answer(health.Check(probe), request.query.contains("verbose")));
  };
}

}  // namespace adaptdl
