#include "api/json_patch.h"

#include <algorithm>
#include <optional>
#include <string_view>
#include <utility>
#include <vector>

#include "api/json.h"
#include "api/reader.h"
#include "nlohmann/json.hpp"

namespace adaptdl {

using nlohmann::json;

namespace {

// What one operation must have, so that it can be applied.
struct Operation {};

constexpr std::string_view kNames[] = {"add", "remove", "replace", "move", "copy", "test"};

// "[json.exception.out_of_range.403] key 'x' not found" without the library's own number.
std::string Message(const json::exception& error) {
  const std::string_view text = error.what();
  const std::size_t end = text.find("] ");
  return Printable(end == std::string_view::npos ? text : text.substr(end + 2));
}

void CheckPointer(const Reader& in, std::string_view key) {
  const auto pointer = in.Find(key);
  if (!pointer) return in.Fail(key, "missing");
  std::string text;
  pointer->Read(&text);
  try {
    (void)json::json_pointer(text);
  } catch (const json::exception& error) {
    pointer->Fail(Message(error));
  }
}

void Decode(const Reader& in, Operation* /*out*/) {
  std::string name;
  in.Required("op", &name);
  if (!in.ok()) return;
  if (std::find(std::begin(kNames), std::end(kNames), name) == std::end(kNames)) {
    in.Fail("op", "'" + Printable(name, 40) + "' is none of add, remove, replace, move, copy and test");
  }
  CheckPointer(in, "path");
  if (name == "move" || name == "copy") CheckPointer(in, "from");
  const bool needs_value = name == "add" || name == "replace" || name == "test";
  // Null is a value like any other here.
  if (needs_value && !in.value().contains("value")) in.Fail("value", "missing");
}

// Throws what the library throws. The library's own patch takes for granted that nothing is added to a text
// or a number, and moves and copies are such additions too.
Result<void> Apply(const json& operation, json* document) {
  const std::string& name = operation.at("op").get_ref<const std::string&>();
  const json::json_pointer path(operation.at("path").get_ref<const std::string&>());
  if (name == "move" || name == "copy") {
    const json& from = operation.at("from");
    json value = document->at(json::json_pointer(from.get_ref<const std::string&>()));
    if (name == "move") {
      if (Result<void> removed = Apply({{"op", "remove"}, {"path", from}}, document); !removed)
        return removed;
    }
    return Apply({{"op", "add"}, {"path", operation["path"]}, {"value", std::move(value)}}, document);
  }
  if ((name == "add" || name == "remove") && !path.empty() &&
      !document->at(path.parent_pointer()).is_structured()) {
    return Invalid("there is neither an object nor a list");
  }
  document->patch_inplace(json::array({operation}));
  return {};
}

}  // namespace

Result<void> CheckPatch(const json& patch, const std::string& name) {
  return FromJson<std::vector<Operation>>(patch, name).map([](const auto&) {});
}

Result<json> ApplyPatch(const json& patch, json document, const std::string& name) {
  for (std::size_t i = 0; i < patch.size(); ++i) {
    const auto refused = [&](const std::string& message) {
      const std::string path = Printable(patch[i].at("path").get_ref<const std::string&>());
      return Invalid(ElementPath(name, i) + ": " + path + ": " + message);
    };
    try {
      if (Result<void> applied = Apply(patch[i], &document); !applied)
        return refused(applied.error().message);
    } catch (const json::exception& error) {
      return refused(Message(error));
    }
  }
  return Result<json>(tl::in_place, std::move(document));
}

}  // namespace adaptdl
