#include "scheduler/policy/search.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>

namespace adaptdl {
namespace {

constexpr double kRounding = 1e-12;

double Uniform(Rng& rng) { return static_cast<double>(rng() >> 11) * 0x1p-53; }
std::size_t Below(Rng& rng, std::size_t bound) {
  return static_cast<std::size_t>(Uniform(rng) * static_cast<double>(bound));
}

// Builds and rebuilds states. A price for each share of the cluster's resources makes each job content with
// the number of replicas that is worth it to the whole, so that jobs can be placed one after the other.
class Builder {
 public:
  Builder(const Problem& problem, Values& values, Rng& rng)
      : problem_(problem), values_(values), rng_(rng), fits_(static_cast<std::size_t>(problem.nodes())) {
    for (std::size_t j = 0; j < problem.jobs().size(); ++j) {
      if (!problem.jobs()[j].pinned && problem.jobs()[j].max > 0) movable_.push_back(j);
    }
    FindPrice();
  }

  [[nodiscard]] double bound() const { return bound_; }
  [[nodiscard]] const std::vector<std::size_t>& movable() const { return movable_; }

  State KeepEverything() {
    State state(problem_, values_);
    for (const std::size_t j : movable_) {
      const ProblemJob& job = problem_.jobs()[j];
      if (job.had && job.whole && state.Fits(j, job.base)) state.Place(j, job.base);
    }
    Fill(state);
    return state;
  }

  // From nothing, jobs that want most first: what is left for the small ones is easier to fill.
  State Afresh() {
    State state(problem_, values_);
    std::vector<std::pair<double, std::size_t>> order;
    for (const std::size_t j : movable_) {
      if (Wanted(j, price_).keep && state.Fits(j, problem_.jobs()[j].base))
        state.Place(j, problem_.jobs()[j].base);
    }
    for (const std::size_t j : movable_) {
      if (!state.slots(j).empty()) continue;
      order.emplace_back(-Wanted(j, price_).replicas * problem_.jobs()[j].share * (1 + 1e-3 * Uniform(rng_)),
                         j);
    }
    std::sort(order.begin(), order.end());
    for (const auto& [size, j] : order) Insert(state, j, price_);
    Fill(state);
    return state;
  }

  // Tears down what is on a few nodes and builds it anew at a slightly different price. Where that is
  // worse the state stays as it was.
  void Mutate(State& state) {
    touched_.clear();
    const double before = state.value();
    const std::size_t nodes = static_cast<std::size_t>(problem_.nodes());
    const int areas = 1 + static_cast<int>(Below(rng_, 3));
    for (int i = 0; i < areas && touched_.size() <= 12; ++i) {
      int node = static_cast<int>(Below(rng_, nodes));
      if (Below(rng_, 2) == 0) {  // Where someone is far from what it wants.
        const std::size_t j = MostRegretful(state);
        const Slots& slots = state.slots(j);
        node = slots.empty() ? -1 : slots[Below(rng_, slots.size())].node;
        Touch(state, j);
      }
      if (node < 0) continue;
      for (const int job : std::vector<int>(state.jobs_on(node))) Touch(state, static_cast<std::size_t>(job));
    }
    for (int i = 0; i < 2; ++i) {  // Someone who waits may do more with it.
      const std::size_t j = movable_[Below(rng_, movable_.size())];
      if (state.slots(j).empty()) Touch(state, j);
    }
    const std::size_t torn = touched_.size();
    order_.resize(torn);
    std::iota(order_.begin(), order_.end(), std::size_t{0});
    for (std::size_t i = torn; i > 1; --i) std::swap(order_[i - 1], order_[Below(rng_, i)]);
    const double width = Below(rng_, 2) == 0 ? 0.05 : 0.5;
    const double price = price_ * (1 - width + 2 * width * Uniform(rng_));
    for (const std::size_t i : order_) Insert(state, touched_[i].job, price);
    // What is left over makes one of them larger.
    for (const std::size_t i : order_) Improve(state, touched_[i].job);
    // A different state of the same value may lead further.
    if (state.value() < before - kRounding * std::max(1.0, std::abs(before))) Undo(state);
  }

