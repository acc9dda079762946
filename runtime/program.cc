#include "runtime/program.h"

#include <unistd.h>

#include <iostream>

namespace adaptdl {

std::optional<int> ReadCommandLine(const ProgramInfo& program, ConfigSchema& schema,
                                   const std::vector<std::string>& args, const Environment& environment,
                                   const std::function<Result<void>()>& valid) {
  constexpr std::size_t kWidth = 100;
  const auto arguments = schema.Load(args, environment);
  if (!arguments) return Complain(program, arguments.error().message, kExitUsage);
  if (arguments->help) {
    std::cout << program.purpose << "\n\nusage: " << program.name << " [FLAGS]\n\nflags:\n"
              << schema.Help(kWidth);
    return 0;
  }
  if (arguments->version) {
    std::cout << program.name << " " << program.version << "\n";
    return 0;
  }
  if (arguments->print_config) {
    std::cout << schema.Print();
    return 0;
  }
  if (!arguments->positional.empty()) {
    return Complain(program, Printable(arguments->positional.front()) + ": it takes flags only; see --help",
                    kExitUsage);
  }
  if (const Result<void> fits = valid(); !fits) return Complain(program, fits.error().message, kExitUsage);
  return std::nullopt;
}

int Complain(const ProgramInfo& program, const std::string& message, int code) {
  std::cerr << program.name << ": " << message << "\n";
  return code;
}

void Bind(LogSettings& settings, ConfigSchema& schema) {
  schema.Add({.key = "log.level", .help = "Least level that is logged"}, settings.level,
             {{"debug", LogLevel::kDebug},
              {"info", LogLevel::kInfo},
              {"warn", LogLevel::kWarn},
              {"error", LogLevel::kError}});
  schema.Add({.key = "log.format", .help = "For people or for machines"}, settings.format,
             {{"text", LogFormat::kText}, {"json", LogFormat::kJson}});
}

std::string MakeIdentity(std::uint64_t random) {
  char host[256] = "";
  if (gethostname(host, sizeof host - 1) != 0) host[0] = '\0';
  return std::string(host) + "-" + std::to_string(random % 1'000'000'000);
}

}  // namespace adaptdl
