// What is read from files that somebody may change while the program runs: certificates, keys.
#pragma once

#include <chrono>
#include <functional>
#include <string>
#include <utility>

#include "cluster/clock.h"
#include "runtime/log.h"
#include "runtime/result.h"

namespace adaptdl {

// Reads now and then, and hands over what is new. All on the clock's thread.
template <typename T>
class Reloader {
 public:
  using Read = std::function<Result<T>()>;
  // Where it fails, what was in use stays in use.
  using Use = std::function<Result<void>(const T& value)>;

  // `what` it is, for the log; `in_use` is what the program began with. The clock outlives it.
  Reloader(Clock& clock, std::string what, T in_use, Read read, Use use, Logger log,
           Duration period = std::chrono::seconds(10))
      : clock_(clock),
        what_(std::move(what)),
        read_(std::move(read)),
        use_(std::move(use)),
        log_(std::move(log)),
        period_(period),
        seen_(std::move(in_use)),
        timer_(clock_.After(period_, [this] { Look(); })) {}
  Reloader(const Reloader&) = delete;
  Reloader& operator=(const Reloader&) = delete;

 private:
  void Look() {
    timer_ = clock_.After(period_, [this] { Look(); });
    Result<T> value = read_();
    const bool was_unreadable = std::exchange(unreadable_, !value);
    if (!value) {
      if (!was_unreadable) log_.Warn(what_ + " cannot be read", {{"why", value.error().message}});
      return;
    }
    if (*value == seen_) return;
    seen_ = *std::move(value);
    if (const Result<void> used = use_(seen_)) {
      log_.Info(what_ + " renewed");
    } else {
      // Perhaps only one of several files has been renewed yet; the next look will tell.
      log_.Warn(what_ + " not renewed, the one before stays in use", {{"why", used.error().message}});
    }
  }

  Clock& clock_;
  const std::string what_;
  const Read read_;
  const Use use_;
  const Logger log_;
  const Duration period_;
  T seen_;                   // The last that was there, whether it could be used or not.
  bool unreadable_ = false;  // At the last look.
  Timer timer_;
};

}  // namespace adaptdl
