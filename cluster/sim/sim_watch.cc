#include "cluster/sim/sim_watch.h"

#include <algorithm>
#include <utility>

namespace adaptdl {
namespace {

using std::chrono::microseconds;
using std::chrono::milliseconds;
using std::chrono::seconds;

// A client gives up on a stream that the server should have ended so long ago.
constexpr seconds kGuard = seconds(15);

std::string_view ToString(WatchEvent::Type type) {
  switch (type) {
    case WatchEvent::Type::kAdded:
      return "ADDED";
    case WatchEvent::Type::kModified:
      return "MODIFIED";
    case WatchEvent::Type::kDeleted:
      return "DELETED";
    case WatchEvent::Type::kBookmark:
      return "BOOKMARK";
  }
  return "UNKNOWN";
}

Error StreamEnded() { return {ErrorCode::kUnavailable, "the stream has ended", true}; }

}  // namespace

SimWatch::SimWatch(SimWorld& world, std::shared_ptr<SimLife> life, Query query, std::string resource_version,
                   WatchHandler handler)
    : world_(world),
      life_(std::move(life)),
      query_(std::move(query)),
      handler_(std::make_shared<WatchHandler>(std::move(handler))),
      number_(world.next_watch_++) {
  world_.watches_[static_cast<std::size_t>(query_.kind)].emplace(number_, this);
  delivery_ = world_.clock().After(world_.rng().Between(milliseconds(1), milliseconds(10)),
                                   [this, version = std::move(resource_version)] { Connect(version); });
}

SimWatch::~SimWatch() { world_.watches_[static_cast<std::size_t>(query_.kind)].erase(number_); }

void SimWatch::Connect(const std::string& resource_version) {
  if (!life_->running) return;
  if (!world_.Reaches(*life_) || (life_->faulty() && world_.Fault(world_.faults().unavailable))) {
    return Break({ErrorCode::kUnavailable, "the server did not take the watch", true}, "unavailable");
  }
  const Result<std::uint64_t> version = ParseVersion(resource_version);
  if (!version) return Break(version.error());
  if (*version < life_->lost_before[static_cast<std::size_t>(query_.kind)]) {
    return Break({ErrorCode::kGone, "that resource version is too old", false}, "history lost");
  }
  Result<std::vector<WatchEvent>> missed = world_.server().Since(query_, *version);
  if (!missed) return Break(missed.error());
  Trace("WATCH " + std::string(adaptdl::ToString(query_.kind)) + " rv=" + resource_version + " -> Ok");
  connected_ = true;
  const Duration length = world_.rng().Between(seconds(300), seconds(600));
  end_ = world_.clock().After(length, [this] { Finish(StreamEnded()); });
  if (life_->faulty() && world_.Fault(world_.faults().silent_stream)) {
    const Instant given_up = world_.clock().Now() + length + kGuard;
    silence_ = world_.clock().After(world_.rng().Between(seconds(0), length), [this, given_up] {
      if (!world_.FaultsActive()) return;
      FallSilent(
          std::min(given_up, world_.faults().end));  // When all faults are over the network would tell.
    });
  }
  ScheduleBookmark();
  for (WatchEvent& event : *missed) Push(std::move(event));
}

void SimWatch::ScheduleBookmark() {
  bookmark_ = world_.clock().After(world_.rng().Between(seconds(50), seconds(70)), [this] {
    if (ended_) return;
    ScheduleBookmark();
    WatchEvent event;
    event.resource_version = std::to_string(world_.server().version());
    Push(std::move(event));
  });
}

void SimWatch::FallSilent(Instant until) {
  if (ended_ || silent_) return;
  Trace("STREAM " + std::string(adaptdl::ToString(query_.kind)) + " falls silent (fault)");
  silent_ = true;
  items_.clear();
  end_ = world_.clock().After(until - world_.clock().Now(), [this] { Break(StreamEnded()); });
}

void SimWatch::OnChange(const Change& change) {
  if (!connected_ || ended_ || silent_) return;
  std::optional<WatchEvent> event = Seen(query_, change);
  if (!event) return;
  if (life_->faulty() && world_.Fault(world_.faults().lost_event)) {
    life_->lost_before[static_cast<std::size_t>(query_.kind)] = change.version;
    return Break(StreamEnded(), "event lost");
  }
  Push(*std::move(event));
}

void SimWatch::OnOutage() {
  if (connected_ && !ended_ && !silent_ && life_->faulty()) Break(StreamEnded(), "outage");
}

void SimWatch::Push(WatchEvent event) {
  if (ended_ || silent_) return;
  Duration delay = world_.rng().Between(microseconds(200), milliseconds(20));
  if (life_->faulty() && world_.Fault(world_.faults().late_event)) {
    const Duration late = world_.rng().Between(seconds(1), seconds(60));
    delay = std::max(delay, std::min(late, world_.faults().end - world_.clock().Now()));
    Trace("EVENT " + std::string(adaptdl::ToString(query_.kind)) + " rv=" + event.resource_version +
          " is late (fault)");
  }
  Enqueue(delay, std::move(event));
}

void SimWatch::Break(Error error, std::string_view fault) {
  if (ended_) return;
  items_.clear();
  if (!fault.empty()) error.message += " (" + std::string(fault) + ")";
  Finish(std::move(error));
}

void SimWatch::Finish(Error error) {
  if (ended_) return;
  ended_ = true;
  Enqueue(world_.rng().Between(microseconds(200), milliseconds(20)), tl::unexpected(std::move(error)));
}

void SimWatch::Enqueue(Duration delay, Result<WatchEvent> event) {
  Instant due = world_.clock().Now() + delay;
  if (!items_.empty()) due = std::max(due, items_.back().due);
  items_.push_back({due, std::move(event)});
  if (items_.size() == 1) Arm();
}

void SimWatch::Arm() {
  delivery_ = world_.clock().After(items_.front().due - world_.clock().Now(), [this] { Deliver(); });
}

void SimWatch::Deliver() {
  if (!life_->running || items_.empty()) return;
  Result<WatchEvent> event = std::move(items_.front().event);
  items_.pop_front();
  if (!items_.empty()) Arm();
  const std::string kind(adaptdl::ToString(query_.kind));
  if (!event) {
    Trace("STREAM " + kind + " -> " + std::string(adaptdl::ToString(event.error().code)) + ": " +
          event.error().message);
  } else {
    const std::string name = event->object ? " " + ToString(KeyOf(MetadataOf(*event->object))) : "";
    Trace("EVENT " + std::string(ToString(event->type)) + " " + kind + name +
          " rv=" + event->resource_version);
  }
  const std::shared_ptr<WatchHandler> handler = handler_;
  (*handler)(std::move(event));
  // Nothing here may be touched any more: the handler may have destroyed this watch.
}

void SimWatch::Trace(const std::string& what) const { world_.Trace(life_->process, what); }

}  // namespace adaptdl
