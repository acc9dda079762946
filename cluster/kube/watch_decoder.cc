#include "cluster/kube/watch_decoder.h"

#include <optional>
#include <utility>

#include "api/reader.h"
#include "cluster/kube/answer.h"
#include "cluster/kube/status.h"
#include "nlohmann/json.hpp"

namespace adaptdl {
namespace {

using nlohmann::json;

std::optional<WatchEvent::Type> TypeOf(const json& name) {
  if (name == "ADDED") return WatchEvent::Type::kAdded;
  if (name == "MODIFIED") return WatchEvent::Type::kModified;
  if (name == "DELETED") return WatchEvent::Type::kDeleted;
  if (name == "BOOKMARK") return WatchEvent::Type::kBookmark;
  return std::nullopt;
}

// All that there is of the object in a bookmark.
struct Position {
  std::string resource_version;
};

void Decode(const Reader& in, Position* out) {
  if (const auto metadata = in.Find("metadata")) {
    metadata->Required("resourceVersion", &out->resource_version);
  } else {
    in.Fail("metadata", "missing");
  }
}

}  // namespace

std::vector<Result<WatchEvent>> WatchDecoder::Feed(std::string_view bytes) {
  constexpr std::size_t kKeptCapacity = std::size_t{1} << 20;
  std::vector<Result<WatchEvent>> events;
  while (!broken_ && !bytes.empty()) {
    const std::size_t end = bytes.find('\n');
    const std::string_view piece = bytes.substr(0, end);
    if (piece.size() > max_line_ - line_.size()) {
      events.push_back(Fail(ErrorCode::kInternal,
                            what_ + ": an event of more than " + std::to_string(max_line_) + " bytes"));
      broken_ = true;
      break;
    }
    if (end == std::string_view::npos) {
      line_ += piece;
      break;
    }
    bytes.remove_prefix(end + 1);
    // Most lines come whole and need not be copied.
    if (!line_.empty()) line_ += piece;
    const std::string_view line = line_.empty() ? piece : line_;
    if (!line.empty()) {
      events.push_back(DecodeLine(line));
      broken_ = !events.back().has_value();
    }
    // One huge object must not hold its memory for as long as the watch lives.
    if (line_.capacity() > kKeptCapacity) line_ = std::string();
    line_.clear();
  }
  return events;
}

Result<WatchEvent> WatchDecoder::DecodeLine(std::string_view line) const {
  const auto nonsense = [&](std::string_view why) {
    return Fail(ErrorCode::kInternal, what_ + ": " + std::string(why));
  };
  const Result<json> event = ParseAnswer(line);
  if (!event) return nonsense(event.error().message);
  const auto type_name = event->find("type");
  const auto object = event->find("object");
  if (type_name == event->end() || object == event->end()) return nonsense("an event without type or object");
  if (*type_name == "ERROR") {
    constexpr int kInternalServerError = 500;
    return tl::unexpected(ErrorFromStatus(*object, kInternalServerError, what_));
  }
  const std::optional<WatchEvent::Type> type = TypeOf(*type_name);
  if (!type) return nonsense("an event of a type that is not known");
  if (*type == WatchEvent::Type::kBookmark) {
    Result<Position> position = FromJson<Position>(*object, "bookmark");
    if (!position) return nonsense(position.error().message);
    return WatchEvent{*type, std::move(position->resource_version), std::nullopt};
  }
  Result<Object> decoded = DecodeServed(kind_, *object);
  if (!decoded) return nonsense(decoded.error().message);
  std::string resource_version = MetadataOf(*decoded).resource_version;
  if (resource_version.empty()) return nonsense("an object without a resource version");
  return WatchEvent{*type, std::move(resource_version), *std::move(decoded)};
}

Error WatchDecoder::End() const {
  return {ErrorCode::kUnavailable,
          what_ + (line_.empty() ? ": the stream has ended" : ": the stream was cut"), true};
}

}  // namespace adaptdl
