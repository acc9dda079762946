#include "operator/reconciler.h"

#include <set>
#include <utility>

#include "api/event.h"
#include "nlohmann/json.hpp"

namespace adaptdl {

namespace {

constexpr const char* kComponent = "adaptdl-operator";
constexpr const char* kHostname = "kubernetes.io/hostname";
// Each look that ends in a write is followed by another; a job goes through fewer states than this at once.
constexpr int kMaxLooks = 10;
constexpr std::chrono::seconds kLookAfterActing{20};

std::uint64_t Fnv(std::uint64_t digest, std::string_view text) {
  for (const char c : text) digest = (digest ^ static_cast<unsigned char>(c)) * 0x100000001b3;
  return digest * 0x100000001b3;
}

// The same for the same `occasion`: then it is not told twice.
std::string EventName(const Metadata& job, const std::string& occasion) {
  constexpr char kHex[] = "0123456789abcdef";
  const std::uint64_t digest = Fnv(Fnv(0xcbf29ce484222325, job.uid), occasion);
  std::string name = job.name + ".";
  for (int shift = 60; shift >= 0; shift -= 4) name += kHex[digest >> shift & 15];
  return name;
}

Document EventDocument(const Metadata& job, const std::string& occasion, const JobEvent& what, Time now) {
  Event event;
  event.metadata.name = EventName(job, occasion);
  event.metadata.name_space = job.name_space;
  event.about = {"adaptdl.petuum.com/v1", "AdaptDLJob", job.name, job.uid};
  event.warning = what.warning;
  event.reason = what.reason;
  event.message = Printable(what.message, 1000);
  event.component = kComponent;
  event.at = std::chrono::floor<std::chrono::seconds>(now);
  return Document(Encode(event));
}

bool IsEnd(const std::optional<JobPhase>& phase) {
  return phase == JobPhase::kSucceeded || phase == JobPhase::kFailed;
}

// Of the pod's node: that no other took it is over.
std::optional<Blockage> LastWarning(const std::vector<Object>& events) {
  const Event* last = nullptr;
  for (const Object& object : events) {
    const auto* event = std::get_if<Event>(&object);
    if (event == nullptr || !event->warning || event->reason == "FailedScheduling") continue;
    if (last == nullptr || last->at <= event->at) last = event;
  }
  if (last == nullptr) return std::nullopt;
  return Blockage{last->reason, last->message};
}

}  // namespace

Result<OperatorMetrics> OperatorMetrics::Make(Metrics& metrics) {
  const char* submitted = "Jobs that were taken into care";
  OperatorMetrics made;
  const auto counter = [&](Counter* out, const char* name, const char* help,
                           std::vector<std::string> labels = {}) {
    return metrics.AddCounter(name, help, std::move(labels)).map([&](const Counter& one) { *out = one; });
  };
  return counter(&made.submissions, "adaptdl_sched_job_submission_count", submitted)
      .and_then([&] {
        return counter(&made.submissions_total, "adaptdl_sched_job_submission_count_total", submitted);
      })
      .and_then([&] {
        return counter(&made.restarts, "adaptdl_sched_job_restarts_total", "Groups that had to end early",
                       {"reason"});
      })
      .and_then([&] {
        return metrics.AddHistogram(
            "adaptdl_sched_job_completion_time", "Seconds from a job's creation to its end",
            {60, 300, 900, 3600, 4 * 3600, 12 * 3600, 24 * 3600, 7 * 24 * 3600}, {"status"});
      })
      .map([&](const Histogram& histogram) {
        made.completion_seconds = histogram;
        return made;
      });
}

std::vector<std::string> NodesOfJob(const Job& job) {
  const std::set<std::string> nodes(job.status.allocation.begin(), job.status.allocation.end());
  return {nodes.begin(), nodes.end()};
}

// One key's turn: a few looks at the job, each followed by what was decided.
struct Reconciler::Pass {
  Key key;
  Done<Outcome> done;
  int looks = 0;
  std::uint64_t term = 0;  // In which this look was taken.
  std::shared_ptr<const Job> job;
  Decision decision;
  Document patch;
  std::size_t acting = 0;  // Calls whose answers are still to come.
  bool learned = false;    // Something that another look would make use of.
  std::optional<Error> failure = {};

