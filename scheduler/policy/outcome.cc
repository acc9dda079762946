#include "scheduler/policy/outcome.h"

#include <algorithm>
#include <cmath>
#include <string>

namespace adaptdl {
namespace {

std::string Percent(double ratio) {
  const auto percent = static_cast<long long>(std::llround(100 * std::clamp(ratio, -1.0, 1e6)));
  return (percent < 0 ? "" : "+") + std::to_string(percent) + " %";
}

std::string Count(std::int64_t number, const std::string& what) {
  return std::to_string(number) + " " + what + (number == 1 ? "" : "s");
}

class Explainer {
 public:
  Explainer(const Problem& problem, Values& values, const State& state)
      : problem_(problem), values_(values), state_(state) {}

  std::string Reason(std::size_t j) {
    const ProblemJob& job = problem_.jobs()[j];
    if (job.pinned) {  // Also on nodes that are gone.
      const auto replicas = problem_.snapshot().base_allocations.at(*job.name).size();
      return "keeps its " + Count(static_cast<std::int64_t>(replicas), "replica") + ": not preemptible";
    }
    const Slots& slots = state_.slots(j);
    if (job.max == 0) return WhyNever(j);
    if (slots.empty()) return (job.had ? "stops: " : "waits: ") + WhyNot(j);
    const int now = Replicas(slots);
    const int before = Replicas(job.base);
    const double speedup = Speedup(j, slots);
    std::string text;
    if (!job.had || before == 0) {
      text = "starts with " + Count(now, "replica") + " on " +
             Count(static_cast<std::int64_t>(slots.size()), "node");
      if (now > 1) text += ": " + Times(speedup) + " the goodput of one";
    } else if (now == before && slots == job.base && job.whole) {
      text = "keeps its " + Count(now, "replica");
    } else if (now == before) {
      text = "moves its " + Count(now, "replica") + " to " +
             Count(static_cast<std::int64_t>(slots.size()), "node") + Change(speedup, Speedup(j, job.base));
    } else {
      text = (now > before ? "grows from " : "shrinks from ") + std::to_string(before) + " to " +
             std::to_string(now) + Change(speedup, Speedup(j, job.base));
    }
    return text + Limit(j, slots, speedup);
  }

 private:
  double Speedup(std::size_t j, const Slots& slots) {
    return values_.Speedup(j, slots.size() > 1, Replicas(slots));
  }

  static std::string Times(double speedup) {
    const auto tenths = static_cast<long long>(std::llround(10 * std::min(speedup, 1e6)));
    return std::to_string(tenths / 10) + "." + std::to_string(tenths % 10) + " times";
  }

  static std::string Change(double now, double before) {
    return before > 0 ? ": " + Percent(now / before - 1) + " goodput" : "";
  }

  // What keeps it from having more.
  std::string Limit(std::size_t j, const Slots& slots, double speedup) {
    const ProblemJob& job = problem_.jobs()[j];
    const int now = Replicas(slots);
    if (now >= job.max) {
      const bool its_own = job.job->max_replicas && job.max == *job.job->max_replicas;
      return its_own ? "; at its most replicas for now" : "; has all that it can use here";
    }
    const bool several = slots.size() > 1 || now >= job.node_fit;
    const double next = values_.Speedup(j, several, now + 1);
    if (several && slots.size() == 1 && next < speedup * 1.02)
      return "; limited by network on more than one node";
    if (next < speedup * 1.02) return "; more replicas would add little";
    return "";
  }

  // No size between its least and most fits, were the cluster empty.
  std::string WhyNever(std::size_t j) {
    const ProblemJob& job = problem_.jobs()[j];
    for (const auto& [type, amount] : job.job->resources) {
      if (amount <= 0) continue;
      bool somewhere = false;
      for (const auto& [name, node] : problem_.snapshot().nodes) {
        const auto has = node.resources.find(type);
        somewhere = somewhere || (has != node.resources.end() && has->second >= amount);
      }
      if (!somewhere) return "waits: no node has " + std::to_string(amount) + " of " + Printable(type, 60);
    }
    if (job.job->max_replicas && *job.job->max_replicas < job.min)
      return "waits: its most replicas are " + std::to_string(*job.job->max_replicas);
    const std::int64_t least = std::max<std::int64_t>(job.job->min_replicas, 1);
    return "waits: needs at least " + Count(least, "replica") + ", more than the cluster can hold";
  }

  std::string WhyNot(std::size_t j) {
    const ProblemJob& job = problem_.jobs()[j];
    int gap = 0;
    int all = 0;
    for (int n = 0; n < problem_.nodes(); ++n) {
      const int fit = state_.Fit(j, n);
      gap = std::max(gap, fit);
      if (!state_.Spanned(n)) all = std::min(all + fit, job.max);
    }
    if (std::max(gap, all) >= job.min) return "others make more of what is free";
    if (gap == 0)
      return values_.by_length(j) ? "the cluster is full, shorter jobs go first"
                                  : "the cluster is full, others make more of it";
    const bool one_node = problem_.nodes() > 1 && job.min <= job.node_fit;
    return "needs " + Count(job.min, "replica") + (one_node ? " on one node" : "") + ", largest gap is " +
           std::to_string(gap);
  }

  const Problem& problem_;
  Values& values_;
  const State& state_;
};

}  // namespace

Proposal MakeProposal(const Problem& problem, Values& values, const State& state,
                      std::int64_t desired_nodes) {
  Proposal out;
  out.desired_nodes = desired_nodes;
  double sum = 0;  // Anew, in the order of names: what moves added up differs in the last digits.
  Explainer explainer(problem, values, state);
  for (std::size_t j = 0; j < problem.jobs().size(); ++j) {
    const ProblemJob& job = problem.jobs()[j];
    sum += state.value(j);
    out.reasons[*job.name] = explainer.Reason(j);
    std::vector<std::string>& nodes = out.allocation[*job.name];
    if (job.pinned) {
      nodes = problem.snapshot().base_allocations.at(*job.name);
      continue;
    }
    for (const Slot& slot : state.slots(j)) {
      nodes.insert(nodes.end(), static_cast<std::size_t>(slot.count), problem.node_name(slot.node));
    }
  }
  out.objective = values.Report(sum);
  return out;
}

}  // namespace adaptdl
