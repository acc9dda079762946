// What jobs report about themselves, on its way to `status.train`. For each job only the newest report waits;
// what says nothing new is not written; and however many jobs report, the cluster gets no more than a given
// number of writes a second.
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <random>
#include <string>
#include <string_view>

#include "api/hints.h"
#include "api/object.h"
#include "cluster/clock.h"
#include "cluster/cluster.h"
#include "runtime/backoff.h"
#include "runtime/log.h"
#include "runtime/metrics.h"
#include "runtime/rate_limit.h"
#include "runtime/watch_cache.h"

namespace adaptdl {

struct Report {
  Hints hints;
  std::optional<std::int64_t> group = {};  // That it is from, where that is known.
  std::string uid = {};                    // Of the job; empty: whichever has that name.
};

// What became of a report.
enum class ReportVerdict {
  kTaken,      // It will be written, unless a newer one comes before that.
  kUnchanged,  // It says nothing new.
  kStale,      // A later group has begun.
  kOver,       // The job has ended, or goes, or this is another one of that name.
  kNoJob,      // There is none of that name.
};

std::string_view ToString(ReportVerdict verdict);  // "taken", ...

// Left as it is it measures nothing.
struct ReportMetrics {
  static Result<ReportMetrics> Make(Metrics& metrics);

  Counter reports;  // By verdict; also "invalid", "refused".
  Counter writes;   // By result: "ok", or the code of the error, or why it was not needed any more.
  Gauge waiting;
};

// All on the clock's thread.
class Reports {
 public:
  struct Options {
    double writes_per_second = 50;
    std::size_t writes_at_once = 16;
    std::uint64_t seed = 0;
  };

  // They outlive it. `jobs` is asked, never waited for.
  Reports(Clock& clock, Cluster& cluster, const WatchCache<Job>& jobs, Options options, Logger log,
          ReportMetrics metrics = {});
  Reports(const Reports&) = delete;
  Reports& operator=(const Reports&) = delete;
  // Answers that come later are ignored.
  ~Reports();

  // The jobs' cache is ready.
  ReportVerdict Take(const Key& job, Report report);

  // That job is gone, or another one has its name.
  void Forget(const Key& job) { entries_.erase(job); }

  // Writes what waits, once and without pauses, and then calls `done`. Called at most once.
  void Drain(std::function<void()> done);

  void Measure() const;

 private:
  struct Waiting {
    Report report;
    std::optional<Hints> base;  // What was stored when it came.
  };
  struct Entry {
    std::optional<Waiting> waiting = {};
    std::optional<Hints> written = {};  // The last that this process has written, or is writing.
    bool queued = false;
    bool writing = false;
    int failures = 0;
    Timer retry = {};
  };

  void Enqueue(const Key& job, Entry& entry);
  void Pump();
  // Why what waits there is not to be written; null where it is.
  const char* WhyNot(const Job* job, const Entry& entry) const;
  void Write(const Key& job);
  void OnWritten(const Key& job, Waiting waiting, const Result<Object>& result);
  void Retry(const Key& job, Entry& entry, Waiting waiting);
  void CheckDrained();

  Clock& clock_;
  Cluster& cluster_;
  const WatchCache<Job>& jobs_;
  const Options options_;
  const Logger log_;
  const ReportMetrics metrics_;
  RateLimit limit_;
  std::map<Key, Entry> entries_;
  std::deque<Key> queue_;
  std::size_t writing_ = 0;
  Timer pause_;
  std::mt19937_64 random_;
  bool draining_ = false;
  std::function<void()> drained_;
  std::shared_ptr<Reports*> self_;  // Emptied when this is destroyed.
};

}  // namespace adaptdl
