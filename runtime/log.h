// One line for each event: a message and fields with fixed keys (job, group, round).
//
//   2026-01-01T00:00:00.000Z INFO  operator job started job=ns/name group=3
//   {"time":"2026-01-01T00:00:00.000Z","level":"info","component":"operator","message":"job started",...}
#pragma once

#include <chrono>
#include <concepts>
#include <cstdint>
#include <functional>
#include <initializer_list>
#include <memory>
#include <string>
#include <string_view>
#include <type_traits>
#include <variant>

namespace adaptdl {

enum class LogLevel { kDebug, kInfo, kWarn, kError };
enum class LogFormat { kText, kJson };

// A key (a plain word, not one of time, level, component and message) and a value, which may come from
// outside: it is made safe. It refers to its text, so it lives no longer than the call it is an argument of.
struct LogField {
  template <typename T>
  requires std::convertible_to<const T&, std::string_view> LogField(std::string_view name, const T& text)
      : key(name), value(std::string_view{text}) {}
  LogField(std::string_view name, bool flag) : key(name), value(flag) {}
  template <std::signed_integral T>
  LogField(std::string_view name, T number) : key(name), value(static_cast<std::int64_t>(number)) {}
  template <std::unsigned_integral T>
  requires(!std::same_as<T, bool>) LogField(std::string_view name, T number)
      : key(name), value(static_cast<std::uint64_t>(number)) {}
  LogField(std::string_view name, double number) : key(name), value(number) {}

  std::string_view key;
  std::variant<std::string_view, bool, std::int64_t, std::uint64_t, double> value;
};

struct LogOptions {
  LogLevel level = LogLevel::kInfo;
  LogFormat format = LogFormat::kText;
  // Takes each line, without its line break; never called by two threads at once. Left empty: stderr.
  std::function<void(std::string_view line)> sink = {};
  // Left empty: the system's clock.
  std::function<std::chrono::system_clock::time_point()> now = {};
};

// Cheap to copy; copies write to the same place. Every method may be called from any thread.
class Logger {
 public:
  using Fields = std::initializer_list<LogField>;

  explicit Logger(std::string component, LogOptions options = {});

  // The same logger under the name of another part of the program.
  Logger Named(std::string component) const;

  bool Enabled(LogLevel level) const;
  void Log(LogLevel level, std::string_view message, Fields fields = {}) const;

  void Debug(std::string_view message, Fields fields = {}) const { Log(LogLevel::kDebug, message, fields); }
  void Info(std::string_view message, Fields fields = {}) const { Log(LogLevel::kInfo, message, fields); }
  void Warn(std::string_view message, Fields fields = {}) const { Log(LogLevel::kWarn, message, fields); }
  void Error(std::string_view message, Fields fields = {}) const { Log(LogLevel::kError, message, fields); }

 private:
  struct Core;
  explicit Logger(std::shared_ptr<const Core> core);

  std::shared_ptr<const Core> core_;
};

}  // namespace adaptdl
