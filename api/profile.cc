#include "api/profile.h"

#include <array>
#include <cstddef>
#include <string>

#include "api/json.h"
#include "api/model_codec.h"
#include "api/reader.h"
#include "nlohmann/json.hpp"

namespace adaptdl {

using nlohmann::json;

namespace {

// A list of objects from an object of lists.
Result<json> Transpose(const json& columns) {
  constexpr std::array kNames = {"num_nodes", "num_replicas", "atomic_bsz", "accum_step_time",
                                 "optim_step_time"};
  json rows = json::array();
  for (const char* name : kNames) {
    const auto column = columns.find(name);
    if (column == columns.end() || !column->is_array())
      return Invalid(std::string(name) + ": expected a list");
    if (name == kNames.front()) rows = json(column->size(), json::object());
    if (column->size() != rows.size()) {
      return Invalid(std::string(name) + ": the lists differ in length: " + std::to_string(column->size()) +
                     " here, " + std::to_string(rows.size()) + " in " + kNames.front());
    }
    for (std::size_t i = 0; i < rows.size(); ++i) rows[i][name] = (*column)[i];
  }
  return Result<json>(tl::in_place, std::move(rows));
}

}  // namespace

Result<std::vector<Observation>> ParseProfile(std::string_view text) {
  return ParseJson(text)
      .and_then([](json value) {
        return value.is_object() ? Transpose(value) : Result<json>(tl::in_place, std::move(value));
      })
      .and_then([](const json& rows) { return FromJson<std::vector<Observation>>(rows); });
}

}  // namespace adaptdl
