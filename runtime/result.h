// Result<T>: a value, or the Error that says why there is none. Failures that a caller can meet travel as
// values; exceptions stop at the edge of the library that throws them.
#pragma once

#include <string>
#include <string_view>
#include <utility>

#include "tl/expected.hpp"

namespace adaptdl {

// The closed set of ways in which something can fail. What a caller may do differs between them; a finer
// distinction belongs into the message.
enum class ErrorCode {
  kInvalid,        // The input is wrong, and will be wrong again: the message names the field.
  kNotFound,       // The thing asked for is not there.
  kAlreadyExists,  // There is one of that name.
  kConflict,       // It changed meanwhile: read again, decide again.
  kGone,           // The position in a stream is no longer served: start over from a list.
  kForbidden,      // Not allowed for this caller.
  kUnavailable,    // The other side cannot be reached or does not answer now.
  kTimeout,        // It did not answer in time; it may have happened all the same.
  kInternal,       // A promise inside this program was broken.
};

std::string_view ToString(ErrorCode code);

struct [[nodiscard]] Error {
  ErrorCode code = ErrorCode::kInternal;
  std::string message;     // One line for a person, without a trailing full stop.
  bool retryable = false;  // The same call may succeed later, unchanged.

  friend bool operator==(const Error&, const Error&) = default;
};

template <typename T>
using Result = tl::expected<T, Error>;

// The usual failure: return Fail(ErrorCode::kInvalid, "spec.minReplicas: must not be negative");
inline tl::unexpected<Error> Fail(ErrorCode code, std::string message, bool retryable = false) {
  return tl::unexpected<Error>(Error{code, std::move(message), retryable});
}
inline tl::unexpected<Error> Invalid(std::string message) {
  return Fail(ErrorCode::kInvalid, std::move(message));
}

// Makes text from outside safe for a log line, a terminal or an error message: control characters (also the
// bidirectional ones) and bytes that are not UTF-8 become \xNN, and what is longer than `limit` bytes is cut,
// between two characters, and ends with "...".
std::string Printable(std::string_view text, std::size_t limit = 200);

}  // namespace adaptdl
