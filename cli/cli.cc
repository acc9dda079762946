#include "cli/cli.h"

#include <algorithm>
#include <ostream>
#include <span>
#include <utility>

#include "CLI/CLI.hpp"
#include "runtime/config.h"

namespace adaptdl {
namespace {

constexpr int kDone = 0;
constexpr int kFailed = 1;
constexpr int kWrongUsage = 2;

// Settings of the program as a whole; those of a command are its own flags.
struct Settings {
  ColorMode color = ColorMode::kAuto;
};

void Bind(Settings& settings, ConfigSchema& schema) {
  schema.Add({.key = "color", .help = "Colour in the output", .env = "ADAPTDL_COLOR"}, settings.color,
             {{"auto", ColorMode::kAuto}, {"always", ColorMode::kAlways}, {"never", ColorMode::kNever}});
}

int Complain(const CliProcess& process, const std::string& message, int code) {
  const Terminal terminal = DetectTerminal(process.err_fd, ColorMode::kAuto, process.environment);
  process.err << Paint(terminal, Style::kRed, "adaptdl:") << " " << message << "\n";
  return code;
}

std::string Help(const CLI::App& app, const ConfigSchema& schema, std::size_t width) {
  std::string text =
      "Elastic deep-learning training: goodput-driven scheduling.\n\n"
      "usage: adaptdl [FLAGS] COMMAND [ARGS...]\n\ncommands:\n";
  std::size_t longest = 0;
  const auto commands = app.get_subcommands([](const CLI::App*) { return true; });
  for (const CLI::App* command : commands) longest = std::max(longest, command->get_name().size());
  for (const CLI::App* command : commands) {
    text += "  " + command->get_name() + std::string(longest + 2 - command->get_name().size(), ' ') +
            command->get_description() + "\n";
  }
  text += "\n`adaptdl COMMAND --help` tells more about each of them.\n\nflags:\n";
  return text + schema.Help(width);
}

}  // namespace

int RunCli(const CliProcess& process) {
  Settings settings;
  ConfigSchema schema;
  Bind(settings, schema);
  const auto arguments = schema.Load(process.args, process.environment, ConfigWords::kEndFlags);
  if (!arguments) return Complain(process, arguments.error().message, kWrongUsage);

  CommandIo io{process.in, process.out, process.err,
               DetectTerminal(process.out_fd, settings.color, process.environment),
               DetectTerminal(process.err_fd, settings.color, process.environment)};
  CLI::App app;
  app.name("adaptdl");
  Run run;
  AddFitCommand(app, run);
  AddPredictCommand(app, run);
  AddPlanCommand(app, run);
  AddSimCommand(app, run);

  const std::vector<std::string>& words = arguments->positional;
  if (arguments->version) {
    process.out << "adaptdl " ADAPTDL_VERSION "\n";
  } else if (arguments->print_config) {
    process.out << schema.Print();
  } else if (arguments->help || words.empty()) {
    process.out << Help(app, schema, std::min<std::size_t>(io.terminal.width, 100));
  } else if (app.get_subcommands([&](const CLI::App* c) { return c->check_name(words.front()); }).empty()) {
    return Complain(process, Printable(words.front()) + ": no such command; `adaptdl --help` lists them",
                    kWrongUsage);
  } else {
    try {
      app.parse(std::vector<std::string>(words.rbegin(), words.rend()));  // CLI11 takes them from the back.
    } catch (const CLI::CallForHelp&) {
      process.out << app.get_subcommand(words.front())->help("adaptdl");
    } catch (const CLI::ParseError& error) {
      return Complain(
          process,
          Printable(error.what(), 1000) + "; `adaptdl " + words.front() + " --help` tells what it takes",
          kWrongUsage);
    }
    if (run) {
      if (const auto done = run(io); !done) return Complain(process, done.error().message, kFailed);
    }
  }
  process.out.flush();
  return process.out ? kDone : Complain(process, "the output could not be written in full", kFailed);
}

}  // namespace adaptdl
