#include <algorithm>
#include <fstream>
#include <numeric>
#include <set>

#include "runtime/config.h"
#include "runtime/config_entry.h"
#include "runtime/flat_yaml.h"

namespace adaptdl {
namespace {

// "a," has an empty last item, which will be refused; only nothing at all is the empty list.
std::vector<std::string> SplitAtCommas(std::string_view text) {
  std::vector<std::string> items;
  if (text.empty()) return items;
  for (std::size_t comma = text.find(','); comma != std::string_view::npos; comma = text.find(',')) {
    items.emplace_back(text.substr(0, comma));
    text.remove_prefix(comma + 1);
  }
  items.emplace_back(text);
  return items;
}

std::size_t EditDistance(std::string_view a, std::string_view b) {
  std::vector<std::size_t> row(b.size() + 1);
  std::iota(row.begin(), row.end(), std::size_t{0});
  for (std::size_t i = 0; i < a.size(); ++i) {
    std::size_t diagonal = std::exchange(row[0], i + 1);
    for (std::size_t j = 0; j < b.size(); ++j) {
      const std::size_t replaced = diagonal + (a[i] == b[j] ? 0 : 1);
      diagonal = row[j + 1];
      row[j + 1] = std::min({replaced, diagonal + 1, row[j] + 1});
    }
  }
  return row.back();
}

Error Problem(std::string_view key, const std::string& source, const std::string& what) {
  return {ErrorCode::kInvalid, Printable(key) + " (" + source + "): " + what, false};
}

std::string InQuotes(const std::string& text) { return '"' + Printable(text) + '"'; }

std::string Describe(const YamlSetting& setting) {
  switch (setting.kind) {
    case YamlSetting::Kind::kNull:
      return "nothing";
    case YamlSetting::Kind::kEmptyMap:
      return "a map";
    case YamlSetting::Kind::kList:
      return "a list";
    case YamlSetting::Kind::kQuoted:
      return "the text " + InQuotes(setting.items.front());
    case YamlSetting::Kind::kPlain:
      break;
  }
  return InQuotes(setting.items.front());
}

struct Flag {
  std::string key;
  std::optional<std::string> value;  // What stands behind "=".
  std::string source;                // "flag --key"
};

Flag SplitFlag(std::string_view argument) {
  const std::size_t equals = argument.find('=');
  const std::string_view name = argument.substr(0, equals);
  Flag flag{std::string(name.substr(std::min(name.find_first_not_of('-'), name.size()))), std::nullopt,
            "flag " + Printable(name)};
  if (equals != std::string_view::npos) flag.value = argument.substr(equals + 1);
  return flag;
}

}  // namespace

Error ConfigSchema::Entry::Wrong(const std::string& source, const std::string& found) const {
  return Problem(field.key, source, "want " + expected + (field.secret ? "" : ", not " + found));
}

Result<void> ConfigSchema::Entry::Assign(const std::vector<std::string>& values, const std::string& source) {
  if (!assign(values)) {
    std::string found;
    for (const std::string& value : values) found += (found.empty() ? "" : ", ") + InQuotes(value);
    return tl::unexpected(Wrong(source, found));
  }
  origin = source;
  return {};
}

Result<void> ConfigSchema::Entry::AssignWord(const std::string& word, const std::string& source) {
  return Assign(form == Form::kList ? SplitAtCommas(word) : std::vector<std::string>{word}, source);
}

ConfigSchema::Entry* ConfigSchema::Find(std::string_view key) {
  const auto found = std::find_if(entries_.begin(), entries_.end(),
                                  [&](const Entry& entry) { return entry.field.key == key; });
  return found == entries_.end() ? nullptr : &*found;
}

bool ConfigSchema::IsSection(std::string_view key) const {
  return std::any_of(entries_.begin(), entries_.end(),
                     [&](const Entry& entry) { return entry.field.key.starts_with(std::string(key) + "."); });
}

Error ConfigSchema::Unknown(std::string_view key, const std::string& source) const {
  std::string nearest;
  std::size_t best = std::min<std::size_t>(3, 1 + key.size() / 4);  // Further away it is no slip of the hand.
  for (const Entry& entry : entries_) {
    const bool section_forgotten = entry.field.key.ends_with("." + std::string(key));
    // Keys are short: whoever sends a megabyte is not helped by a comparison.
    const std::size_t distance = section_forgotten ? 0 : EditDistance(key.substr(0, 256), entry.field.key);
    if (distance > best || (distance == best && !nearest.empty())) continue;
    best = distance;
    nearest = entry.field.key;
  }
  return Problem(key, source, "unknown key" + (nearest.empty() ? "" : "; did you mean " + nearest + "?"));
}

Result<void> ConfigSchema::LoadYaml(std::string_view text, std::string_view name) {
  const Result<std::vector<YamlSetting>> settings = ReadFlatYaml(text, name);
  if (!settings) return tl::unexpected(settings.error());
  for (const YamlSetting& setting : *settings) {
    using Kind = YamlSetting::Kind;
    const std::string source = Printable(name) + ":" + std::to_string(setting.line);
    Entry* const entry = Find(setting.key);
    if (entry == nullptr) {
      if (!IsSection(setting.key)) return tl::unexpected(Unknown(setting.key, source));
      // A section whose keys are all commented out.
      if (setting.kind == Kind::kNull || setting.kind == Kind::kEmptyMap) continue;
      return tl::unexpected(Problem(setting.key, source, "want a map, not " + Describe(setting)));
    }
    const bool text_form = entry->form == Entry::Form::kText;
    const bool list_form = entry->form == Entry::Form::kList;
    const bool fits = (setting.kind == Kind::kPlain && !list_form) ||
                      (setting.kind == Kind::kQuoted && text_form) ||
                      (setting.kind == Kind::kList && list_form);
    if (!fits) return tl::unexpected(entry->Wrong(source, Describe(setting)));
    if (auto done = entry->Assign(setting.items, source); !done) return done;
  }
  return {};
}

Result<void> ConfigSchema::LoadFile(const std::string& path) {
  std::string text(kMaxYamlBytes + 1, '\0');
  std::ifstream in(path, std::ios::binary);
  in.read(text.data(), static_cast<std::streamsize>(text.size()));
  if (!in.is_open() || in.bad()) {
    return Fail(ErrorCode::kNotFound, "cannot read the configuration file " + Printable(path));
  }
  text.resize(static_cast<std::size_t>(in.gcount()));
  return LoadYaml(text, path);
}

Result<void> ConfigSchema::LoadEnvironment(const Environment& environment) {
  for (Entry& entry : entries_) {
    if (entry.field.env.empty()) continue;
    const std::optional<std::string> word = environment(entry.field.env);
    if (!word) continue;
    if (auto done = entry.AssignWord(*word, "environment " + entry.field.env); !done) return done;
  }
  return {};
}

Result<ConfigArguments> ConfigSchema::Load(std::span<const std::string> args, const Environment& environment,
                                           ConfigWords words) {
  if (!mistake_.empty()) return Fail(ErrorCode::kInternal, mistake_);
  ConfigArguments arguments;
  std::optional<std::string> file;
  std::vector<std::pair<Entry*, Flag>> flags;  // Read before the file, which they name, and applied last.
  std::set<std::string> seen;
  for (std::size_t i = 0; i < args.size(); ++i) {
    const std::string& argument = args[i];
    const bool is_word = !argument.starts_with('-') || argument == "-";
    if (argument == "--" || (is_word && words == ConfigWords::kEndFlags)) {
      const auto rest = args.subspan(is_word ? i : i + 1);
      arguments.positional.insert(arguments.positional.end(), rest.begin(), rest.end());
      break;
    }
    if (is_word) {
      arguments.positional.push_back(argument);
      continue;
    }
    if (argument == "-h") return ConfigArguments{.help = true};
    Flag flag = SplitFlag(argument);
    if (!argument.starts_with("--")) return tl::unexpected(Unknown(flag.key, flag.source));

    Entry* entry = Find(flag.key);
    if (entry == nullptr && flag.key.starts_with("no-") && !flag.value) {
      entry = Find(flag.key.substr(3));
      if (entry != nullptr && entry->form != Entry::Form::kBool) entry = nullptr;
      if (entry != nullptr) flag = {entry->field.key, "false", flag.source};
    }
    const bool built_in_switch =
        flag.key == kHelpFlag || flag.key == kVersionFlag || flag.key == kPrintConfigFlag;
    if (entry == nullptr && !built_in_switch && flag.key != kConfigFlag) {
      return tl::unexpected(Unknown(flag.key, flag.source));
    }
    if (!seen.insert(flag.key).second) return tl::unexpected(Problem(flag.key, flag.source, "given twice"));

    if (built_in_switch) {
      if (flag.value) return tl::unexpected(Problem(flag.key, flag.source, "takes no value"));
      if (flag.key == kHelpFlag) return ConfigArguments{.help = true};
      if (flag.key == kVersionFlag) return ConfigArguments{.version = true};
      arguments.print_config = true;
      continue;
    }
    if (!flag.value && entry != nullptr && entry->form == Entry::Form::kBool) flag.value = "true";
    if (!flag.value && i + 1 < args.size() && !args[i + 1].starts_with("--")) flag.value = args[++i];
    if (!flag.value) return tl::unexpected(Problem(flag.key, flag.source, "needs a value"));
    if (entry == nullptr) {
      file = flag.value;
    } else {
      flags.emplace_back(entry, std::move(flag));
    }
  }

  if (file) {
    if (auto done = LoadFile(*file); !done) return tl::unexpected(done.error());
  }
  if (auto done = LoadEnvironment(environment); !done) return tl::unexpected(done.error());
  for (const auto& [entry, flag] : flags) {
    if (auto done = entry->AssignWord(*flag.value, flag.source); !done) return tl::unexpected(done.error());
  }
  return arguments;
}

}  // namespace adaptdl
