#include "runtime/reflector.h"

#include <algorithm>
#include <chrono>
#include <utility>
#include <variant>

namespace adaptdl {

namespace {

bool IsDecimal(const std::string& text) {
  return !text.empty() && std::all_of(text.begin(), text.end(), [](char c) { return c >= '0' && c <= '9'; });
}

}  // namespace

bool IsOlderVersion(const std::string& a, const std::string& b) {
  if (!IsDecimal(a) || !IsDecimal(b)) return false;
  return a.size() != b.size() ? a.size() < b.size() : a < b;  // The server writes no leading zeros.
}

Reflector::Reflector(Clock& clock, Cluster& cluster, Query query, Options options, Logger log, Sink& sink)
    : clock_(clock),
      cluster_(cluster),
      query_(std::move(query)),
      options_(options),
      log_(std::move(log)),
      sink_(sink),
      random_(options.seed),
      last_progress_(clock.Now()),
      self_(std::make_shared<Reflector*>(this)) {}

Reflector::~Reflector() { *self_ = nullptr; }

void Reflector::Start() {
  last_progress_ = clock_.Now();
  BeginList();
}

void Reflector::BeginList() {
  watch_.reset();
  listed_.clear();
  ListPage("");
}

void Reflector::ListPage(const std::string& token) {
  cluster_.List(query_, options_.page, token, [self = self_](Result<Page> page) {
    if (*self != nullptr) (*self)->OnPage(std::move(page));
  });
}

void Reflector::OnPage(Result<Page> page) {
  // Where the rest of a list is gone, or its server, the next attempt begins at the first page.
  if (!page) return Failed(page.error(), &Reflector::BeginList);
  if (IsOlderVersion(page->resource_version, version_) && !OutOfPatience()) {
    return Failed({ErrorCode::kUnavailable, "the server lags behind what it has shown before", true},
                  &Reflector::BeginList);
  }
  Succeeded();
  version_ = page->resource_version;
  for (Object& object : page->objects) {
    listed_.insert(KeyOf(MetadataOf(object)));
    sink_.Put(std::move(object));
  }
  if (!page->next.empty()) return ListPage(page->next);
  sink_.KeepOnly(std::exchange(listed_, {}));
  if (++stats_.lists == 1) sink_.Ready();
  BeginWatch();
}

void Reflector::BeginWatch() {
  ++stats_.watches;
  watching_since_ = clock_.Now();
  watch_ = cluster_.WatchFrom(query_, version_, [this](Result<WatchEvent> event) {
    OnEvent(std::move(event));  // Not called any more once the watch is gone, which this owns.
  });
}

void Reflector::OnEvent(Result<WatchEvent> event) {
  if (!event) {
    // A stream that lasted did its work, even if there was nothing to tell.
    if (clock_.Now() - watching_since_ >= options_.backoff.max) Succeeded();
    const bool again = event.error().code == ErrorCode::kGone || OutOfPatience();
    return Failed(event.error(), again ? &Reflector::BeginList : &Reflector::BeginWatch);
  }
  Succeeded();
  ++stats_.events;
  if (IsOlderVersion(event->resource_version, version_)) return;
  version_ = event->resource_version;
  if (!event->object) return;
  if (event->type == WatchEvent::Type::kDeleted) {
    sink_.Remove(KeyOf(MetadataOf(*event->object)));
  } else {
    sink_.Put(*std::move(event->object));
  }
}

void Reflector::Succeeded() {
  last_progress_ = clock_.Now();
  failures_ = 0;
  if (!failure_) return;
  failure_.reset();
  log_.Info("following again", {{"kind", ToString(query_.kind)}});
}

void Reflector::Failed(const Error& error, void (Reflector::*next)()) {
  ++stats_.failures;
  ++failures_;
  // The ordinary end of a stream looks like a first failure. Only what goes on failing is worth a line.
  if (failures_ == 2) {
    failure_ = error;
    log_.Warn("cannot follow", {{"kind", ToString(query_.kind)}, {"error", error.message}});
  } else if (failure_) {
    failure_ = error;
  }
  // Later, not here: this may be running inside the handler of the watch that `next` replaces.
  retry_ = clock_.After(options_.backoff.Delay(failures_, random_), [this, next] { (this->*next)(); });
}

}  // namespace adaptdl
