#include <algorithm>

#include "runtime/config.h"
#include "runtime/config_entry.h"

namespace adaptdl {
namespace {

std::string Quoted(std::string_view text) {
  static constexpr std::string_view kHex = "0123456789abcdef";
  std::string out = "\"";
  for (const char c : text) {
    const auto byte = static_cast<unsigned char>(c);
    if (byte < 0x20 || byte == 0x7F) {
      out += {'\\', 'x', kHex[byte >> 4], kHex[byte & 15]};
    } else {
      if (c == '"' || c == '\\') out += '\\';
      out += c;
    }
  }
  return out + '"';
}

// Fills lines with the words of `text`, each line after `indent` spaces.
std::string Wrapped(std::string_view text, std::size_t indent, std::size_t width) {
  std::string out;
  std::size_t column = 0;
  while (!text.empty()) {
    const std::size_t end = std::min(text.find(' '), text.size());
    const std::string_view word = text.substr(0, end);
    text.remove_prefix(std::min(end + 1, text.size()));
    if (column > 0 && column + 1 + word.size() > width) {
      out += '\n';
      column = 0;
    }
    const std::string gap(column == 0 ? indent : 1, ' ');
    out.append(gap).append(word);
    column += gap.size() + word.size();
  }
  return out + '\n';
}

std::string FlagSpelling(const ConfigField& field, bool is_bool) {
  return is_bool ? "  --[no-]" + field.key + "\n" : "  --" + field.key + " VALUE\n";
}

}  // namespace

std::string ConfigSchema::Entry::ToYaml() const {
  const std::vector<std::string> values = items();
  if (form == Form::kText) return Quoted(values.front());
  if (form != Form::kList) return values.front();
  std::string out;
  for (const std::string& value : values) out += (out.empty() ? "" : ", ") + Quoted(value);
  return "[" + out + "]";
}

std::string ConfigSchema::Print() const {
  std::vector<std::string> lines;
  for (const Entry& entry : entries_) {
    const bool secret = entry.field.secret;
    lines.push_back((secret ? "# " : "") + entry.field.key + ": " + (secret ? "***" : entry.ToYaml()));
  }
  // The comments stand in one column, unless a long value pushes its own to the right.
  static constexpr std::size_t kColumn = 40;
  std::string out;
  for (std::size_t i = 0; i < lines.size(); ++i) {
    const std::size_t pad = lines[i].size() < kColumn ? kColumn - lines[i].size() : 0;
    out += lines[i] + std::string(pad, ' ') + "  # " + entries_[i].origin + "\n";
  }
  return out;
}

std::string ConfigSchema::Help(std::size_t width) const {
  static constexpr std::size_t kIndent = 6;
  std::string out;
  for (const Entry& entry : entries_) {
    std::string text = entry.field.help + ": " + entry.expected + ".";
    if (!entry.field.secret) text += " Default: " + entry.default_value + ".";
    if (!entry.field.env.empty()) text += " Environment: " + entry.field.env + ".";
    out += FlagSpelling(entry.field, entry.form == Entry::Form::kBool) + Wrapped(text, kIndent, width);
  }
  const std::pair<std::string_view, std::string_view> built_in[] = {
      {"config FILE", "YAML file with any of the above; the environment and flags win over it."},
      {"print-config", "Print the configuration and where each value came from, then exit."},
      {"help, -h", "Print this help, then exit."},
      {"version", "Print the version, then exit."},
  };
  for (const auto& [flag, help] : built_in) {
    out.append("  --").append(flag).append("\n").append(Wrapped(help, kIndent, width));
  }
  return out;
}

}  // namespace adaptdl
