// Follows the objects of a query: lists them once, then watches, and lists again only where the server no
// longer has what happened since.
//
// What it hands on never goes back in time. Kubernetes calls resource versions opaque, but ours are decimal
// numbers that grow with every change, and so two of that form are compared as numbers: once everything up to
// a version is known, a list or an event from before it brings nothing new. A server that lags behind after a
// restart can show such a list, even with objects in it that have been deleted since. Versions of another
// form cannot be compared; there the later one to arrive counts.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <random>
#include <set>
#include <string>

#include "cluster/clock.h"
#include "cluster/cluster.h"
#include "runtime/backoff.h"
#include "runtime/log.h"
#include "runtime/result.h"

namespace adaptdl {

// Both are decimal numbers, and `a` is the smaller one.
bool IsOlderVersion(const std::string& a, const std::string& b);

// All on the clock's thread.
class Reflector {
 public:
  // What takes the objects in. It must not destroy the reflector from inside a call.
  class Sink {
   public:
    virtual ~Sink() = default;
    virtual void Put(Object object) = 0;  // New, changed, or the same as before.
    virtual void Remove(const Key& key) = 0;
    virtual void KeepOnly(const std::set<Key>& keys) = 0;  // All others are gone.
    virtual void Ready() = 0;  // Once, when everything has come for the first time.
  };

  struct Options {
    Backoff backoff = {};
    std::size_t page = 500;  // Objects in one answer.
    // After so long without success start over from a list, whatever its version: the cluster's history may
    // have been replaced, as when it is restored from a backup.
    Duration patience = std::chrono::minutes(5);
    std::uint64_t seed = 0;
  };

  struct Stats {
    std::uint64_t lists = 0;  // Complete ones.
    std::uint64_t watches = 0;
    std::uint64_t events = 0;  // Bookmarks included.
    std::uint64_t failures = 0;
  };

  // Clock, cluster and sink outlive it.
  Reflector(Clock& clock, Cluster& cluster, Query query, Options options, Logger log, Sink& sink);
  Reflector(const Reflector&) = delete;
  Reflector& operator=(const Reflector&) = delete;
  // From then on the sink is not called any more.
  ~Reflector();

  // Begins. Called once.
  void Start();

  bool ready() const { return stats_.lists > 0; }
  const Stats& stats() const { return stats_; }
  // When the server last told us something; when this began where it has not yet.
  Instant last_progress() const { return last_progress_; }
  // Why the last attempt failed; none as long as all is well.
  const std::optional<Error>& failure() const { return failure_; }

 private:
  void BeginList();
  void ListPage(const std::string& token);
  void OnPage(Result<Page> page);
  void BeginWatch();
  void OnEvent(Result<WatchEvent> event);
  void Succeeded();
  void Failed(const Error& error, void (Reflector::*next)());
  bool OutOfPatience() const { return clock_.Now() - last_progress_ >= options_.patience; }

  Clock& clock_;
  Cluster& cluster_;
  const Query query_;
  const Options options_;
  const Logger log_;
  Sink& sink_;
  std::mt19937_64 random_;

  std::string version_;     // The latest seen. Once a list is complete, all that happened up to it is known.
  std::set<Key> listed_;    // On the pages so far.
  Instant watching_since_;  // Of the present watch.
  std::unique_ptr<Watch> watch_;
  Timer retry_;
  int failures_ = 0;  // In a row.
  std::optional<Error> failure_;
  Stats stats_;
  Instant last_progress_;
  std::shared_ptr<Reflector*> self_;  // Emptied when this is destroyed, for answers that come later.
};

}  // namespace adaptdl
