// Strict configuration. A program declares one plain struct with its defaults and binds each member to a key:
//
//   struct Options { std::int64_t max_nodes = 10; LogLevel level = LogLevel::kInfo; };
//
//   Options options;
//   ConfigSchema schema;
//   schema.Add({.key = "autoscale.max-nodes", .help = "Most nodes to ask for", .env = "ADAPTDL_MAX_NODES"},
//              options.max_nodes, {.min = 1, .max = 64});
//   schema.Add({.key = "log.level", .help = "Least level that is logged"}, options.level,
//              {{"debug", LogLevel::kDebug}, {"info", LogLevel::kInfo}});
//   const Result<ConfigArguments> arguments = schema.Load(args, ProcessEnvironment());
//
// Defaults < YAML file (--config FILE) < environment < flags. Whatever is unknown, repeated or of the wrong
// kind is an error that names the key, where it came from, and what would be right.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

#include "runtime/environment.h"
#include "runtime/result.h"

namespace adaptdl {

struct ConfigField {
  std::string key;       // Lower-case words joined by dashes and dots.
  std::string help;      // One line, without a full stop.
  std::string env = {};  // The environment variable that sets it, if any.
  bool secret = false;   // Its value is never printed.
};

template <typename T>
struct ConfigRange {
  std::optional<T> min = {};
  std::optional<T> max = {};
};

// What the command line says beside the values.
struct ConfigArguments {
  bool help = false;  // When set, nothing else was looked at.
  bool version = false;
  bool print_config = false;
  std::vector<std::string> positional = {};  // In their order; after "--" everything is positional.
};

// What a word on the command line that is no flag means for those behind it.
enum class ConfigWords {
  kAmongFlags,  // Nothing: flags and words may be mixed.
  kEndFlags,    // It is a command, and all that follows belongs to it.
};

class ConfigSchema {
 public:
  ConfigSchema();
  ~ConfigSchema();
  ConfigSchema(const ConfigSchema&) = delete;
  ConfigSchema& operator=(const ConfigSchema&) = delete;

  // Each binds a member, which must outlive the schema and already holds its default.
  // On the command line a bool is --key or --no-key, everything else --key VALUE or --key=VALUE.
  void Add(ConfigField field, bool& member);
  void Add(ConfigField field, std::int64_t& member, ConfigRange<std::int64_t> range = {});
  void Add(ConfigField field, double& member, ConfigRange<double> range = {});
  // "250ms", "30s", "1h30m", "2d"; never without a unit.
  void Add(ConfigField field, std::chrono::milliseconds& member,
           ConfigRange<std::chrono::milliseconds> range = {});
  void Add(ConfigField field, std::string& member, std::vector<std::string> choices = {});
  // A YAML list; elsewhere separated by commas. Items are not empty.
  void Add(ConfigField field, std::vector<std::string>& member);
  // An enumeration. The names are distinct.
  template <typename E>
  requires std::is_enum_v<E>
  void Add(const ConfigField& field, E& member, const std::vector<std::pair<std::string, E>>& choices);

  // Fills the members from all sources; `args` are without the program's name. Called once. After a failure
  // the members hold a mixture and are not to be used.
  Result<ConfigArguments> Load(std::span<const std::string> args, const Environment& environment,
                               ConfigWords words = ConfigWords::kAmongFlags);

  // Only the file's part, with `name` as the file's name in errors.
  Result<void> LoadYaml(std::string_view text, std::string_view name);

  // The values as YAML that loads back to the same, each with a comment that tells where it came from. A
  // secret is a comment as a whole.
  std::string Print() const;

  // The flags with their defaults and environment variables, in lines of at most `width` where words allow.
  std::string Help(std::size_t width) const;

 private:
  struct Entry;
  // `index` reads the place of the member's value among the names, or their number when it is none of them.
  void AddChoice(const ConfigField& field, const std::vector<std::string>& names,
                 std::function<std::size_t()> index, std::function<void(std::size_t)> set);
  void AddEntry(Entry entry);
  Entry* Find(std::string_view key);
  bool IsSection(std::string_view key) const;
  Error Unknown(std::string_view key, const std::string& origin) const;
  Result<void> LoadFile(const std::string& path);
  Result<void> LoadEnvironment(const Environment& environment);

  std::vector<Entry> entries_;
  std::string mistake_;  // The first mistake of the program itself, for instance two fields with one key.
};

template <typename E>
requires std::is_enum_v<E>
void ConfigSchema::Add(const ConfigField& field, E& member,
                       const std::vector<std::pair<std::string, E>>& choices) {
  std::vector<std::string> names;
  names.reserve(choices.size());
  for (const auto& choice : choices) names.push_back(choice.first);
  const auto index = [&member, choices] {
    std::size_t i = 0;
    while (i < choices.size() && choices[i].second != member) ++i;
    return i;
  };
  const auto set = [&member, choices](std::size_t i) { member = choices[i].second; };
  AddChoice(field, names, index, set);
}

}  // namespace adaptdl
