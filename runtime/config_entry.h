// Inside of config: one bound field, shared by declaring, loading and printing.
#pragma once

#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "runtime/config.h"

namespace adaptdl {

struct ConfigSchema::Entry {
  enum class Form { kBool, kNumber, kText, kList };

  ConfigField field;
  Form form;
  std::string expected;                                         // "an integer from 1 to 64"
  std::function<bool(const std::vector<std::string>&)> assign;  // False: not what is expected.
  std::function<std::vector<std::string>()> items;              // The present value, as assign takes it.
  std::string default_value = {};                               // As YAML.
  std::string origin = "default";

  std::string ToYaml() const;
  Error Wrong(const std::string& source, const std::string& found) const;  // "want ..., not `found`"
  Result<void> Assign(const std::vector<std::string>& values, const std::string& source);
  Result<void> AssignWord(const std::string& word, const std::string& source);  // A list is split at commas.
};

// The built-in flags; no field can have these keys.
inline constexpr std::string_view kConfigFlag = "config";
inline constexpr std::string_view kPrintConfigFlag = "print-config";
inline constexpr std::string_view kHelpFlag = "help";
inline constexpr std::string_view kVersionFlag = "version";

}  // namespace adaptdl
