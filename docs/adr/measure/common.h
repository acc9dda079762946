// What the measuring programs share: what a process cost itself, and the check that no event was lost.
#pragma once

#include <sys/resource.h>
#include <unistd.h>

#include <charconv>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <string>
#include <string_view>

namespace measure {

// Nothing here may run for ever: after this many seconds the kernel ends the process.
inline void Bound(unsigned seconds = 120) { alarm(seconds); }

inline double CpuSeconds() {
  rusage u{};
  getrusage(RUSAGE_SELF, &u);
  return static_cast<double>(u.ru_utime.tv_sec + u.ru_stime.tv_sec) +
         1e-6 * static_cast<double>(u.ru_utime.tv_usec + u.ru_stime.tv_usec);
}

inline double PeakMegabytes() {
  rusage u{};
  getrusage(RUSAGE_SELF, &u);
  return static_cast<double>(u.ru_maxrss) / 1024;
}

inline int Threads() {
  std::ifstream status("/proc/self/status");
  for (std::string line; std::getline(status, line);) {
    if (line.starts_with("Threads:")) {
      return std::atoi(line.c_str() + 8);
    }
  }
  return -1;
}

// One row of the table that `run` prints.
inline void Report(std::string_view name, int threads, std::string_view checked) {
  std::printf("| %.*s | %.2f | %.0f | %d | %.*s |\n", static_cast<int>(name.size()), name.data(),
              CpuSeconds(), PeakMegabytes(), threads, static_cast<int>(checked.size()), checked.data());
  std::fflush(stdout);
}

// A watch event is one line of JSON; its number stands at a fixed place, so that a lost, doubled or
// mis-split event is noticed.
inline constexpr std::string_view kEventHead = R"({"type":"MODIFIED","seq":")";
inline constexpr std::size_t kEventBytes = 1024;

inline std::string MakeEvent(int number) {
  char digits[16];
  std::snprintf(digits, sizeof digits, "%08d", number);
  std::string event(kEventHead);
  event += digits;
  event += R"(","object":{"kind":"Pod","metadata":{"name":"job-1-0-0"},"padding":")";
  event.append(kEventBytes - event.size() - 4, 'x');
  event += "\"}}\n";
  return event;
}

// Puts the lines of one stream together from pieces of any size.
class EventLines {
 public:
  void Feed(std::string_view piece) {
    for (std::size_t end; (end = piece.find('\n')) != std::string_view::npos; piece.remove_prefix(end + 1)) {
      if (partial_.empty()) {
        Check(piece.substr(0, end));
      } else {
        partial_.append(piece.substr(0, end));
        Check(partial_);
        partial_.clear();
      }
    }
    partial_.append(piece);
  }
  void Check(std::string_view line) {
    int number = -1;
    if (line.size() == kEventBytes - 1 && line.starts_with(kEventHead) && line.ends_with("\"}}")) {
      const char* digits = line.data() + kEventHead.size();
      std::from_chars(digits, digits + 8, number);
    }
    (number == good_ ? good_ : bad_)++;
  }
  bool Complete(int events) const { return good_ == events && bad_ == 0 && partial_.empty(); }

 private:
  std::string partial_;
  int good_ = 0, bad_ = 0;
};

}  // namespace measure
