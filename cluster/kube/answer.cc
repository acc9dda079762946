#include "cluster/kube/answer.h"

#include <algorithm>
#include <string>
#include <utility>

#include "api/json.h"
#include "api/reader.h"
#include "nlohmann/json.hpp"

namespace adaptdl {
namespace {

using nlohmann::json;

tl::unexpected<Error> Nonsense(std::string_view why) {
  return Fail(ErrorCode::kInternal, "the server's answer makes no sense: " + std::string(why));
}

bool IsDeeper(const json& value, int depth) {
  if (!value.is_structured()) return false;
  if (depth == 0) return true;
  return std::any_of(value.begin(), value.end(), [&](const json& one) { return IsDeeper(one, depth - 1); });
}

struct ListHead {
  std::string resource_version;
  std::string next;
};

void Decode(const Reader& in, ListHead* out) {
  in.Required("resourceVersion", &out->resource_version);
  in.Optional("continue", &out->next);
}

}  // namespace

Result<json> ParseAnswer(std::string_view body) {
  json value = json::parse(body.begin(), body.end(), nullptr, /*allow_exceptions=*/false);
  if (!value.is_object()) return Nonsense("not a JSON object");
  return Result<json>(tl::in_place, std::move(value));
}

Result<Object> DecodeServed(Kind kind, const json& value) {
  // The server takes deeper objects than anything here should walk through.
  if (IsDeeper(value, kMaxJsonDepth)) {
    const auto metadata = value.is_object() ? value.find("metadata") : value.end();
    if (!value.is_object() || metadata == value.end() || IsDeeper(*metadata, kMaxJsonDepth)) {
      return Nonsense("an object without metadata");
    }
    return FromJson<Metadata>(*metadata, "metadata").map([&](Metadata&& known) {
      return Object(Unreadable{
          kind,
          std::move(known),
          {ErrorCode::kInvalid, "nested deeper than " + std::to_string(kMaxJsonDepth) + " levels"}});
    });
  }
  Result<Object> object = DecodeObject(kind, value);
  if (!object) return Nonsense(object.error().message);
  return object;
}

Result<Object> DecodeObjectAnswer(Kind kind, std::string_view body) {
  return ParseAnswer(body).and_then([&](const json& value) { return DecodeServed(kind, value); });
}

Result<Page> DecodePage(Kind kind, std::string_view body) {
  const Result<json> list = ParseAnswer(body);
  if (!list) return tl::unexpected(list.error());
  const auto metadata = list->find("metadata");
  if (metadata == list->end()) return Nonsense("a list without metadata");
  Result<ListHead> head = FromJson<ListHead>(*metadata, "metadata");
  if (!head) return Nonsense(head.error().message);
  Page page{.resource_version = std::move(head->resource_version), .next = std::move(head->next)};
  const auto items = list->find("items");
  if (items == list->end() || items->is_null()) return page;
  if (!items->is_array()) return Nonsense("items is no list");
  page.objects.reserve(items->size());
  for (const json& item : *items) {
    Result<Object> object = DecodeServed(kind, item);
    if (!object) return tl::unexpected(object.error());
    page.objects.push_back(*std::move(object));
  }
  // The server goes by "namespace/name", where '-' and '.' come before '/'.
  std::sort(page.objects.begin(), page.objects.end(), [](const Object& a, const Object& b) {
    const Metadata& x = MetadataOf(a);
    const Metadata& y = MetadataOf(b);
    return std::tie(x.name_space, x.name) < std::tie(y.name_space, y.name);
  });
  return page;
}

}  // namespace adaptdl
