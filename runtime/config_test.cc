#include "runtime/config.h"

#include <unistd.h>

#include <cstdio>
#include <fstream>
#include <limits>
#include <map>
#include <string>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "rapidcheck/gtest.h"
#include "runtime/utf8.h"

namespace adaptdl {
namespace {

using namespace std::chrono_literals;
using ::testing::ElementsAre;

enum class Mode { kFast, kSafe };

struct Options {
  bool leader = false;
  std::int64_t max_nodes = 10;
  double utility = 0.5;
  std::string name = "pool";
  std::string format = "text";
  std::chrono::milliseconds period = 60s;
  std::vector<std::string> zones = {"a", "b"};
  Mode mode = Mode::kSafe;
  std::string token;

  friend bool operator==(const Options&, const Options&) = default;
};

// Options with their schema, as a program would have them.
struct Program {
  Program() {
    schema.Add({.key = "leader-election", .help = "Wait for the lease", .env = "T_LEADER"}, options.leader);
    schema.Add({.key = "autoscale.max-nodes", .help = "Most nodes", .env = "T_NODES"}, options.max_nodes,
               {.min = 1, .max = 64});
    schema.Add({.key = "autoscale.utility", .help = "Least utility"}, options.utility, {.min = 0.0});
    schema.Add({.key = "name", .help = "Name of the pool", .env = "T_NAME"}, options.name);
    schema.Add({.key = "log.format", .help = "How to log"}, options.format, {"text", "json"});
    schema.Add({.key = "period", .help = "Time between rounds", .env = "T_PERIOD"}, options.period,
               {.min = 1s});
    schema.Add({.key = "zones", .help = "Where to look", .env = "T_ZONES"}, options.zones);
    schema.Add({.key = "mode", .help = "How to go"}, options.mode,
               {{"fast", Mode::kFast}, {"safe", Mode::kSafe}});
    schema.Add({.key = "auth.token", .help = "Shared secret", .env = "T_TOKEN", .secret = true},
               options.token);
  }

  Result<ConfigArguments> Load(const std::vector<std::string>& args,
                               const std::map<std::string, std::string>& environment = {}) {
    return schema.Load(args, [&](const std::string& variable) -> std::optional<std::string> {
      const auto found = environment.find(variable);
      if (found == environment.end()) return std::nullopt;
      return found->second;
    });
  }

  Options options;
  ConfigSchema schema;
};

class TempFile {
 public:
  explicit TempFile(const std::string& text)
      : path_(testing::TempDir() + "adaptdl_config_" + std::to_string(getpid()) + ".yaml") {
    std::ofstream(path_) << text;
  }
  ~TempFile() { std::remove(path_.c_str()); }
  TempFile(const TempFile&) = delete;
  TempFile& operator=(const TempFile&) = delete;
  const std::string& path() const { return path_; }