  // Mutates until nothing better can exist, or so many times.
  void Evolve(State& state, int steps) {
    for (int i = 0; i < steps && !Optimal(state); ++i) Mutate(state);
  }

  [[nodiscard]] bool Optimal(const State& state) const {
    return state.value() >= bound_ - 1e-9 * std::abs(bound_);
  }

  // Part of the nodes as `a` has them, the rest as `b`, as far as both go together; then what fits.
  State Cross(const State& a, const State& b) {
    State child(problem_, values_);
    std::vector<char> from_a(static_cast<std::size_t>(problem_.nodes()));
    for (char& flag : from_a) flag = static_cast<char>(rng_() & 1);
    for (const std::size_t j : movable_) {
      const Slots& slots = a.slots(j);
      if (!slots.empty() && from_a[static_cast<std::size_t>(slots.front().node)]) child.Place(j, slots);
    }
    for (const std::size_t j : movable_) {
      if (child.slots(j).empty() && !b.slots(j).empty() && child.Fits(j, b.slots(j)))
        child.Place(j, b.slots(j));
    }
    for (const std::size_t j : movable_) {
      if (child.slots(j).empty()) Insert(child, j, price_);
    }
    Fill(child);
    return child;
  }

 private:
  struct Choice {
    int replicas = 0;
    bool several = false;
    bool keep = false;
    double score = 0;
  };
  struct Touched {
    std::size_t job;
    Slots before;
  };

  // The number of replicas that is worth most at a price, if a node had room for `one` and all of them for
  // `all`.
  Choice Best(std::size_t j, double price, int one, int all) {
    const ProblemJob& job = problem_.jobs()[j];
    const double cost = price * job.share;
    Choice best{.score = values_.Idle(j)};
    const int most = std::min(job.max, std::max(one, all));
    int since = 0;
    for (int k = job.min; k <= most; ++k) {
      const bool several = k > one;
      if (several && k < 2) continue;
      const double score = values_.Moved(j, several, k) - cost * k;
      if (score > best.score) {
        best = {k, several, false, score};
        since = 0;
      } else if (values_.Speedup(j, several, k) > 0 && ++since > 8 + k / 2) {
        break;  // More replicas have not paid for long.
      }
    }
    return best;
  }

  Choice Wanted(std::size_t j, double price) {
    const ProblemJob& job = problem_.jobs()[j];
    Choice best = Best(j, price, job.node_fit, job.max);
    if (problem_.nodes() > 1 &&
        job.node_fit > 1) {  // The network between nodes may be reported as the faster.
      const Choice apart = Best(j, price, 1, job.node_fit);
      if (apart.score > best.score) best = apart;
    }
    if (job.had && job.whole) {
      const int replicas = Replicas(job.base);
      const double score = values_.Kept(j) - price * job.share * replicas;
      if (score > best.score) best = {replicas, job.base.size() > 1, true, score};
    }
    return best;
  }

  // Of a few jobs, the one with most to gain at the price.
  std::size_t MostRegretful(const State& state) {
    std::size_t worst = 0;
    double most = -std::numeric_limits<double>::infinity();
    for (int i = 0; i < 6; ++i) {
      const std::size_t j = movable_[Below(rng_, movable_.size())];
      const double now = state.value(j) - price_ * problem_.jobs()[j].share * Replicas(state.slots(j));
      const double regret = wanted_[j] - now;
      if (regret > most) worst = j;
      most = std::max(most, regret);
    }
    return worst;
  }

  // How large the shares of all jobs that can be moved are at most, together: jobs that take most of the same
  // resource have what is left of it.
  [[nodiscard]] double DominantSharesLeft() const {
    std::vector<char> dominant(static_cast<std::size_t>(problem_.types()), 0);
    double left = 0;
    for (const std::size_t j : movable_) {
      int t = 0;
      const auto share = [&] {
        return problem_.total(t) > 0 ? static_cast<double>(problem_.need(j)[t]) / problem_.total(t) : 0;
      };
      while (t < problem_.types() && share() < problem_.jobs()[j].share) ++t;
      if (t == problem_.types() || dominant[static_cast<std::size_t>(t)] != 0) continue;
      dominant[static_cast<std::size_t>(t)] = 1;
      for (int n = 0; n < problem_.nodes(); ++n)
        left += static_cast<double>(std::max<std::int64_t>(problem_.capacity(n)[t], 0)) / problem_.total(t);
    }
    return left;
  }

