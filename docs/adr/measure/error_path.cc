// error_path CALLS: what one failure costs when it crosses five frames, as a value and as an exception.
#include <stdexcept>
#include <string>
#include <tl/expected.hpp>

#include "common.h"

namespace {

struct Error {
  int code;
  std::string message;
  bool retryable;
};
using Result = tl::expected<int, Error>;
constexpr const char* kMessage = "the object has been modified; read it again";

[[gnu::noinline]] Result ByValue(int depth, int input) {
  if (depth == 0) {
    return input >= 0 ? tl::unexpected<Error>(Error{2, kMessage, true}) : Result(input);
  }
  Result r = ByValue(depth - 1, input);
  asm volatile("" ::: "memory");  // Keeps the frame.
  return r;
}

[[gnu::noinline]] int ByException(int depth, int input) {
  if (depth == 0) {
    if (input >= 0) {
      throw std::runtime_error(kMessage);
    }
    return input;
  }
  const int r = ByException(depth - 1, input);
  asm volatile("" ::: "memory");
  return r;
}

}  // namespace

int main(int argc, char** argv) {
  measure::Bound();
  const int calls = argc == 2 ? std::atoi(argv[1]) : 0;
  long failures = 0;
  double before = measure::CpuSeconds();
  for (int i = 0; i < calls; ++i) {
    failures += ByValue(5, i).has_value() ? 0 : 1;
  }
  std::printf("| value (tl::expected) | %.2f | %ld |\n", 1e6 * (measure::CpuSeconds() - before) / calls,
              failures);
  failures = 0;
  before = measure::CpuSeconds();
  for (int i = 0; i < calls; ++i) {
    try {
      ByException(5, i);
    } catch (const std::exception&) {
      ++failures;
    }
  }
  std::printf("| exception | %.2f | %ld |\n", 1e6 * (measure::CpuSeconds() - before) / calls, failures);
  return 0;
}
