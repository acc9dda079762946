// What a sub-command gets and gives. Each has a file of its own and adds itself to the command line.
#pragma once

#include <functional>
#include <iosfwd>
#include <string>

#include "cli/terminal.h"
#include "runtime/result.h"

namespace CLI {
class App;
}

namespace adaptdl {

// Where a command reads and writes. A result goes to `out`, everything else to `err`.
struct CommandIo {
  std::istream& in;
  std::ostream& out;
  std::ostream& err;
  Terminal terminal;      // Describes `out`.
  Terminal err_terminal;  // Describes `err`: only on a terminal does a command tell there how far it is.
};

// The text of the file, or of `in` for "-". Files beyond 64 MiB are refused: nobody means that.
Result<std::string> ReadInput(const std::string& path, std::istream& in);

// What messages call it; safe to print.
std::string InputName(const std::string& path);

// `run` is set to the command that the arguments chose, once they are parsed.
using Run = std::function<Result<void>(CommandIo&)>;
void AddFitCommand(CLI::App& app, Run& run);
void AddPlanCommand(CLI::App& app, Run& run);
void AddPredictCommand(CLI::App& app, Run& run);
void AddSimCommand(CLI::App& app, Run& run);

}  // namespace adaptdl
