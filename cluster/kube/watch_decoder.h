// The body of a watch, one JSON object a line, in whatever pieces it comes. Pure.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include "cluster/cluster.h"
#include "runtime/result.h"

namespace adaptdl {

class WatchDecoder {
 public:
  // A longer line than `max_line` bytes is an error. `what` begins messages.
  WatchDecoder(Kind kind, std::string what, std::size_t max_line)
      : kind_(kind), what_(std::move(what)), max_line_(max_line) {}

  // The events that `bytes` complete. An error is the last one; the stream is of no use after it, and what
  // is fed later is dropped. The time taken is linear in all the bytes fed, however they are cut.
  std::vector<Result<WatchEvent>> Feed(std::string_view bytes);

  // What it means that the stream has ended here: retryable, as a watch can go on from the last event. A line
  // that was cut is dropped.
  Error End() const;

 private:
  Result<WatchEvent> DecodeLine(std::string_view line) const;

  Kind kind_;
  std::string what_;
  std::size_t max_line_;
  std::string line_;  // What has come of the one that is not complete.
  bool broken_ = false;
};

}  // namespace adaptdl
