#include "runtime/leader_election.h"

#include <algorithm>
#include <utility>
#include <variant>

#include "nlohmann/json.hpp"
#include "runtime/backoff.h"

namespace adaptdl {

using nlohmann::json;

namespace {

constexpr double kJitter = 1.2;
// What a record may ask others to wait. Longer ones are mistakes that should not lock everybody out for ever.
constexpr std::chrono::seconds kLongestWait = std::chrono::hours(1);
constexpr int kReleaseAttempts = 3;

Duration Jittered(Duration period) { return std::chrono::duration_cast<Duration>(period * kJitter); }

}  // namespace

Result<void> LeaderElectionOptions::Validate() const {
  if (lease.name.empty() || lease.name_space.empty()) {
    return Invalid("leader election: the lease needs a namespace and a name");
  }
  if (identity.empty()) return Invalid("leader election: the identity must not be empty");
  if (retry_period <= Duration::zero()) return Invalid("leader election: the retry period must be positive");
  if (renew_deadline <= Jittered(retry_period)) {
    return Invalid("leader election: the renew deadline must be more than 1.2 times the retry period");
  }
  if (lease_duration <= renew_deadline || lease_duration > kLongestWait) {
    return Invalid(
        "leader election: the lease duration must be longer than the renew deadline, an hour at most");
  }
  return {};
}

LeaderElection::LeaderElection(Clock& clock, Cluster& cluster, LeaderElectionOptions options,
                               Callbacks callbacks, Logger log)
    : clock_(clock),
      cluster_(cluster),
      options_(std::move(options)),
      callbacks_(std::move(callbacks)),
      log_(std::move(log)),
      random_(options_.seed),
      wait_until_(Instant::min()),
      term_end_(Instant::min()),
      self_(std::make_shared<LeaderElection*>(this)) {}

LeaderElection::~LeaderElection() { *self_ = nullptr; }

void LeaderElection::Start() { Try(); }

void LeaderElection::Try() {
  ++attempt_;
  met_conflict_ = false;
  // An answer that takes longer is given up, so that a second attempt fits into the term. If it arrives after
  // all it is ignored, which at worst shortens the term.
  limit_ = clock_.After(options_.renew_deadline / 2, [this] {
    current_ = false;
    Try();
  });
  if (leading_ && current_) {
    Write();
  } else {
    Look();
  }
}

void LeaderElection::TryLater() {
  if (released_) return;
  ++attempt_;
  limit_.reset();
  next_ = clock_.After(RandomBetween(options_.retry_period, Jittered(options_.retry_period), random_),
                       [this] { Try(); });
}

Done<Object> LeaderElection::Current(std::function<void(const Result<Object>&)> then) const {
  return [self = self_, attempt = attempt_, then = std::move(then)](const Result<Object>& result) {
    if (*self != nullptr && (*self)->attempt_ == attempt) then(result);
  };
}

void LeaderElection::Look() {
  cluster_.Get(ref(), Current([this](const Result<Object>& result) { OnLook(result); }));
}

void LeaderElection::OnLook(const Result<Object>& result) {
  if (!result && result.error().code == ErrorCode::kNotFound) {
    OnGone();
    return released_ || clock_.Now() < wait_until_ ? TryLater() : Create();
  }
  const Lease* lease = result ? std::get_if<Lease>(&*result) : nullptr;
  if (lease == nullptr) {
    const auto* unreadable = result ? std::get_if<Unreadable>(&*result) : nullptr;
    Report(!result                 ? result.error()
           : unreadable != nullptr ? unreadable->error
                                   : Error{.message = "not a lease"});
    return TryLater();
  }
  Observe(*lease);
  if (lease->holder == options_.identity) return Write();
  StopLeading("another holds the lease");
  const bool free = lease->holder.empty() || clock_.Now() >= wait_until_;
  return free && !released_ ? Write() : TryLater();
}

void LeaderElection::OnGone() {
  // Whoever held it last may not know yet.
  if (std::exchange(existed_, false))
    wait_until_ = std::max(wait_until_, clock_.Now() + options_.lease_duration);
  known_.reset();
  current_ = false;
  StopLeading("the lease was deleted");
}

void LeaderElection::Observe(const Lease& lease) {
  current_ = true;
  const bool changed = !known_ || known_->metadata.uid != lease.metadata.uid ||
                       known_->metadata.resource_version != lease.metadata.resource_version;
  known_ = lease;
  existed_ = true;
  if (!changed || lease.holder.empty()) return;
  // Its holder may be configured differently, and says so.
  const std::chrono::seconds asked(
      std::clamp<std::int64_t>(lease.duration_seconds.value_or(0), 0, std::int64_t{kLongestWait.count()}));
  wait_until_ = std::max(wait_until_, clock_.Now() + std::max(options_.lease_duration,
                                                              std::chrono::duration_cast<Duration>(asked)));
}

Lease LeaderElection::Mine() const {
  Lease lease = known_.value_or(Lease{});
  Time now = clock_.Wall();
  // A renewal that changes nothing would go unseen, so the date must differ, even where the clock was put
  // back.
  if (lease.renew_time == now) now += std::chrono::microseconds(1);
  if (lease.holder != options_.identity) {
    if (known_) ++lease.transitions;
    lease.acquire_time = now;
  }
  lease.holder = options_.identity;
  lease.duration_seconds = std::chrono::ceil<std::chrono::seconds>(options_.lease_duration).count();
  lease.renew_time = now;
  return lease;
}

void LeaderElection::Create() {
  Lease lease = Mine();
  lease.metadata.name = options_.lease.name;
  lease.metadata.name_space = options_.lease.name_space;
  cluster_.Create(
      Kind::kLease, Document(Encode(lease)),
      Current([this, sent = clock_.Now()](const Result<Object>& result) { OnWritten(sent, result); }));
}

void LeaderElection::Write() {
  const Patch patch = {.ref = ref(),
                       .part = Patch::Part::kMain,
                       .merge = Document(json::object({{"spec", Encode(Mine()).at("spec")}})),
                       .resource_version = known_->metadata.resource_version};
  cluster_.Apply(
      patch, Current([this, sent = clock_.Now()](const Result<Object>& result) { OnWritten(sent, result); }));
}

void LeaderElection::OnWritten(Instant sent, const Result<Object>& result) {
  const Lease* lease = result ? std::get_if<Lease>(&*result) : nullptr;
  if (lease != nullptr && lease->holder == options_.identity) {
    Observe(*lease);
    Lead(sent);
    return TryLater();
  }
  current_ = false;  // Even where it failed it may have happened: the next attempt looks first.
  const ErrorCode code = result ? ErrorCode::kInternal : result.error().code;
  if (code == ErrorCode::kNotFound) OnGone();
  if (code == ErrorCode::kAlreadyExists) existed_ = true;
  if (code == ErrorCode::kConflict && !std::exchange(met_conflict_, true)) {
    return Look();  // Now, not later: if another holds it, this one has to stop.
  }
  if (!result) Report(result.error());
  TryLater();
}

void LeaderElection::Lead(Instant sent) {
  if (!MayAct()) StopLeading("the lease was not renewed in time");
  if (sent + options_.renew_deadline <= clock_.Now()) return;
  term_end_ = sent + options_.renew_deadline;
  term_ =
      clock_.After(term_end_ - clock_.Now(), [this] { StopLeading("the lease was not renewed in time"); });
  reported_.clear();
  if (std::exchange(leading_, true)) return;
  log_.Info("leading", {{"lease", ToString(options_.lease)}, {"identity", options_.identity}});
  callbacks_.started();
}

void LeaderElection::StopLeading(std::string_view reason) {
  if (!std::exchange(leading_, false)) return;
  log_.Info("no longer leading", {{"lease", ToString(options_.lease)}, {"reason", reason}});
  callbacks_.stopped();
}

// A failure repeats itself with every attempt, and is worth one line.
void LeaderElection::Report(const Error& error) {
  if (error.message == std::exchange(reported_, error.message)) return;
  log_.Warn("cannot take part in the election",
            {{"lease", ToString(options_.lease)}, {"error", error.message}});
}

void LeaderElection::Release(std::function<void()> done) {
  released_ = true;
  ++attempt_;  // Answers that are still out do not count any more.
  next_.reset();
  limit_.reset();
  StopLeading("released");
  GiveBack(kReleaseAttempts, std::move(done));
}

// Looks first: a renewal that is still out may have changed the record. One that arrives after the Lease has
// been given back fails, as the record is another one by then.
void LeaderElection::GiveBack(int attempts, std::function<void()> done) {
  cluster_.Get(
      ref(), Current([this, attempts, done = std::move(done)](const Result<Object>& found) {
        const Lease* lease = found ? std::get_if<Lease>(&*found) : nullptr;
        if (lease == nullptr || lease->holder != options_.identity) return done();
        const Patch patch = {.ref = ref(),
                             .part = Patch::Part::kMain,
                             .merge = Document(json::object({{"spec", {{"holderIdentity", nullptr}}}})),
                             .resource_version = lease->metadata.resource_version};
        cluster_.Apply(patch, Current([this, attempts, done](const Result<Object>& result) {
                         const bool conflict = !result && result.error().code == ErrorCode::kConflict;
                         if (!conflict || attempts <= 1) return done();
                         GiveBack(attempts - 1, done);
                       }));
      }));
}

}  // namespace adaptdl
