#include "runtime/log.h"

#include <array>
#include <charconv>
#include <cmath>
#include <mutex>
#include <utility>

#include "runtime/result.h"
#include "spdlog/logger.h"
#include "spdlog/pattern_formatter.h"
#include "spdlog/sinks/base_sink.h"
#include "spdlog/sinks/stdout_sinks.h"

namespace adaptdl {
namespace {

// A line longer than this helps nobody, and whoever sends us text must not fill the disk with it.
constexpr std::size_t kMaxText = 4096;

spdlog::level::level_enum ToSpdlog(LogLevel level) {
  switch (level) {
    case LogLevel::kDebug:
      return spdlog::level::debug;
    case LogLevel::kInfo:
      return spdlog::level::info;
    case LogLevel::kWarn:
      return spdlog::level::warn;
    case LogLevel::kError:
      break;
  }
  return spdlog::level::err;
}

// spdlog's own names are "warning" and lower-case.
class LevelName final : public spdlog::custom_flag_formatter {
 public:
  explicit LevelName(LogFormat format) : format_(format) {}

  void format(const spdlog::details::log_msg& message, const std::tm&, spdlog::memory_buf_t& out) override {
    const bool text = format_ == LogFormat::kText;
    std::string_view name = text ? "ERROR" : "error";
    if (message.level == spdlog::level::debug) name = text ? "DEBUG" : "debug";
    if (message.level == spdlog::level::info) name = text ? "INFO " : "info";
    if (message.level == spdlog::level::warn) name = text ? "WARN " : "warn";
    out.append(name.data(), name.data() + name.size());
  }
  std::unique_ptr<custom_flag_formatter> clone() const override {
    return std::make_unique<LevelName>(format_);
  }

 private:
  LogFormat format_;
};

class FunctionSink final : public spdlog::sinks::base_sink<std::mutex> {
 public:
  explicit FunctionSink(std::function<void(std::string_view)> write) : write_(std::move(write)) {}

 private:
  void sink_it_(const spdlog::details::log_msg& message) override {
    spdlog::memory_buf_t line;
    formatter_->format(message, line);
    write_({line.data(), line.size()});
  }
  void flush_() override {}

  std::function<void(std::string_view)> write_;
};

std::string Quoted(std::string_view text) {
  std::string out = "\"";
  for (const char c : text) {
    if (c == '"' || c == '\\') out += '\\';
    out += c;
  }
  return out + '"';
}

std::string ToText(double number) {
  std::array<char, 32> buffer{};
  return {buffer.data(), std::to_chars(buffer.data(), buffer.data() + buffer.size(), number).ptr};
}

std::string ToText(const LogField& field, LogFormat format) {
  const bool json = format == LogFormat::kJson;
  if (const auto* text = std::get_if<std::string_view>(&field.value)) {
    const std::string safe = Printable(*text, kMaxText);
    return json || safe.empty() || safe.find_first_of(" \"=") != std::string::npos ? Quoted(safe) : safe;
  }
  if (const auto* flag = std::get_if<bool>(&field.value)) return *flag ? "true" : "false";
  if (const auto* whole = std::get_if<std::int64_t>(&field.value)) return std::to_string(*whole);
  if (const auto* whole = std::get_if<std::uint64_t>(&field.value)) return std::to_string(*whole);
  const double number = std::get<double>(field.value);
  // JSON has no word for infinity.
  return json && !std::isfinite(number) ? Quoted(ToText(number)) : ToText(number);
}

std::string Payload(LogFormat format, std::string_view message, Logger::Fields fields) {
  const bool json = format == LogFormat::kJson;
  std::string out = Printable(message, kMaxText);
  if (json) out = Quoted(out);
  for (const LogField& field : fields) {
    out += json ? "," + Quoted(field.key) + ":" : " " + std::string(field.key) + "=";
    out += ToText(field, format);
  }
  return out;
}

}  // namespace

struct Logger::Core {
  std::shared_ptr<spdlog::logger> logger;
  LogFormat format;
  std::function<std::chrono::system_clock::time_point()> now;
};

Logger::Logger(std::shared_ptr<const Core> core) : core_(std::move(core)) {}

Logger::Logger(std::string component, LogOptions options) {
  const char* const pattern =
      options.format == LogFormat::kText
          ? "%Y-%m-%dT%H:%M:%S.%eZ %* %n %v"
          : R"({"time":"%Y-%m-%dT%H:%M:%S.%eZ","level":"%*","component":"%n","message":%v})";
  spdlog::pattern_formatter::custom_flags flags;
  flags['*'] = std::make_unique<LevelName>(options.format);
  auto formatter = std::make_unique<spdlog::pattern_formatter>(pattern, spdlog::pattern_time_type::utc,
                                                               options.sink ? "" : "\n", std::move(flags));

  spdlog::sink_ptr sink = std::make_shared<spdlog::sinks::stderr_sink_mt>();
  if (options.sink) sink = std::make_shared<FunctionSink>(std::move(options.sink));
  auto logger = std::make_shared<spdlog::logger>(std::move(component), std::move(sink));
  logger->set_formatter(std::move(formatter));
  logger->set_level(ToSpdlog(options.level));
  if (!options.now) options.now = [] { return std::chrono::system_clock::now(); };
  core_ = std::make_shared<Core>(Core{std::move(logger), options.format, std::move(options.now)});
}

Logger Logger::Named(std::string component) const {
  return Logger(
      std::make_shared<Core>(Core{core_->logger->clone(std::move(component)), core_->format, core_->now}));
}

bool Logger::Enabled(LogLevel level) const { return core_->logger->should_log(ToSpdlog(level)); }

void Logger::Log(LogLevel level, std::string_view message, Fields fields) const {
  if (!Enabled(level)) return;
  core_->logger->log(core_->now(), spdlog::source_loc{}, ToSpdlog(level),
                     spdlog::string_view_t(Payload(core_->format, message, fields)));
}

}  // namespace adaptdl
