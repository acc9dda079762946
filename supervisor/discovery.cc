#include "supervisor/discovery.h"

#include <utility>

namespace adaptdl {

std::shared_ptr<const Job> SupervisorCaches::Find(const GroupId& id) const {
  std::shared_ptr<const Job> job = jobs.Find(id.job);
  const bool meant = job != nullptr && (id.uid.empty() || job->metadata.uid == id.uid);
  return meant ? job : nullptr;
}

std::vector<const Pod*> SupervisorCaches::PodsOf(const Key& job,
                                                 std::vector<std::shared_ptr<const Pod>>* keep) const {
  *keep = pods.Indexed("job", ToString(job));
  std::vector<const Pod*> out;
  out.reserve(keep->size());
  for (const auto& pod : *keep) out.push_back(pod.get());
  return out;
}

Result<DiscoveryMetrics> DiscoveryMetrics::Make(Metrics& metrics) {
  DiscoveryMetrics made;
  return metrics.AddGauge("adaptdl_supervisor_polls", "Replicas that wait for their peers' addresses")
      .and_then([&](const Gauge& gauge) {
        made.polls = gauge;
        return metrics.AddHistogram("adaptdl_supervisor_poll_seconds", "How long such a replica waited",
                                    {0.01, 0.1, 1, 3, 10, 30, 100, 300}, {"result"});
      })
      .map([&](const Histogram& histogram) {
        made.wait_seconds = histogram;
        return made;
      });
}

Discovery::Discovery(Clock& clock, SupervisorCaches caches, DiscoveryMetrics metrics)
    : clock_(clock), caches_(caches), metrics_(std::move(metrics)) {}

Discovery::PollId Discovery::Ask(const GroupId& id, Duration timeout, Answered done) {
  DiscoveryAnswer answer = LookAt(id);
  if (answer.addresses != nullptr || draining_ || timeout <= Duration::zero()) {
    metrics_.wait_seconds.Observe(0, {answer.addresses != nullptr ? "found" : "timeout"});
    done(answer);
    return 0;
  }
  const PollId poll = next_++;
  polls_.emplace(poll, Poll{id, clock_.Now(), std::move(done), clock_.After(timeout, [this, poll] {
                              Finish(poll, LookAt(polls_.at(poll).id));
                            })});
  waiting_[id].insert(poll);
  return poll;
}

void Discovery::Forget(PollId poll) {
  if (!polls_.contains(poll)) return;
  const Poll left = Remove(poll);
  metrics_.wait_seconds.Observe(std::chrono::duration<double>(clock_.Now() - left.begun).count(), {"left"});
}

DiscoveryAnswer Discovery::LookAt(const GroupId& id) const {
  // Until then absence means nothing, and what is there may be old.
  if (!caches_.ready()) return {.addresses = nullptr, .why = "the supervisor is only just starting"};
  const std::shared_ptr<const Job> job = caches_.Find(id);
  std::vector<std::shared_ptr<const Pod>> keep;
  GroupView view = LookAtGroup(job.get(), caches_.PodsOf(id.job, &keep), id.group);
  if (view.state != GroupView::State::kComplete) return {.addresses = nullptr, .why = std::move(view.why)};
  return {.addresses = std::make_shared<const std::vector<std::string>>(std::move(view.addresses))};
}

void Discovery::Look(const Key& job) {
  std::vector<std::pair<std::vector<PollId>, DiscoveryAnswer>> found;
  const GroupId first{.job = job, .group = INT64_MIN};
  for (auto at = waiting_.lower_bound(first); at != waiting_.end() && at->first.job == job; ++at) {
    DiscoveryAnswer answer = LookAt(at->first);
    if (answer.addresses != nullptr)
      found.emplace_back(std::vector(at->second.begin(), at->second.end()), answer);
  }
  for (const auto& [polls, answer] : found) AnswerAll(polls, answer);
}

void Discovery::LookAtAll() {
  std::set<Key> jobs;
  for (const auto& [id, polls] : waiting_) jobs.insert(id.job);
  for (const Key& job : jobs) Look(job);
}

void Discovery::Drain() {
  draining_ = true;
  while (!waiting_.empty()) {
    const std::set<PollId> polls = waiting_.begin()->second;
    AnswerAll({polls.begin(), polls.end()}, {.addresses = nullptr, .why = "the supervisor is about to end"});
  }
}

std::size_t Discovery::PollsOf(const Key& job) const {
  std::size_t count = 0;
  const GroupId first{.job = job, .group = INT64_MIN};
  for (auto at = waiting_.lower_bound(first); at != waiting_.end() && at->first.job == job; ++at) {
    count += at->second.size();
  }
  return count;
}

void Discovery::Measure() const { metrics_.polls.Set(static_cast<double>(polls_.size())); }

void Discovery::AnswerAll(const std::vector<PollId>& polls, const DiscoveryAnswer& answer) {
  for (const PollId poll : polls) Finish(poll, answer);
}

void Discovery::Finish(PollId poll, const DiscoveryAnswer& answer) {
  if (!polls_.contains(poll)) return;
  const Poll over = Remove(poll);
  const double waited = std::chrono::duration<double>(clock_.Now() - over.begun).count();
  metrics_.wait_seconds.Observe(waited, {answer.addresses != nullptr ? "found" : "timeout"});
  over.done(answer);
}

Discovery::Poll Discovery::Remove(PollId poll) {
  const auto at = polls_.find(poll);
  Poll removed = std::move(at->second);
  polls_.erase(at);
  const auto waiting = waiting_.find(removed.id);
  waiting->second.erase(poll);
  if (waiting->second.empty()) waiting_.erase(waiting);
  return removed;
}

}  // namespace adaptdl
