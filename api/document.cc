#include "api/document.h"

#include <utility>

#include "api/json.h"
#include "nlohmann/json.hpp"

namespace adaptdl {

using nlohmann::json;

Document::Document() : Document(json::object()) {}
Document::Document(json value) : value_(std::make_shared<const json>(std::move(value))) {}

Result<Document> Document::Parse(std::string_view text) {
  return ParseJson(text).and_then([](json&& value) -> Result<Document> {
    if (!value.is_object()) return Invalid("expected an object");
    return Document(std::move(value));
  });
}

bool operator==(const Document& a, const Document& b) {
  return a.value_ == b.value_ || *a.value_ == *b.value_;
}

}  // namespace adaptdl
