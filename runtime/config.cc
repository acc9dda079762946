#include "runtime/config.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>

#include "runtime/config_entry.h"
#include "runtime/duration.h"
#include "runtime/utf8.h"

namespace adaptdl {
namespace {

using Items = std::vector<std::string>;

std::string Spell(std::int64_t number) { return std::to_string(number); }
std::string Spell(std::chrono::milliseconds duration) { return FormatDuration(duration); }
std::string Spell(double number) {
  std::array<char, 32> buffer{};
  return {buffer.data(), std::to_chars(buffer.data(), buffer.data() + buffer.size(), number).ptr};
}

template <typename T>
std::optional<T> Parse(const std::string& text) {
  T number{};
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (error != std::errc() || end != text.data() + text.size()) return std::nullopt;
  return number;
}
template <>
std::optional<std::chrono::milliseconds> Parse(const std::string& text) {
  return ParseDuration(text);
}

template <typename T>
std::string Describe(const std::string& kind, const ConfigRange<T>& range) {
  if (range.min && range.max) return kind + " from " + Spell(*range.min) + " to " + Spell(*range.max);
  if (range.min) return kind + ", at least " + Spell(*range.min);
  if (range.max) return kind + ", at most " + Spell(*range.max);
  return kind;
}

template <typename T>
auto AssignNumber(T& member, ConfigRange<T> range) {
  return [&member, range](const Items& items) {
    const std::optional<T> value = Parse<T>(items.front());
    if (!value || (range.min && *value < *range.min) || (range.max && *value > *range.max)) return false;
    member = *value;
    return true;
  };
}

template <typename T>
auto SpellNumber(const T& member) {
  return [&member] { return Items{Spell(member)}; };
}

std::string OneOf(const Items& names) {
  std::string out;
  for (const std::string& name : names) out += (out.empty() ? "one of " : ", ") + name;
  return out;
}

bool IsText(std::string_view text) { return IsUtf8(text) && text.find('\0') == std::string_view::npos; }

// Lower-case words joined by dashes and dots; "no-" at the beginning is how a bool is switched off.
bool IsWellFormedKey(std::string_view key) {
  const auto is_word = [](char c) { return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9'); };
  for (std::size_t i = 0; i < key.size(); ++i) {
    const bool joint = (key[i] == '-' || key[i] == '.') && i > 0 && is_word(key[i - 1]);
    if (!is_word(key[i]) && !joint) return false;
  }
  return !key.empty() && is_word(key.back()) && !key.starts_with("no-") && key != kConfigFlag &&
         key != kPrintConfigFlag && key != kHelpFlag && key != kVersionFlag;
}

}  // namespace

ConfigSchema::ConfigSchema() = default;
ConfigSchema::~ConfigSchema() = default;

void ConfigSchema::Add(ConfigField field, bool& member) {
  const auto assign = [&member](const Items& items) {
    member = items.front() == "true";
    return member || items.front() == "false";
  };
  const auto spell = [&member] { return Items{member ? "true" : "false"}; };
  AddEntry({std::move(field), Entry::Form::kBool, "true or false", assign, spell});
}

void ConfigSchema::Add(ConfigField field, std::int64_t& member, ConfigRange<std::int64_t> range) {
  AddEntry({std::move(field), Entry::Form::kNumber, Describe("an integer", range),
            AssignNumber(member, range), SpellNumber(member)});
}

void ConfigSchema::Add(ConfigField field, double& member, ConfigRange<double> range) {
  const auto assign = [number = AssignNumber(member, range), &member](const Items& items) {
    return number(items) && std::isfinite(member);
  };
  AddEntry(
      {std::move(field), Entry::Form::kNumber, Describe("a number", range), assign, SpellNumber(member)});
}

void ConfigSchema::Add(ConfigField field, std::chrono::milliseconds& member,
                       ConfigRange<std::chrono::milliseconds> range) {
  AddEntry({std::move(field), Entry::Form::kText, Describe("a duration like 30s or 1h30m", range),
            AssignNumber(member, range), SpellNumber(member)});
}

void ConfigSchema::Add(ConfigField field, std::string& member, std::vector<std::string> choices) {
  const std::string expected = choices.empty() ? "text in UTF-8" : OneOf(choices);
  const auto assign = [&member, choices = std::move(choices)](const Items& items) {
    const std::string& text = items.front();
    if (!IsText(text)) return false;
    if (!choices.empty() && std::find(choices.begin(), choices.end(), text) == choices.end()) return false;
    member = text;
    return true;
  };
  AddEntry({std::move(field), Entry::Form::kText, expected, assign, [&member] { return Items{member}; }});
}

void ConfigSchema::Add(ConfigField field, std::vector<std::string>& member) {
  const auto assign = [&member](const Items& items) {
    const auto is_item = [](const std::string& item) { return !item.empty() && IsText(item); };
    if (!std::all_of(items.begin(), items.end(), is_item)) return false;
    member = items;
    return true;
  };
  AddEntry({std::move(field), Entry::Form::kList, "a list of texts that are not empty", assign,
            [&member] { return member; }});
}

void ConfigSchema::AddChoice(const ConfigField& field, const std::vector<std::string>& names,
                             std::function<std::size_t()> index, std::function<void(std::size_t)> set) {
  const auto assign = [names, set = std::move(set)](const Items& items) {
    const auto found = std::find(names.begin(), names.end(), items.front());
    if (found == names.end()) return false;
    set(static_cast<std::size_t>(found - names.begin()));
    return true;
  };
  const auto spell = [names, index = std::move(index)] {
    const std::size_t i = index();
    return Items{i < names.size() ? names[i] : ""};
  };
  AddEntry({field, Entry::Form::kText, OneOf(names), assign, spell});
}

void ConfigSchema::AddEntry(Entry entry) {
  const std::string& key = entry.field.key;
  const bool clash = std::any_of(entries_.begin(), entries_.end(), [&](const Entry& other) {
    return other.field.key == key || other.field.key.starts_with(key + ".") ||
           key.starts_with(other.field.key + ".") ||
           (!entry.field.env.empty() && other.field.env == entry.field.env);
  });
  if (!IsWellFormedKey(key)) {
    mistake_ = key + ": not a key for a configuration";
  } else if (clash) {
    mistake_ = key + ": clashes with another field's key or environment variable";
  } else if (!entry.assign(entry.items())) {
    mistake_ = key + ": its default is not " + entry.expected;
  }
  entry.default_value = entry.ToYaml();
  entries_.push_back(std::move(entry));
}

}  // namespace adaptdl
