#include "runtime/work_queue.h"

#include <algorithm>
#include <cassert>
#include <utility>

namespace adaptdl {

WorkQueue::WorkQueue(Clock& clock, Backoff backoff, std::uint64_t seed, std::function<void()> ready)
    : clock_(clock), backoff_(backoff), ready_(std::move(ready)), random_(seed) {}

void WorkQueue::Add(const Key& key) {
  if (shut_down_) return;
  if (const auto working = working_.find(key); working != working_.end()) {
    if (!working->second) working->second = clock_.Now();
    return;
  }
  Queue(key, clock_.Now());
}

void WorkQueue::Queue(const Key& key, Instant since) {
  if (!queued_.emplace(key, since).second) return;
  std::deque<std::string>& names = namespaces_[key.name_space];
  if (names.empty()) turns_.push_back(key.name_space);
  names.push_back(key.name);
  if (ready_) ready_();
}

void WorkQueue::AddAfter(const Key& key, Duration delay) {
  if (shut_down_) return;
  if (delay <= Duration::zero()) return Add(key);
  const Instant due = clock_.Now() + delay;
  const auto [entry, added] = delayed_.try_emplace(key);
  if (!added && entry->second.due <= due) return;
  entry->second = {due, clock_.After(delay, [this, key] {
                     delayed_.erase(key);
                     Add(key);
                   })};
}

Duration WorkQueue::Retry(const Key& key) {
  if (shut_down_) return Duration::zero();
  const Duration delay = backoff_.Delay(++failures_[key], random_);
  AddAfter(key, delay);
  return delay;
}

void WorkQueue::Forget(const Key& key) { failures_.erase(key); }

std::optional<Key> WorkQueue::Take() {
  if (turns_.empty()) return std::nullopt;
  const auto names = namespaces_.find(turns_.front());
  Key key{names->first, std::move(names->second.front())};
  names->second.pop_front();
  turns_.pop_front();
  if (names->second.empty()) {
    namespaces_.erase(names);
  } else {
    turns_.push_back(key.name_space);
  }
  queued_.erase(key);
  working_.emplace(key, std::nullopt);
  return key;
}

void WorkQueue::Finish(const Key& key) {
  const auto working = working_.find(key);
  assert(working != working_.end());
  const std::optional<Instant> again = working->second;
  working_.erase(working);
  if (again && !shut_down_) Queue(key, *again);
}

void WorkQueue::ShutDown() {
  shut_down_ = true;
  queued_.clear();
  namespaces_.clear();
  turns_.clear();
  delayed_.clear();
  failures_.clear();
}

Duration WorkQueue::OldestWait() const {
  Instant oldest = clock_.Now();
  for (const auto& [key, since] : queued_) oldest = std::min(oldest, since);
  return clock_.Now() - oldest;
}

}  // namespace adaptdl
