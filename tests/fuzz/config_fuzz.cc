// Configuration: whatever a file says, it is loaded or refused, and what is loaded can be printed and loaded
// again.
#include <chrono>
#include <string>
#include <vector>

#include "runtime/config.h"
#include "tests/fuzz/check.h"

namespace {

struct Options {
  bool verbose = false;
  std::int64_t nodes = 3;
  double share = 0.5;
  std::chrono::milliseconds interval{60000};
  std::string name = "x";
  std::vector<std::string> labels = {"a"};
};

void Bind(Options& options, adaptdl::ConfigSchema& schema) {
  schema.Add({.key = "verbose", .help = "-"}, options.verbose);
  schema.Add({.key = "scale.nodes", .help = "-"}, options.nodes, {.min = 0, .max = 1000});
  schema.Add({.key = "scale.share", .help = "-"}, options.share);
  schema.Add({.key = "interval", .help = "-"}, options.interval);
  schema.Add({.key = "name", .help = "-"}, options.name);
  schema.Add({.key = "labels", .help = "-"}, options.labels);
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace adaptdl;  // NOLINT(google-build-using-namespace)
  Options options;
  ConfigSchema schema;
  Bind(options, schema);
  if (const auto done = schema.LoadYaml(AsText(data, size), "file"); !done) {
    Check(done.error().code == ErrorCode::kInvalid, "only bad input is refused");
    Check(done.error().message == Printable(done.error().message, 100000), "messages are safe to print");
    return 0;
  }
  Check(options.nodes >= 0 && options.nodes <= 1000, "ranges hold");

  Options again;
  ConfigSchema reloaded;
  Bind(again, reloaded);
  Check(reloaded.LoadYaml(schema.Print(), "printed").has_value(), "what is printed can be loaded");
  Check(again.verbose == options.verbose && again.nodes == options.nodes && again.share == options.share &&
            again.interval == options.interval && again.name == options.name &&
            again.labels == options.labels,
        "what is printed loads back to the same");
  return 0;
}
