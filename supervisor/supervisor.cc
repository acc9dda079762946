#include "supervisor/supervisor.h"

#include <algorithm>
#include <utility>

#include "api/replica.h"
#include "api/trim.h"

namespace adaptdl {

namespace {

// Of a job the template is what takes the room, and nobody asks for it here.
void TrimJob(Job* job) {
  job->spec.pod_template = {};
  job->metadata.labels.clear();
  job->metadata.annotations.clear();
  job->status.conditions.clear();
}

void TrimPod(Pod* pod) {
  Trim(pod);
  pod->containers.clear();
  pod->container_statuses.clear();
  pod->init_container_statuses.clear();
  pod->message.clear();
  pod->unschedulable.clear();
}

}  // namespace

Result<SupervisorMetrics> SupervisorMetrics::Make(Metrics& metrics) {
  SupervisorMetrics made;
  return DiscoveryMetrics::Make(metrics)
      .and_then([&](const DiscoveryMetrics& made_discovery) {
        made.discovery = made_discovery;
        return ReportMetrics::Make(metrics);
      })
      .and_then([&](const ReportMetrics& made_reports) {
        made.reports = made_reports;
        return metrics.AddCounter(
            "adaptdl_supervisor_refused_total",
            "Requests that were not served; \"no token\" and \"wrong token\" are failures "
            "to authenticate",
            {"reason"});
      })
      .map([&](const Counter& counter) {
        made.refusals = counter;
        return made;
      });
}

Supervisor::Supervisor(Clock& clock, Cluster& cluster, SupervisorOptions options, const Logger& log,
                       const SupervisorMetrics& metrics)
    : clock_(clock),
      options_(std::move(options)),
      log_(log),
      metrics_(metrics),
      jobs_(clock, cluster, {.name_space = options_.name_space}, log.Named("jobs"),
            {.trim = TrimJob, .reflector = {.seed = options_.seed}}),
      pods_(clock, cluster, {.name_space = options_.name_space, .labels = {{"adaptdl", "true"}}},
            log.Named("pods"),
            {.indexes = {{"job", JobsOfPod}}, .trim = TrimPod, .reflector = {.seed = options_.seed + 1}}),
      discovery_(clock, {jobs_, pods_}, metrics.discovery),
      watches_({jobs_, pods_}),
      reports_(clock, cluster, jobs_, options_.reports, log.Named("hints"), metrics.reports),
      client_rates_(options_.client_rate, options_.client_burst),
      job_rates_(options_.job_rate, options_.job_burst) {
  jobs_.Subscribe([this](const Key& key, const Job* before, const Job* after) {
    const bool another =
        before != nullptr && (after == nullptr || after->metadata.uid != before->metadata.uid);
    if (another) reports_.Forget(key);
    Look(key);
  });
  pods_.Subscribe([this](const Key&, const Pod* before, const Pod* after) {
    const Pod& pod = after != nullptr ? *after : *before;
    if (const std::string job = JobOfPod(pod); !job.empty()) Look({pod.metadata.name_space, job});
  });
  const auto look = [this] {
    if (!ready()) return;
    discovery_.LookAtAll();
    watches_.LookAtAll();
  };
  jobs_.WhenReady(look);
  pods_.WhenReady(look);
  jobs_.Start();
  pods_.Start();
}

void Supervisor::Look(const Key& job) {
  discovery_.Look(job);
  watches_.Look(job);
}

Result<void> Supervisor::Readiness() const {
  if (ready()) return {};
  std::string why = "its caches are being filled";
  for (const Reflector* reflector : {&jobs_.reflector(), &pods_.reflector()}) {
    if (reflector->ready() || !reflector->failure()) continue;
    why += ": " + reflector->failure()->message;
    break;
  }
  return Fail(ErrorCode::kUnavailable, why);
}

tl::unexpected<Refusal> Supervisor::Refuse(Refusal::Kind kind, std::string_view reason,
                                           std::string message) const {
  metrics_.refusals.Increment({reason});
  return tl::unexpected<Refusal>(Refusal{kind, std::move(message)});
}

Supervisor::Answer<std::optional<ReplicaIdentity>> Supervisor::Admit(const Caller& caller, const Key& job) {
  const Instant now = clock_.Now();
  if (!client_rates_.Take(caller.address, now)) {
    return Refuse(Refusal::Kind::kTooMany, "client rate", "too many requests of this client");
  }
  std::optional<ReplicaIdentity> identity;
  if (options_.auth != AuthMode::kOff) {
    if (caller.token.empty() && options_.auth == AuthMode::kRequired) {
      return Refuse(Refusal::Kind::kNoToken, "no token",
                    "a token is needed, as it is in the ADAPTDL_SUPERVISOR_URL of every replica");
    }
    if (!caller.token.empty()) {
      auto opened = options_.keys ? options_.keys->Open(caller.token, job.name_space, job.name)
                                  : Fail(ErrorCode::kForbidden, "there is no key to check tokens with");
      if (!opened && complaints_.Take(now, Duration::zero())) {
        log_.Warn("wrong token", {{"job", ToString(job)}, {"client", caller.address}});
      }
      if (!opened) return Refuse(Refusal::Kind::kWrongToken, "wrong token", opened.error().message);
      identity = *std::move(opened);
    }
  }
  if (!job_rates_.Take(ToString(job), now)) {
    return Refuse(Refusal::Kind::kTooMany, "job rate", "too many requests about this job");
  }
  return identity;
}

Supervisor::Answer<GroupId> Supervisor::AdmitToWait(const Caller& caller, const Key& job,
                                                    std::int64_t group) {
  const auto identity = Admit(caller, job);
  if (!identity) return tl::unexpected<Refusal>(identity.error());
  GroupId id{.job = job, .group = group};
  if (*identity) {
    if ((*identity)->group != group) {
      return Refuse(Refusal::Kind::kWrongToken, "wrong token", "the token is of another group");
    }
    id.uid = (*identity)->uid;
  }
  if (discovery_.PollsOf(job) + watches_.WatchesOf(job) >= options_.waiting_per_job) {
    return Refuse(Refusal::Kind::kTooMany, "waiting", "too many replicas of this job wait already");
  }
  return id;
}

Supervisor::Ticket Supervisor::Discover(const Caller& caller, const Key& job, std::int64_t group,
                                        Duration timeout, Discovered done) {
  const Answer<GroupId> id = AdmitToWait(caller, job, group);
  if (!id) {
    done(tl::unexpected<Refusal>(id.error()));
    return 0;
  }
  return discovery_.Ask(*id, std::min(timeout, options_.longest_poll),
                        [done = std::move(done)](const DiscoveryAnswer& answer) { done(answer); });
}

Supervisor::Ticket Supervisor::WatchGroup(const Caller& caller, const Key& job, std::int64_t group,
                                          Ends ends) {
  const Answer<GroupId> id = AdmitToWait(caller, job, group);
  if (!id) {
    ends(tl::unexpected<Refusal>(id.error()));
    return 0;
  }
  return watches_.Add(*id, [ends = std::move(ends)](const std::string& reason) { ends(reason); });
}

Supervisor::Answer<ReportVerdict> Supervisor::TakeReport(const Caller& caller, const Key& job,
                                                         std::optional<std::int64_t> group,
                                                         const ReadReport& read) {
  const auto identity = Admit(caller, job);
  if (!identity) return tl::unexpected<Refusal>(identity.error());
  if (!ready()) return Refuse(Refusal::Kind::kNotReady, "not ready", "the supervisor is only just starting");
  Report report{.hints = {}, .group = group};
  if (*identity) {
    if (group && *group != (*identity)->group) {
      return Refuse(Refusal::Kind::kWrongToken, "wrong token", "the token is of another group");
    }
    report.group = (*identity)->group;
    report.uid = (*identity)->uid;
  }
  Result<Hints> hints = read();
  if (!hints) {
    metrics_.reports.reports.Increment({"invalid"});
    return tl::unexpected<Refusal>(Refusal{Refusal::Kind::kInvalid, hints.error().message});
  }
  report.hints = *std::move(hints);
  const ReportVerdict verdict = reports_.Take(job, std::move(report));
  const auto refused = [](Refusal::Kind kind, const char* message) {
    return tl::unexpected<Refusal>(Refusal{kind, message});  // Counted among the reports.
  };
  switch (verdict) {
    case ReportVerdict::kTaken:
    case ReportVerdict::kUnchanged:
      return verdict;
    case ReportVerdict::kStale:
      return refused(Refusal::Kind::kOutdated, "a later group of this job has begun");
    case ReportVerdict::kOver:
      return refused(Refusal::Kind::kOutdated, "this job has ended");
    case ReportVerdict::kNoJob:
      return refused(Refusal::Kind::kNoJob, "there is no such job");
  }
  return verdict;
}

void Supervisor::Drain(std::function<void()> done) {
  discovery_.Drain();
  reports_.Drain(std::move(done));
}

void Supervisor::Measure() const {
  discovery_.Measure();
  reports_.Measure();
}

}  // namespace adaptdl