  void Over() { done(Outcome{.again_after = decision.again_after}); }
  void Over(const Error& error) { done(tl::unexpected<Error>(error)); }
};

Reconciler::Reconciler(Clock& clock, Cluster& cluster, Caches caches, PodSettings settings,
                       std::function<bool()> may_act, Logger log, OperatorMetrics metrics)
    : clock_(clock),
      cluster_(cluster),
      caches_(caches),
      settings_(std::move(settings)),
      may_act_(std::move(may_act)),
      log_(std::move(log)),
      metrics_(std::move(metrics)),
      self_(std::make_shared<Reconciler*>(this)) {}

Reconciler::~Reconciler() { *self_ = nullptr; }

void Reconciler::TellUnreadable(const Unreadable& job) {
  log_.Warn("job cannot be read", {{"job", ToString(KeyOf(job.metadata))}, {"error", job.error.message}});
  const JobEvent event{true, "Unreadable", job.error.message};
  cluster_.Create(Kind::kEvent, EventDocument(job.metadata, job.error.message, event, clock_.Wall()),
                  [](const Result<Object>&) {});
}

void Reconciler::Saw(const Pod& pod) {
  if (!pod.metadata.owner) return;
  const auto memory = memories_.find(pod.metadata.owner->uid);
  if (memory == memories_.end()) return;
  const std::optional<Replica> replica = ReplicaOf(pod);
  if (replica && replica->group == memory->second.group) memory->second.seen.insert(replica->rank);
}

void Reconciler::Forget(const std::string& uid) {
  memories_.erase(uid);
  written_.erase(uid);
}

void Reconciler::ForgetAll() {
  ++term_;
  memories_.clear();
  written_.clear();
}

std::shared_ptr<const Job> Reconciler::Newest(const Key& key) {
  std::shared_ptr<const Job> job = caches_.jobs.Find(key);
  if (job == nullptr) return nullptr;
  const auto written = written_.find(job->metadata.uid);
  if (written == written_.end()) return job;
  if (IsOlderVersion(job->metadata.resource_version, written->second->metadata.resource_version)) {
    return written->second;
  }
  written_.erase(written);
  return job;
}

GroupMemory& Reconciler::MemoryOf(const Job& job) {
  GroupMemory& memory = memories_[job.metadata.uid];
  const std::int64_t group = job.status.group.value_or(-1);
  if (memory.group != group) memory = {.group = group};
  return memory;
}

JobView Reconciler::ViewOf(const Job& job) {
  JobView view{.job = job, .pods = {}, .hostnames = {}, .memory = {}};
  MemoryOf(job);
  for (const auto& pod : caches_.pods.Indexed("job", ToString(KeyOf(job.metadata)))) {
    if (!pod->metadata.owner || pod->metadata.owner->uid != job.metadata.uid) continue;
    view.pods.push_back(pod.get());  // The cache keeps it until something else runs on this thread.
    Saw(*pod);
  }
  for (const std::string& name : NodesOfJob(job)) {
    const auto node = caches_.nodes.Find({"", name});
    if (node == nullptr) continue;
    const auto label = node->metadata.labels.find(kHostname);
    view.hostnames[name] = label == node->metadata.labels.end() ? name : label->second;
  }
  view.memory = MemoryOf(job);
  return view;
}

void Reconciler::Reconcile(const Key& key, Done<Outcome> done) {
  auto pass = std::make_shared<Pass>();
  pass->key = key;
  pass->done = std::move(done);
  Look(pass);
}

void Reconciler::Look(const PassPtr& pass) {
  pass->decision = {};
  pass->term = term_;
  if (!may_act_()) return pass->Over();  // Whoever leads next looks at every job.
  pass->job = Newest(pass->key);
  if (pass->job == nullptr) return pass->Over();
  if (++pass->looks > kMaxLooks) {
    return pass->Over(Error{ErrorCode::kInternal, "it does not come to rest", true});
  }
  pass->decision = Decide(ViewOf(*pass->job), clock_.Wall());
  if (auto patch = OperatorPatch(pass->job->status, pass->decision.status)) {
    pass->patch = *std::move(patch);
    return Tell(pass, 0);
  }
  Act(pass);
}

// Events first: told twice they are one, but after a write nobody would know that they are still to be told.
void Reconciler::Tell(const PassPtr& pass, std::size_t next) {
  if (next == pass->decision.events.size()) return Write(pass);
  if (!may_act_()) return pass->Over();
  const JobEvent& event = pass->decision.events[next];
  const std::string occasion = std::to_string(pass->job->status.group.value_or(-1)) + " " + event.reason;
  cluster_.Create(Kind::kEvent, EventDocument(pass->job->metadata, occasion, event, clock_.Wall()),
                  [self = self_, pass, next](const Result<Object>& result) {
                    if (*self == nullptr) return;
                    if (!result && result.error().code != ErrorCode::kAlreadyExists) {
                      (*self)->log_.Debug("event was not recorded",
                                          {{"job", ToString(pass->key)}, {"error", result.error().message}});
                    }
                    (*self)->Tell(pass, next + 1);
                  });
}

void Reconciler::Write(const PassPtr& pass) {
  if (!may_act_()) return pass->Over();
  cluster_.Apply({.ref = {Kind::kJob, pass->key},
                  .part = Patch::Part::kStatus,
                  .merge = pass->patch,
                  .resource_version = pass->job->metadata.resource_version},
                 [self = self_, pass](const Result<Object>& result) {
                   if (*self != nullptr) (*self)->OnWritten(pass, result);
                 });
}

void Reconciler::OnWritten(const PassPtr& pass, const Result<Object>& result) {
  if (!result) {
    if (result.error().code == ErrorCode::kNotFound) return pass->Over();
    return pass->Over(result.error());
  }
  const Job* job = std::get_if<Job>(&*result);
  if (job == nullptr) return pass->Over(Error{ErrorCode::kInternal, "the job cannot be read any more"});
  if (pass->term != term_) return pass->Over();  // Somebody else may have acted on what we wrote.
  written_[job->metadata.uid] = std::make_shared<const Job>(*job);
  if (job->status.group != pass->job->status.group) MemoryOf(*job).begun = true;
  Record(*pass->job, *job);
  Look(pass);
}

void Reconciler::Record(const Job& before, const Job& after) {
  const JobStatus& status = after.status;
  if (!before.status.phase) {
    metrics_.submissions.Increment();
    metrics_.submissions_total.Increment();
  }
  if (before.status.phase == status.phase) return;
  const std::string_view phase = ToString(status.phase.value_or(JobPhase::kPending));
  const Condition* running = FindCondition(status.conditions, "Running");
  log_.Info("job changed", {{"job", ToString(KeyOf(after.metadata))},
                            {"group", status.group.value_or(-1)},
                            {"phase", phase},
                            {"replicas", status.replicas},
                            {"reason", running == nullptr ? "" : running->reason},
                            {"message", running == nullptr ? "" : running->message}});
  if (status.phase == JobPhase::kStopping) metrics_.restarts.Increment({status.restart_reason.value_or("")});
  if (IsEnd(status.phase) && status.completion_timestamp && after.metadata.creation_timestamp) {
    const auto took = *status.completion_timestamp - *after.metadata.creation_timestamp;
    metrics_.completion_seconds.Observe(std::chrono::duration<double>(took).count(), {phase});
  }
}

void Reconciler::Act(const PassPtr& pass) {
  const Decision& decision = pass->decision;
  pass->acting = decision.create.size() + decision.remove.size() + decision.look_for.size() +
                 (decision.inquire ? 1 : 0) + (decision.delete_job ? 1 : 0);
  if (pass->acting == 0) return pass->Over();
  // What is done comes into view, and brings the key back. Should that fail, this does.
  std::optional<std::chrono::seconds>& again = pass->decision.again_after;
  if (!again || *again > kLookAfterActing) again = kLookAfterActing;
  pass->learned = false;
  pass->failure.reset();
  for (const Replica& replica : decision.create) CreatePod(pass, replica);
  for (const PodDeletion& deletion : decision.remove) RemovePod(pass, deletion);
  for (const std::int64_t rank : decision.look_for) LookFor(pass, rank);
  if (decision.inquire) Inquire(pass, *decision.inquire);
  if (decision.delete_job) DeleteJob(pass);
}

void Reconciler::OnActed(const PassPtr& pass, const Result<void>& result) {
  if (!result && !pass->failure) pass->failure = result.error();
  if (--pass->acting > 0) return;
  if (pass->term != term_) return pass->Over();
  if (pass->failure) return pass->Over(*pass->failure);
  if (pass->learned) return Look(pass);
  pass->Over();
}

void Reconciler::CreatePod(const PassPtr& pass, const Replica& replica) {
  const Job& job = *pass->job;
  const std::int64_t rank = replica.rank;
  MemoryOf(job).asked[rank] = clock_.Wall();
  const auto refuse = [this, pass](const Error& error) {
    GroupMemory& memory = MemoryOf(*pass->job);
    memory.refused = error.message;
    memory.refused_for_good = error.code == ErrorCode::kInvalid;
  };
  const Result<Document> pod = BuildPod(job, replica, settings_);
  if (!pod) {
    refuse(pod.error());
    pass->learned = true;
    clock_.Post([self = self_, pass] {
      if (*self != nullptr) (*self)->OnActed(pass, {});
    });
    return;
  }
  cluster_.Create(Kind::kPod, *pod, [self = self_, pass, rank, refuse](const Result<Object>& result) {
    if (*self == nullptr) return;
    GroupMemory& memory = (*self)->MemoryOf(*pass->job);
    const ErrorCode code = result ? ErrorCode::kAlreadyExists : result.error().code;
    switch (code) {
      case ErrorCode::kAlreadyExists:
        memory.refused.clear();
        return (*self)->OnActed(pass, {});
      case ErrorCode::kTimeout:  // Perhaps: it will be looked for.
        return (*self)->OnActed(pass, {});
      case ErrorCode::kInvalid:
        refuse(result.error());
        pass->learned = true;
        return (*self)->OnActed(pass, {});
      case ErrorCode::kForbidden:
        refuse(result.error());
        [[fallthrough]];
      default:  // It was not made, and may be asked for again.
        memory.asked.erase(rank);
        return (*self)->OnActed(pass, tl::unexpected<Error>(result.error()));
    }
  });
}

void Reconciler::RemovePod(const PassPtr& pass, const PodDeletion& deletion) {
  const bool unseen = deletion.uid.empty();
  GroupMemory& memory = MemoryOf(*pass->job);
  (unseen ? memory.asked[deletion.rank] : memory.removed[deletion.uid]) = clock_.Wall();
  cluster_.Delete(
      {.ref = {Kind::kPod, {pass->key.name_space, deletion.name}}, .precondition = {.uid = deletion.uid}},
      [self = self_, pass, unseen, rank = deletion.rank, uid = deletion.uid](const Result<void>& result) {
        if (*self == nullptr) return;
        if (!result) (*self)->MemoryOf(*pass->job).removed.erase(uid);
        const bool gone = !result && result.error().code == ErrorCode::kNotFound;
        const bool other = !result && result.error().code == ErrorCode::kConflict;
        if (unseen && gone) {
          (*self)->MemoryOf(*pass->job).gone.insert(rank);
          pass->learned = true;
        }
        (*self)->OnActed(pass, gone || other ? Result<void>() : result);
      });
}

void Reconciler::LookFor(const PassPtr& pass, std::int64_t rank) {
  GroupMemory& memory = MemoryOf(*pass->job);
  memory.asked[rank] = clock_.Wall();
  const std::string name = PodName(*pass->job, memory.group, rank);
  cluster_.Get({Kind::kPod, {pass->key.name_space, name}},
               [self = self_, pass, rank](const Result<Object>& result) {
                 if (*self == nullptr) return;
                 if (!result && result.error().code == ErrorCode::kNotFound) {
                   (*self)->MemoryOf(*pass->job).gone.insert(rank);
                   pass->learned = true;
                   return (*self)->OnActed(pass, {});
                 }
                 (*self)->OnActed(pass, result.map([](const Object&) {}));
               });
}

void Reconciler::Inquire(const PassPtr& pass, const Inquiry& inquiry) {
  constexpr std::size_t kEnough = 100;
  MemoryOf(*pass->job).inquired = clock_.Wall();
  if (!inquiries_.Take(clock_.Now(), Duration::zero())) {
    clock_.Post([self = self_, pass] {
      if (*self != nullptr) (*self)->OnActed(pass, {});
    });
    return;
  }
  const Query query{
      .kind = Kind::kEvent, .name_space = pass->key.name_space, .labels = {}, .about = inquiry.uid};
  cluster_.List(query, kEnough, "", [self = self_, pass, rank = inquiry.rank](const Result<Page>& page) {
    if (*self == nullptr) return;
    if (page) {
      if (const auto blockage = LastWarning(page->objects)) {
        (*self)->MemoryOf(*pass->job).told[rank] = *blockage;
        pass->learned = true;
      }
    }
    (*self)->OnActed(pass, {});  // Without an answer, too, all goes on: it was only for words.
  });
}

void Reconciler::DeleteJob(const PassPtr& pass) {
  cluster_.Delete({.ref = {Kind::kJob, pass->key}, .precondition = {.uid = pass->job->metadata.uid}},
                  [self = self_, pass](const Result<void>& result) {
                    if (*self == nullptr) return;
                    const bool gone = !result && result.error().code == ErrorCode::kNotFound;
                    (*self)->OnActed(pass, gone ? Result<void>() : result);
                  });
}

}  // namespace adaptdl