  // The price at which jobs want as much as there is. As a Lagrange multiplier of the one constraint that
  // counts most, it gives a bound on the value of any state.
  void FindPrice() {
    double fixed = 0;  // Pinned jobs, and those that cannot run.
    double share_left = 1;
    for (std::size_t j = 0; j < problem_.jobs().size(); ++j) {
      const ProblemJob& job = problem_.jobs()[j];
      if (job.pinned) share_left -= job.share * Replicas(job.base);
    }
    share_left = std::max(share_left, 0.0);
    const double bound_left = DominantSharesLeft();
    {
      const State empty(problem_, values_);
      fixed = empty.value();
      for (const std::size_t j : movable_) fixed -= values_.Idle(j);
    }
    const auto demand = [&](double price, double* bound) {
      double share = 0;
      *bound = fixed + price * bound_left;
      for (const std::size_t j : movable_) {
        const Choice choice = Wanted(j, price);
        share += choice.replicas * problem_.jobs()[j].share;
        *bound += choice.score;
      }
      return share;
    };
    bound_ = std::numeric_limits<double>::infinity();
    double low = 0;
    double high = 1e-6;
    double bound = 0;
    for (int i = 0; i < 80 && demand(high, &bound) > share_left; ++i) {
      bound_ = std::min(bound_, bound);
      low = high;
      high *= 4;
    }
    bound_ = std::min(bound_, bound);
    for (int i = 0; i < 20; ++i) {
      const double middle = low > 0 ? std::sqrt(low * high) : high / 2;
      (demand(middle, &bound) > share_left ? low : high) = middle;
      bound_ = std::min(bound_, bound);
    }
    price_ = high;
    wanted_.resize(problem_.jobs().size(), 0);
    for (const std::size_t j : movable_) wanted_[j] = Wanted(j, price_).score;
  }

  // Gives a waiting job what is best for it at that price.
  void Insert(State& state, std::size_t j, double price) {
    const ProblemJob& job = problem_.jobs()[j];
    int one = 0;
    int all = 0;
    for (const int n : state.open_nodes()) {
      const int fit = state.Fit(j, n);
      fits_[static_cast<std::size_t>(n)] = fit;
      one = std::max(one, fit);
      if (fit > 0 && !state.Spanned(n)) all = std::min(all + fit, job.max);
    }
    Choice best = Best(j, price, one, all);
    if (job.had && job.whole) {
      const double score = values_.Kept(j) - price * job.share * Replicas(job.base);
      if (score >= best.score && state.Fits(j, job.base)) best = {Replicas(job.base), false, true, score};
    }
    if (best.replicas == 0) return;
    if (best.keep) {
      state.Place(j, job.base);
      return;
    }
    if (!best.several) {
      slots_.assign(1, {TightestNode(state, best.replicas, false), best.replicas});
    } else if (!Spread(state, best.replicas)) {
      return;
    }
    state.Place(j, slots_);
  }

  // The node with the least room that is enough; among equals any.
  int TightestNode(const State& state, int replicas, bool unspanned) {
    int best = -1;
    int fit = std::numeric_limits<int>::max();
    const std::vector<int>& open = state.open_nodes();
    std::size_t at = Below(rng_, open.size());
    for (std::size_t i = 0; i < open.size(); ++i, at = at + 1 == open.size() ? 0 : at + 1) {
      const int n = open[at];
      const int here = fits_[static_cast<std::size_t>(n)];
      if (here < replicas || here >= fit || (unspanned && state.Spanned(n))) continue;
      best = n;
      fit = here;
      if (here == replicas) break;
    }
    return best;
  }