 private:
  std::string path_;
};

TEST(Config, DefaultsStayWhenNothingIsSaid) {
  Program program;
  ASSERT_TRUE(program.Load({}));
  EXPECT_EQ(program.options, Options());
}

TEST(Config, EveryTypeFromYaml) {
  Program program;
  const auto done = program.schema.LoadYaml(R"(
leader-election: true
autoscale:
  max-nodes: 3
  utility: 1e-1
name: 12
log.format: json
period: 1h30m
zones: [x, "y,z"]
mode: "fast"
auth: {token: hush}
)",
                                            "f");
  ASSERT_TRUE(done) << done.error().message;
  EXPECT_EQ(program.options, (Options{true, 3, 0.1, "12", "json", 90min, {"x", "y,z"}, Mode::kFast, "hush"}));
}

TEST(Config, EveryTypeFromFlagsAndWhatRemains) {
  Program program;
  const auto arguments =
      program.Load({"--leader-election", "first", "--autoscale.max-nodes", "3", "--autoscale.utility=0.1",
                    "--name=", "--log.format", "json", "--period=250s", "--zones=x,y", "--mode", "fast",
                    "--print-config", "-", "--", "--name", "-x"});
  ASSERT_TRUE(arguments) << arguments.error().message;
  EXPECT_EQ(program.options, (Options{true, 3, 0.1, "", "json", 250s, {"x", "y"}, Mode::kFast, ""}));
  EXPECT_THAT(arguments->positional, ElementsAre("first", "-", "--name", "-x"));
  EXPECT_TRUE(arguments->print_config);
  EXPECT_FALSE(arguments->help);
}

TEST(Config, AWordMayEndTheFlags) {
  Program program;
  const auto nothing_set = [](const std::string&) { return std::nullopt; };
  const std::vector<std::string> args = {"--name=a", "submit", "--name", "b", "--", "--unknown"};
  const auto arguments = program.schema.Load(args, nothing_set, ConfigWords::kEndFlags);
  ASSERT_TRUE(arguments) << arguments.error().message;
  EXPECT_EQ(program.options.name, "a");
  EXPECT_THAT(arguments->positional, ElementsAre("submit", "--name", "b", "--", "--unknown"));
}

TEST(Config, BoolsCanBeSwitchedOff) {
  Program program;
  ASSERT_TRUE(program.Load({"--no-leader-election"}, {{"T_LEADER", "true"}}));
  EXPECT_FALSE(program.options.leader);
  Program explicit_value;
  ASSERT_TRUE(explicit_value.Load({"--leader-election=true"}));
  EXPECT_TRUE(explicit_value.options.leader);
}

TEST(Config, EveryTypeFromTheEnvironment) {
  Program program;
  ASSERT_TRUE(program.Load({}, {{"T_LEADER", "true"},
                                {"T_NODES", "64"},
                                {"T_NAME", ""},
                                {"T_PERIOD", "2d"},
                                {"T_ZONES", ""},
                                {"T_TOKEN", "x"},
                                {"T_OTHER", "ignored"}}));
  EXPECT_EQ(program.options, (Options{true, 64, 0.5, "", "text", 48h, {}, Mode::kSafe, "x"}));
}

TEST(Config, HelpAndVersionLookAtNothingElse) {
  for (const std::string flag : {"--help", "-h"}) {
    Program program;
    const auto arguments = program.Load({"--config", "/nowhere", flag, "--bad"}, {{"T_NODES", "bad"}});
    ASSERT_TRUE(arguments);
    EXPECT_TRUE(arguments->help);
  }
  Program program;
  const auto arguments = program.Load({"--version"}, {{"T_NODES", "bad"}});
  ASSERT_TRUE(arguments);
  EXPECT_TRUE(arguments->version);
}

struct Refused {
  std::vector<std::string> args;
  std::map<std::string, std::string> environment;
  std::string message;
};

TEST(Config, RefusesFlagsAndEnvironmentTable) {
  const Refused cases[] = {
      {{"--autoscale.max-node=1"},
       {},
       "autoscale.max-node (flag --autoscale.max-node): unknown key; did you mean autoscale.max-nodes?"},
      {{"--max-nodes=1"}, {}, "max-nodes (flag --max-nodes): unknown key; did you mean autoscale.max-nodes?"},
      {{"--no-leader-electio"}, {}, "no-leader-electio (flag --no-leader-electio): unknown key"},
      {{"--quite-else"}, {}, "quite-else (flag --quite-else): unknown key"},
      {{"--no-name"}, {}, "no-name (flag --no-name): unknown key"},
      {{"--no-leader-election=true"},
       {},
       "no-leader-election (flag --no-leader-election): unknown key; did you mean leader-election?"},
      {{"-x"}, {}, "x (flag -x): unknown key"},
      {{"--=1"}, {}, " (flag --): unknown key"},
      {{"--\x1b[31m"}, {}, "\\x1b[31m (flag --\\x1b[31m): unknown key"},
      {{"--name=a", "--name", "b"}, {}, "name (flag --name): given twice"},
      {{"--leader-election", "--no-leader-election"},
       {},
       "leader-election (flag --no-leader-election): given twice"},
      {{"--config=a", "--config=b"}, {}, "config (flag --config): given twice"},
      {{"--print-config=yes"}, {}, "print-config (flag --print-config): takes no value"},
      {{"--name"}, {}, "name (flag --name): needs a value"},
      {{"--name", "--mode=fast"}, {}, "name (flag --name): needs a value"},
      {{"--autoscale.max-nodes", "-1"},
       {},
       "autoscale.max-nodes (flag --autoscale.max-nodes): want an integer from 1 to 64, not \"-1\""},
      {{"--autoscale.max-nodes=65"},
       {},
       "autoscale.max-nodes (flag --autoscale.max-nodes): want an integer from 1 to 64, not \"65\""},
      {{"--autoscale.max-nodes=1.0"},
       {},
       "autoscale.max-nodes (flag --autoscale.max-nodes): want an integer from 1 to 64, not \"1.0\""},
      {{"--autoscale.utility=nan"},
       {},
       "autoscale.utility (flag --autoscale.utility): want a number, at least 0, not \"nan\""},
      {{"--autoscale.utility=inf"},
       {},
       "autoscale.utility (flag --autoscale.utility): want a number, at least 0, not \"inf\""},
      {{"--log.format=xml"}, {}, "log.format (flag --log.format): want one of text, json, not \"xml\""},
      {{"--mode=slow"}, {}, "mode (flag --mode): want one of fast, safe, not \"slow\""},
      {{"--zones=a,,b"},
       {},
       "zones (flag --zones): want a list of texts that are not empty, not \"a\", \"\", \"b\""},
      {{"--zones=a,"}, {}, "zones (flag --zones): want a list of texts that are not empty, not \"a\", \"\""},
      {{"--name=\xff"}, {}, "name (flag --name): want text in UTF-8, not \"\\xff\""},
      {{"--auth.token=\xff"}, {}, "auth.token (flag --auth.token): want text in UTF-8"},
      {{},
       {{"T_NODES", ""}},
       "autoscale.max-nodes (environment T_NODES): want an integer from 1 to 64, not \"\""},
      {{}, {{"T_LEADER", "yes"}}, "leader-election (environment T_LEADER): want true or false, not \"yes\""},
      {{"--period=1m"},
       {{"T_PERIOD", "30"}},
       "period (environment T_PERIOD): want a duration like 30s or 1h30m, at least 1s, not \"30\""},
      {{"--config=/nowhere/f"}, {}, "cannot read the configuration file /nowhere/f"},
      {{"--config=/"}, {}, "cannot read the configuration file /"},
  };
  for (const Refused& c : cases) {
    Program program;
    const auto arguments = program.Load(c.args, c.environment);
    ASSERT_FALSE(arguments) << c.message;
    EXPECT_EQ(arguments.error().message, c.message);
  }
}

TEST(Config, RefusesYamlTable) {
  const std::pair<std::string, std::string> cases[] = {
      {"\nautoscale: {max-node: 1}",
       "autoscale.max-node (f:2): unknown key; did you mean autoscale.max-nodes?"},
      {"autoscal: {}", "autoscal (f:1): unknown key"},
      {"autoscale: 3", "autoscale (f:1): want a map, not \"3\""},
      {"name: {a: 1}", "name.a (f:1): unknown key; did you mean name?"},
      {"name: {}", "name (f:1): want text in UTF-8, not a map"},
      {"name:", "name (f:1): want text in UTF-8, not nothing"},
      {"name: [a]", "name (f:1): want text in UTF-8, not a list"},
      {"zones: a,b", "zones (f:1): want a list of texts that are not empty, not \"a,b\""},
      {"autoscale.max-nodes: '3'",
       "autoscale.max-nodes (f:1): want an integer from 1 to 64, not the text \"3\""},
      {"leader-election: yes", "leader-election (f:1): want true or false, not \"yes\""},
      {"auth.token: [hush]", "auth.token (f:1): want text in UTF-8"},
      {"<<: {name: a}", "<<.name (f:1): unknown key"},
      {"name: a\nname: b", "f:2: repeated key name, first on line 1"},
  };
  for (const auto& [text, message] : cases) {
    Program program;
    const auto done = program.schema.LoadYaml(text, "f");
    ASSERT_FALSE(done) << text;
    EXPECT_EQ(done.error().message, message);
  }
}

TEST(Config, SectionWithoutKeysIsNoError) {
  Program program;
  EXPECT_TRUE(program.schema.LoadYaml("autoscale:\n  # max-nodes: 3\nlog: {}\n", "f"));
}

TEST(Config, PrintTellsWhereEachValueCameFromAndKeepsSecrets) {
  const TempFile file("autoscale:\n  max-nodes: 5\nmode: fast\n");
  Program program;
  ASSERT_TRUE(program.Load({"--config", file.path(), "--no-leader-election", "--name=a \"b\"\n"},
                           {{"T_ZONES", "x"}, {"T_TOKEN", "hush"}}));
  EXPECT_EQ(program.schema.Print(),
            R"(leader-election: false                    # flag --no-leader-election
autoscale.max-nodes: 5                    # )" +
                file.path() + R"(:2
autoscale.utility: 0.5                    # default
name: "a \"b\"\x0a"                       # flag --name
log.format: "text"                        # default
period: "1m"                              # default
zones: ["x"]                              # environment T_ZONES
mode: "fast"                              # )" +
                file.path() + R"(:3
# auth.token: ***                         # environment T_TOKEN
)");
}

TEST(Config, HelpIsWrapped) {
  Options options;
  std::string token = "default-token";
  ConfigSchema schema;
  schema.Add({.key = "leader-election", .help = "Wait for the lease"}, options.leader);
  schema.Add({.key = "autoscale.max-nodes", .help = "Most nodes to ask the cloud for", .env = "T_NODES"},
             options.max_nodes, {.min = 1});
  schema.Add({.key = "auth.token", .help = "Shared secret", .secret = true}, token);
  EXPECT_EQ(schema.Help(60), R"(  --[no-]leader-election
      Wait for the lease: true or false. Default: false.
  --autoscale.max-nodes VALUE
      Most nodes to ask the cloud for: an integer, at least
      1. Default: 10. Environment: T_NODES.
  --auth.token VALUE
      Shared secret: text in UTF-8.
  --config FILE
      YAML file with any of the above; the environment and
      flags win over it.
  --print-config
      Print the configuration and where each value came
      from, then exit.
  --help, -h
      Print this help, then exit.
  --version
      Print the version, then exit.
)");
}

TEST(Config, MistakesOfTheProgramAreFoundAtOnce) {
  const auto load = [](const std::vector<ConfigField>& fields, std::int64_t value) {
    ConfigSchema schema;
    for (const ConfigField& field : fields) schema.Add(field, value, {.min = 0});
    return schema.Load({}, [](const std::string&) { return std::nullopt; });
  };
  EXPECT_TRUE(load({{"a", "h"}, {"b.c-d2", "h"}, {"b.c", "h"}}, 1));
  const std::vector<ConfigField> mistakes[] = {
      {{"a", "h"}, {"a", "h"}},
      {{"a", "h"}, {"a.b", "h"}},
      {{"a.b", "h"}, {"a", "h"}},
      {{"a", "h", "E"}, {"b", "h", "E"}},
      {{"", "h"}},
      {{"A", "h"}},
      {{"a_b", "h"}},
      {{"a..b", "h"}},
      {{"-a", "h"}},
      {{"a.", "h"}},
      {{"no-a", "h"}},
      {{"config", "h"}},
      {{"help", "h"}},
  };
  for (const auto& fields : mistakes) {
    const auto loaded = load(fields, 1);
    ASSERT_FALSE(loaded) << fields.back().key;
    EXPECT_EQ(loaded.error().code, ErrorCode::kInternal);
  }
  EXPECT_EQ(load({{"a", "h"}}, -1).error().message, "a: its default is not an integer, at least 0");
}

rc::Gen<std::string> Text() {
  const auto usable = [](const std::string& text) {
    return IsUtf8(text) && text.find('\0') == std::string::npos;
  };
  const auto special =
      rc::gen::element<std::string>("", " ", "\"", "\\", "\n", "\t", "\r", "# no comment", ": ", "'", "~",
                                    "null", "true", "- a", "{", "[", "é", "東京", "\xc2\x85", "\xe2\x80\xa8",
                                    "\xef\xbb\xbf", "\xf0\x9f\x9a\x80", "\x01", "\x7f", "%", "&a", "*a");
  return rc::gen::oneOf(rc::gen::map(rc::gen::container<std::vector<std::string>>(special),
                                     [](const std::vector<std::string>& parts) {
                                       std::string out;
                                       for (const std::string& part : parts) out += part;
                                       return out;
                                     }),
                        rc::gen::suchThat(rc::gen::string<std::string>(), usable));
}

Options AnyOptions() {
  Options options;
  options.leader = *rc::gen::arbitrary<bool>();
  options.max_nodes = *rc::gen::inRange<std::int64_t>(1, 65);
  options.utility = *rc::gen::nonNegative<double>();
  options.name = *Text();
  options.format = *rc::gen::element<std::string>("text", "json");
  options.period = std::chrono::milliseconds(
      *rc::gen::inRange<std::int64_t>(1000, std::numeric_limits<std::int64_t>::max()));
  options.zones = *rc::gen::container<std::vector<std::string>>(
      rc::gen::suchThat(Text(), [](const std::string& text) { return !text.empty(); }));
  options.mode = *rc::gen::element(Mode::kFast, Mode::kSafe);
  return options;
}

RC_GTEST_PROP(ConfigProperty, WhatIsPrintedLoadsBackToTheSame, ()) {
  Program first;
  first.options = AnyOptions();
  Program second;
  const auto done = second.schema.LoadYaml(first.schema.Print(), "printed");
  if (!done) RC_FAIL(done.error().message);
  RC_ASSERT(second.options == first.options);
}

RC_GTEST_PROP(ConfigProperty, TheHighestSourceWins, ()) {
  struct Value {
    bool set = *rc::gen::arbitrary<bool>();
    std::int64_t nodes = *rc::gen::inRange<std::int64_t>(1, 65);
  };
  const Value in_file;
  const Value in_environment;
  const Value in_flags;
  const TempFile file(in_file.set ? "autoscale.max-nodes: " + std::to_string(in_file.nodes) : "");
  std::map<std::string, std::string> environment;
  if (in_environment.set) environment["T_NODES"] = std::to_string(in_environment.nodes);
  std::vector<std::string> args = {"--config=" + file.path()};
  if (in_flags.set) {
    args.insert(*rc::gen::arbitrary<bool>() ? args.begin() : args.end(),
                "--autoscale.max-nodes=" + std::to_string(in_flags.nodes));
  }
  std::int64_t expected = Options().max_nodes;
  for (const Value& value : {in_file, in_environment, in_flags}) {
    if (value.set) expected = value.nodes;
  }
  Program program;
  RC_ASSERT(program.Load(args, environment).has_value());
  RC_ASSERT(program.options.max_nodes == expected);
}

RC_GTEST_PROP(ConfigProperty, AnyArgumentsGiveAResult, (const std::vector<std::string>& words)) {
  std::vector<std::string> args;
  args.reserve(words.size());
  for (const std::string& word : words) args.push_back(*rc::gen::element<std::string>("", "-", "--") + word);
  Program program;
  const auto arguments = program.Load(args);
  if (!arguments) RC_ASSERT(!arguments.error().message.empty());
}

}  // namespace
}  // namespace adaptdl
