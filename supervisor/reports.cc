#include "supervisor/reports.h"

#include <algorithm>
#include <utility>

#include "supervisor/material.h"

namespace adaptdl {

namespace {

bool IsOver(const Job& job) {
  return job.metadata.deletion_timestamp || job.status.phase == JobPhase::kSucceeded ||
         job.status.phase == JobPhase::kFailed;
}

// What may be said about a report at any time, from the job alone.
ReportVerdict Judge(const Job* job, const Report& report) {
  if (job == nullptr) return ReportVerdict::kNoJob;
  if (!report.uid.empty() && report.uid != job->metadata.uid) return ReportVerdict::kOver;
  if (IsOver(*job)) return ReportVerdict::kOver;
  if (report.group && job->status.group > report.group) return ReportVerdict::kStale;
  return ReportVerdict::kTaken;
}

bool SaysNothingNew(const std::optional<Hints>& known, const Hints& hints) {
  return known && !ChangedMaterially(*known, hints);
}

}  // namespace

std::string_view ToString(ReportVerdict verdict) {
  switch (verdict) {
    case ReportVerdict::kTaken:
      return "taken";
    case ReportVerdict::kUnchanged:
      return "unchanged";
    case ReportVerdict::kStale:
      return "stale";
    case ReportVerdict::kOver:
      return "over";
    case ReportVerdict::kNoJob:
      return "no job";
  }
  return "";
}

Result<ReportMetrics> ReportMetrics::Make(Metrics& metrics) {
  ReportMetrics made;
  return metrics
      .AddCounter("adaptdl_supervisor_hints_total",
                  "Reports of jobs about themselves, by what became of them", {"result"})
      .and_then([&](const Counter& counter) {
        made.reports = counter;
        return metrics.AddCounter("adaptdl_supervisor_hint_writes_total",
                                  "Reports that were to be written to their jobs, by what became of that",
                                  {"result"});
      })
      .and_then([&](const Counter& counter) {
        made.writes = counter;
        return metrics.AddGauge("adaptdl_supervisor_hints_waiting", "Jobs with a report to be written");
      })
      .map([&](const Gauge& gauge) {
        made.waiting = gauge;
        return made;
      });
}

Reports::Reports(Clock& clock, Cluster& cluster, const WatchCache<Job>& jobs, Options options, Logger log,
                 ReportMetrics metrics)
    : clock_(clock),
      cluster_(cluster),
      jobs_(jobs),
      options_(options),
      log_(std::move(log)),
      metrics_(std::move(metrics)),
      limit_(options.writes_per_second, std::max(1.0, options.writes_per_second)),
      random_(options.seed),
      self_(std::make_shared<Reports*>(this)) {}

Reports::~Reports() { *self_ = nullptr; }

ReportVerdict Reports::Take(const Key& job, Report report) {
  const std::shared_ptr<const Job> known = jobs_.Find(job);
  ReportVerdict verdict = Judge(known.get(), report);
  if (verdict == ReportVerdict::kTaken) {
    const auto entry = entries_.find(job);
    const bool waits = entry != entries_.end() && entry->second.waiting;
    const bool writes = entry != entries_.end() && entry->second.writing;
    if (waits && report.group && entry->second.waiting->report.group > report.group) {
      verdict = ReportVerdict::kStale;
    } else if (!waits && SaysNothingNew(writes ? entry->second.written : known->status.train, report.hints)) {
      verdict = ReportVerdict::kUnchanged;
    }
  }
  metrics_.reports.Increment({ToString(verdict)});
  if (verdict != ReportVerdict::kTaken) return verdict;
  Entry& entry = entries_[job];
  entry.waiting = Waiting{std::move(report), known->status.train};
  Enqueue(job, entry);
  return verdict;
}

void Reports::Enqueue(const Key& job, Entry& entry) {
  if (entry.queued || entry.writing || entry.retry) return;
  entry.queued = true;
  queue_.push_back(job);
  // Not inside the call: whoever reports is to be answered first.
  if (!pause_) pause_ = clock_.After(Duration::zero(), [this] { Pump(); });
}

void Reports::Pump() {
  pause_.reset();
  while (!queue_.empty() && writing_ < options_.writes_at_once) {
    const auto entry = entries_.find(queue_.front());
    const bool needed = entry != entries_.end() && entry->second.queued;
    if (needed && !draining_ && !limit_.Take(clock_.Now(), Duration::zero())) {
      const std::chrono::duration<double> turn(1 / options_.writes_per_second);
      pause_ = clock_.After(std::chrono::ceil<Duration>(turn), [this] { Pump(); });
      return;
    }
    const Key job = std::move(queue_.front());
    queue_.pop_front();
    if (needed) Write(job);
  }
  CheckDrained();
}

const char* Reports::WhyNot(const Job* job, const Entry& entry) const {
  if (!entry.waiting) return "superseded";
  const Waiting& waiting = *entry.waiting;
  switch (Judge(job, waiting.report)) {
    case ReportVerdict::kNoJob:
    case ReportVerdict::kOver:
      return "over";
    case ReportVerdict::kStale:
      return "stale";
    case ReportVerdict::kTaken:
    case ReportVerdict::kUnchanged:
      break;
  }
  // Another supervisor has written since this one came: what that was told is newer.
  const std::optional<Hints>& stored = job->status.train;
  if (stored != waiting.base && stored != entry.written) return "superseded";
  if (SaysNothingNew(stored, waiting.report.hints)) return "unchanged";
  return nullptr;
}

void Reports::Write(const Key& job) {
  Entry& entry = entries_.at(job);
  entry.queued = false;
  const std::shared_ptr<const Job> known = jobs_.Find(job);
  if (const char* why = WhyNot(known.get(), entry)) {
    entry.waiting.reset();
    metrics_.writes.Increment({why});
    return;
  }
  Waiting waiting = *std::exchange(entry.waiting, std::nullopt);
  entry.writing = true;
  entry.written = waiting.report.hints;
  ++writing_;
  // Under the version that was looked at: had a later group begun meanwhile, this would be stale.
  const Patch patch{.ref = {Kind::kJob, job},
                    .merge = HintsPatch(waiting.report.hints),
                    .resource_version = known->metadata.resource_version};
  cluster_.Apply(patch,
                 [this, self = self_, job, waiting = std::move(waiting)](const Result<Object>& result) {
                   if (*self != nullptr) OnWritten(job, waiting, result);
                 });
}

void Reports::OnWritten(const Key& job, Waiting waiting, const Result<Object>& result) {
  --writing_;
  metrics_.writes.Increment({result ? "ok" : ToString(result.error().code)});
  const auto at = entries_.find(job);
  if (at != entries_.end() && at->second.writing) {
    Entry& entry = at->second;
    entry.writing = false;
    if (result) {
      entry.failures = 0;
      log_.Debug("hints written", {{"job", ToString(job)}});
    } else {
      const bool is_ordinary = result.error().retryable || result.error().code == ErrorCode::kConflict;
      if (!is_ordinary) {
        log_.Warn("hints not written", {{"job", ToString(job)}, {"error", result.error().message}});
      }
      // An API server that has only just started has not read its rules yet, and forbids everything.
      if (is_ordinary || result.error().code == ErrorCode::kForbidden) {
        Retry(job, entry, std::move(waiting));
      }
    }
    if (entry.waiting) Enqueue(job, entry);
  }
  Pump();
}

// A little later: the cache has to see what was in the way, or the server has to come back.
void Reports::Retry(const Key& job, Entry& entry, Waiting waiting) {
  if (draining_) return;
  if (!entry.waiting) entry.waiting = std::move(waiting);
  entry.retry = clock_.After(Backoff{}.Delay(++entry.failures, random_), [this, job] {
    const auto at = entries_.find(job);
    if (at == entries_.end()) return;
    at->second.retry.reset();
    Enqueue(job, at->second);
  });
}

void Reports::Drain(std::function<void()> done) {
  draining_ = true;
  drained_ = std::move(done);
  for (auto& [job, entry] : entries_) {
    entry.retry.reset();
    if (entry.waiting) Enqueue(job, entry);
  }
  pause_ = clock_.After(Duration::zero(), [this] { Pump(); });
}

void Reports::CheckDrained() {
  if (!draining_ || !queue_.empty() || writing_ > 0) return;
  if (const auto done = std::exchange(drained_, nullptr)) done();
}

void Reports::Measure() const {
  const auto count = std::count_if(entries_.begin(), entries_.end(),
                                   [](const auto& entry) { return entry.second.waiting.has_value(); });
  metrics_.waiting.Set(static_cast<double>(count));
}

}  // namespace adaptdl
