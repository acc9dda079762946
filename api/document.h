// A JSON object that is passed on as it is: a whole new object for the cluster, or a patch to one.
#pragma once

#include <memory>
#include <string_view>

#include "nlohmann/json_fwd.hpp"
#include "runtime/result.h"

namespace adaptdl {

// Immutable and cheap to copy. What is inside is the business of api/ and cluster/ alone.
class Document {
 public:
  Document();  // An empty object.
  explicit Document(nlohmann::json value);

  // Strict (see api/json.h); anything but an object is refused.
  static Result<Document> Parse(std::string_view text);

  const nlohmann::json& value() const { return *value_; }

  friend bool operator==(const Document& a, const Document& b);

 private:
  std::shared_ptr<const nlohmann::json> value_;
};

}  // namespace adaptdl
