#include "scheduler/policy/baselines.h"

#include <algorithm>
#include <limits>
#include <numeric>
#include <queue>
#include <tuple>

#include "scheduler/policy/outcome.h"
#include "scheduler/policy/state.h"

namespace adaptdl {
namespace {

constexpr double kSecondQueue = 16 * 3600;  // Replica-seconds.

// The objective that baselines report is the release's: they have none of their own.
struct Board {
  explicit Board(const Snapshot& snapshot)
      : problem(snapshot), values(problem, {.objective = Objective::kRelease}), state(problem, values) {
    for (std::size_t j = 0; j < problem.jobs().size(); ++j) {
      if (!problem.jobs()[j].pinned && problem.jobs()[j].max > 0) order.push_back(j);
    }
    std::stable_sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) {
      return problem.jobs()[a].job->creation_timestamp < problem.jobs()[b].job->creation_timestamp;
    });
  }

  [[nodiscard]] const ProblemJob& job(std::size_t j) const { return problem.jobs()[j]; }

  // What the job has now, if it has just so many replicas and they can stay.
  bool Keep(std::size_t j, int replicas) {
    const ProblemJob& given = job(j);
    if (!given.had || !given.whole || Replicas(given.base) != replicas || !state.Fits(j, given.base))
      return false;
    state.Place(j, given.base);
    return true;
  }

  // On the nodes with most room.
  bool PlaceOnRoomiest(std::size_t j, int replicas) {
    std::vector<std::pair<int, int>>
        room;  // Negative, so that the roomiest comes first and of equals the first node.
    for (int n = 0; n < problem.nodes(); ++n) {
      if (const int fit = state.Fit(j, n); fit > 0) room.emplace_back(-fit, n);
    }
    std::sort(room.begin(), room.end());
    Slots slots;
    if (!room.empty() && -room.front().first >= replicas) {
      slots.push_back({room.front().second, replicas});
    } else {
      int left = replicas;
      for (const auto& [fit, node] : room) {
        if (left == 0) break;
        if (state.Spanned(node)) continue;
        slots.push_back({node, std::min(left, -fit)});
        left -= slots.back().count;
      }
      if (left > 0) return false;
      std::sort(slots.begin(), slots.end(), [](const Slot& a, const Slot& b) { return a.node < b.node; });
    }
    state.Place(j, slots);
    return true;
  }

  Proposal Propose() { return MakeProposal(problem, values, state, problem.nodes()); }

  Problem problem;
  Values values;
  State state;
  std::vector<std::size_t> order;  // First come first.
};

// The replicas that a job which does not adapt asks for.
int Asked(const ProblemJob& job) { return job.job->max_replicas ? job.max : job.min; }

}  // namespace

Proposal TiresiasPolicy::Propose(const Snapshot& snapshot, Rng& /*rng*/) const {
  Board board(snapshot);
  board.problem.set_share_networks(share_networks_);
  std::stable_partition(board.order.begin(), board.order.end(), [&](std::size_t j) {
    return board.job(j).job->attained_service.value_or(0) < kSecondQueue;
  });
  // Who is chosen, by resources alone; then those that run keep their place.
  double left = 1;
  std::vector<std::size_t> chosen;
  for (const ProblemJob& job : board.problem.jobs()) {
    if (job.pinned) left -= job.share * Replicas(job.base);
  }
  for (const std::size_t j : board.order) {
    const double share = board.job(j).share * Asked(board.job(j));
    if (share > left + 1e-9) continue;
    left -= share;
    chosen.push_back(j);
  }
  std::vector<std::size_t> fresh;
  for (const std::size_t j : chosen) {
    if (!board.Keep(j, Asked(board.job(j)))) fresh.push_back(j);
  }
  for (const std::size_t j : fresh) board.PlaceOnRoomiest(j, Asked(board.job(j)));
  return board.Propose();
}

Proposal FifoPolicy::Propose(const Snapshot& snapshot, Rng& /*rng*/) const {
  Board board(snapshot);
  std::vector<std::size_t> fresh;
  for (const std::size_t j : board.order) {
    if (!board.Keep(j, Asked(board.job(j)))) fresh.push_back(j);
  }
  for (const std::size_t j : fresh) {
    if (!board.PlaceOnRoomiest(j, Asked(board.job(j)))) break;
  }
  return board.Propose();
}

Proposal StaticPolicy::Propose(const Snapshot& snapshot, Rng& /*rng*/) const {
  Board board(snapshot);
  std::vector<std::size_t> fresh;
  for (const std::size_t j : board.order) {
    if (!board.Keep(j, Replicas(board.job(j).base))) fresh.push_back(j);
  }
  const auto jobs = static_cast<double>(board.problem.jobs().size());
  for (const std::size_t j : fresh) {
    const ProblemJob& job = board.job(j);
    const double share = job.share > 0 ? 1 / (job.share * jobs) : job.max;
    int replicas =
        static_cast<int>(std::clamp(share, static_cast<double>(job.min), static_cast<double>(job.max)));
    while (replicas > job.min && !board.PlaceOnRoomiest(j, replicas)) --replicas;
    if (replicas == job.min) board.PlaceOnRoomiest(j, replicas);
  }
  return board.Propose();
}

Proposal OptimusPolicy::Propose(const Snapshot& snapshot, Rng& /*rng*/) const {
  Board board(snapshot);
  board.problem.set_share_networks(share_networks_);
  const auto remaining = [&](std::size_t j, int replicas) {
    const ProblemJob& job = board.job(j);
    if (remaining_time_) return remaining_time_(*job.name, replicas);
    const double work = std::max(job.job->total_progress.value_or(1) - job.job->progress.value_or(0), 0.0);
    return work / std::max(board.values.Speedup(j, replicas > job.node_fit, replicas), 1e-9);
  };
  std::vector<int> replicas(board.problem.jobs().size(), 0);
  double left = 1;
  for (const ProblemJob& job : board.problem.jobs()) {
    if (job.pinned) left -= job.share * Replicas(job.base);
  }
  using Gain =
      std::tuple<double, std::size_t, int>;  // Then the earlier job; the size that it is the gain of.
  std::priority_queue<Gain> gains;
  const auto offer = [&](std::size_t j) {
    if (replicas[j] >= board.job(j).max) return;
    const double gain = remaining(j, replicas[j]) - remaining(j, replicas[j] + 1);
    if (gain > 0) gains.emplace(gain, board.problem.jobs().size() - j, replicas[j] + 1);
  };
  for (const std::size_t j : board.order) {
    const double share = board.job(j).share * board.job(j).min;
    if (share > left + 1e-9) continue;
    left -= share;
    replicas[j] = board.job(j).min;
    offer(j);
  }
  while (!gains.empty()) {
    const std::size_t j = board.problem.jobs().size() - std::get<1>(gains.top());
    gains.pop();
    if (board.job(j).share > left + 1e-9) continue;
    left -= board.job(j).share;
    ++replicas[j];
    offer(j);
  }
  std::vector<std::size_t> fresh;
  for (const std::size_t j : board.order) {
    if (replicas[j] > 0 && !board.Keep(j, replicas[j])) fresh.push_back(j);
  }
  std::stable_sort(fresh.begin(), fresh.end(),
                   [&](std::size_t a, std::size_t b) { return replicas[a] < replicas[b]; });
  for (const std::size_t j : fresh) {
    int count = replicas[j];
    while (count > board.job(j).min && !board.PlaceOnRoomiest(j, count)) --count;
    if (count == board.job(j).min) board.PlaceOnRoomiest(j, count);
  }
  return board.Propose();
}

}  // namespace adaptdl