  // Fills the roomiest nodes, and the rest where it fits best.
  bool Spread(const State& state, int replicas) {
    slots_.clear();
    candidates_.clear();
    for (const int n : state.open_nodes()) {
      if (fits_[static_cast<std::size_t>(n)] > 0 && !state.Spanned(n)) candidates_.push_back(n);
    }
    std::sort(candidates_.begin(), candidates_.end(), [&](int a, int b) {
      const int fa = fits_[static_cast<std::size_t>(a)];
      const int fb = fits_[static_cast<std::size_t>(b)];
      return fa != fb ? fa > fb : a < b;
    });
    for (const int n : candidates_) {
      if (replicas == 0) break;
      if (static_cast<int>(slots_.size()) >= values_.most_nodes()) return false;
      const int fit = fits_[static_cast<std::size_t>(n)];
      if (fit >= replicas) {
        const int tight = TightestNode(state, replicas, true);
        const bool used =
            std::any_of(slots_.begin(), slots_.end(), [&](const Slot& s) { return s.node == tight; });
        slots_.push_back({used ? n : tight, replicas});
        replicas = 0;
      } else {
        slots_.push_back({n, fit});
        replicas -= fit;
      }
    }
    std::sort(slots_.begin(), slots_.end(), [](const Slot& a, const Slot& b) { return a.node < b.node; });
    return replicas == 0;
  }

  // Lets the job choose again, at no price: it never gets worse.
  void Improve(State& state, std::size_t j) {
    const Slots old = state.slots(j);
    const double before = state.value(j);
    state.Remove(j);
    Insert(state, j, price_ * 1e-3);
    if (state.value(j) < before) {
      state.Remove(j);
      state.Place(j, old);
    }
  }

  void Fill(State& state) {
    for (const bool waiting : {true, false}) {
      for (const std::size_t j : movable_) {
        if (state.slots(j).empty() == waiting) Improve(state, j);
      }
    }
  }

  void Touch(State& state, std::size_t j) {
    if (problem_.jobs()[j].pinned) return;
    if (std::any_of(touched_.begin(), touched_.end(), [&](const Touched& t) { return t.job == j; })) return;
    touched_.push_back({j, state.slots(j)});
    state.Remove(j);
  }

  void Undo(State& state) {
    for (const Touched& t : touched_) state.Remove(t.job);
    for (const Touched& t : touched_) state.Place(t.job, t.before);
  }

  const Problem& problem_;
  Values& values_;
  Rng& rng_;
  std::vector<std::size_t> movable_;
  std::vector<double> wanted_;  // Score of what each job would choose at the price.
  std::vector<int> fits_, candidates_;
  std::vector<std::size_t> order_;
  std::vector<Touched> touched_;
  Slots slots_;
  double price_ = 0;
  double bound_ = 0;
};

}  // namespace

SearchResult Search(const Problem& problem, Values& values, double effort, Rng& rng) {
  Builder builder(problem, values, rng);
  State kept = builder.KeepEverything();
  if (builder.movable().empty() || problem.nodes() == 0) return {std::move(kept), builder.bound()};
  std::vector<State> population;
  population.push_back(std::move(kept));
  population.push_back(builder.Afresh());
  population.push_back(builder.Afresh());
  const auto jobs = static_cast<double>(builder.movable().size());
  const auto steps = static_cast<int>(std::min(effort * (50 + 18 * jobs), 1e9));
  const auto by_value = [](const State& a, const State& b) { return a.value() < b.value(); };
  for (State& state : population) {
    builder.Evolve(state, steps);
  }
  const auto done = [&] {
    return std::any_of(population.begin(), population.end(),
                       [&](const State& state) { return builder.Optimal(state); });
  };
  for (int generation = 0; generation < 3 && !done(); ++generation) {
    const std::size_t a = Below(rng, population.size());
    const std::size_t b = (a + 1 + Below(rng, population.size() - 1)) % population.size();
    State child = builder.Cross(population[a], population[b]);
    builder.Evolve(child, steps);
    auto worst = std::min_element(population.begin(), population.end(), by_value);
    if (child.value() > worst->value()) *worst = std::move(child);
  }
  return {std::move(*std::max_element(population.begin(), population.end(), by_value)), builder.bound()};
}

}  // namespace adaptdl
