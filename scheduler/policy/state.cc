#include "scheduler/policy/state.h"

#include <algorithm>

namespace adaptdl {

State::State(const Problem& problem, Values& values) : problem_(&problem), values_(&values) {
  const auto nodes = static_cast<std::size_t>(problem.nodes());
  room_.reserve(nodes * static_cast<std::size_t>(problem.types()));
  spanning_.reserve(nodes);
  for (int n = 0; n < problem.nodes(); ++n) {
    // Pinned jobs may take more than a node that shrank still has.
    for (int t = 0; t < problem.types(); ++t)
      room_.push_back(std::max<std::int64_t>(problem.capacity(n)[t], 0));
    spanning_.push_back(problem.taken(n) ? 1 : 0);
  }
  on_.resize(nodes);
  open_index_.assign(nodes, -1);
  for (int n = 0; n < problem.nodes(); ++n) UpdateOpen(n);
  slots_.resize(problem.jobs().size());
  for (std::size_t j = 0; j < slots_.size(); ++j) {
    const bool pinned = problem.jobs()[j].pinned;
    if (pinned) slots_[j] = problem.jobs()[j].base;
    job_values_.push_back(pinned ? values.Kept(j) : values.Idle(j));
    value_ += job_values_.back();
  }
}

int State::Fit(std::size_t job, int node) const {
  std::int64_t fit = problem_->jobs()[job].max;
  const auto types = static_cast<std::size_t>(problem_->types());
  const std::int64_t* need = problem_->need(job);
  const std::int64_t* room = room_.data() + static_cast<std::size_t>(node) * types;
  for (std::size_t t = 0; t < types; ++t) {
    if (need[t] == 1) {
      fit = std::min(fit, room[t]);
    } else if (need[t] > 0) {
      fit = std::min(fit, room[t] / need[t]);
    }
  }
  return static_cast<int>(fit);
}

bool State::Fits(std::size_t job, const Slots& slots) const {
  const ProblemJob& given = problem_->jobs()[job];
  const int replicas = Replicas(slots);
  if (replicas < given.min || replicas > given.max) return false;
  return std::all_of(slots.begin(), slots.end(), [&](const Slot& slot) {
    return Fit(job, slot.node) >= slot.count && (slots.size() == 1 || !Spanned(slot.node));
  });
}

void State::Take(std::size_t job, const Slots& slots, int sign) {
  const auto types = static_cast<std::size_t>(problem_->types());
  const std::int64_t* need = problem_->need(job);
  for (const Slot& slot : slots) {
    std::int64_t* room = room_.data() + static_cast<std::size_t>(slot.node) * types;
    for (std::size_t t = 0; t < types; ++t) room[t] -= sign * need[t] * slot.count;
    if (slots.size() > 1) spanning_[static_cast<std::size_t>(slot.node)] += sign;
    UpdateOpen(slot.node);
  }
}

void State::UpdateOpen(int node) {
  const auto types = static_cast<std::size_t>(problem_->types());
  const std::int64_t* room = room_.data() + static_cast<std::size_t>(node) * types;
  bool open = true;
  for (std::size_t t = 0; t < types; ++t) open = open && room[t] >= problem_->least_need(t);
  int& index = open_index_[static_cast<std::size_t>(node)];
  if (open == (index >= 0)) return;
  if (open) {
    index = static_cast<int>(open_.size());
    open_.push_back(node);
    return;
  }
  open_[static_cast<std::size_t>(index)] = open_.back();
  open_index_[static_cast<std::size_t>(open_.back())] = index;
  open_.pop_back();
  index = -1;
}

void State::Place(std::size_t job, const Slots& slots) {
  if (slots.empty()) return;
  Take(job, slots, 1);
  for (const Slot& slot : slots) on_[static_cast<std::size_t>(slot.node)].push_back(static_cast<int>(job));
  slots_[job] = slots;
  const ProblemJob& given = problem_->jobs()[job];
  const bool kept = given.whole && slots == given.base;
  const double value = kept ? values_->Kept(job) : values_->Moved(job, slots.size() > 1, Replicas(slots));
  value_ += value - job_values_[job];
  job_values_[job] = value;
}

void State::Remove(std::size_t job) {
  if (slots_[job].empty()) return;
  Take(job, slots_[job], -1);
  for (const Slot& slot : slots_[job]) {
    std::vector<int>& on = on_[static_cast<std::size_t>(slot.node)];
    on.erase(std::find(on.begin(), on.end(), static_cast<int>(job)));
  }
  slots_[job].clear();
  value_ += values_->Idle(job) - job_values_[job];
  job_values_[job] = values_->Idle(job);
}

}  // namespace adaptdl
