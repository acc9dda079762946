// The keys that somebody should look at: each at most once, in a fair order.
//
// Namespaces take turns, so that a flood in one of them does not hold up the others; within one the order is
// first come, first served. A key that is queued already keeps its place. One that is added while it is in
// work is queued again at the end once that work is finished, so that it is never in work twice at once, and
// no change goes unseen.
#pragma once

#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <optional>
#include <random>
#include <string>

#include "api/object.h"
#include "cluster/clock.h"
#include "runtime/backoff.h"

namespace adaptdl {

// All on the clock's thread.
class WorkQueue {
 public:
  // `ready` is called, from inside the method that caused it, whenever a key has become available.
  // `seed` spreads the retries.
  WorkQueue(Clock& clock, Backoff backoff, std::uint64_t seed, std::function<void()> ready = {});
  WorkQueue(const WorkQueue&) = delete;
  WorkQueue& operator=(const WorkQueue&) = delete;

  void Add(const Key& key);

  // Adds the key once `delay` has passed. Of several such delays of a key the one that ends first counts.
  void AddAfter(const Key& key, Duration delay);

  // Adds the key after a delay that grows with every Retry since it was last forgotten; returns the delay.
  Duration Retry(const Key& key);
  // Its work went well: the next Retry begins with the shortest delay again.
  void Forget(const Key& key);

  // The next key, which is in work from then on; none where nothing is queued.
  std::optional<Key> Take();
  // The work on a key that was taken is over.
  void Finish(const Key& key);

  // Drops everything that waits. From then on nothing can be added or taken; work in hand may finish.
  void ShutDown();

  std::size_t depth() const { return queued_.size(); }  // Neither those in work nor the delayed ones.
  std::size_t working() const { return working_.size(); }
  // How long the one that waits longest has been queued; zero where none is.
  Duration OldestWait() const;

 private:
  void Queue(const Key& key, Instant since);

  Clock& clock_;
  const Backoff backoff_;
  const std::function<void()> ready_;
  std::mt19937_64 random_;
  bool shut_down_ = false;

  struct Delayed {
    Instant due;
    Timer timer;
  };
  std::map<Key, Instant> queued_;                              // Since when.
  std::map<std::string, std::deque<std::string>> namespaces_;  // Names in their order; none is empty.
  std::deque<std::string> turns_;                              // The namespaces above, the next one first.
  std::map<Key, std::optional<Instant>> working_;              // When it was added again, if it was.
  std::map<Key, Delayed> delayed_;
  std::map<Key, int> failures_;
};

}  // namespace adaptdl
