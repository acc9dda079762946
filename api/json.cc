#include "api/json.h"

#include <algorithm>
#include <cstdint>
#include <utility>
#include <vector>

#include "nlohmann/json.hpp"

namespace adaptdl {
namespace {

using nlohmann::json;

// "line 2, column 7: WHAT, near '{"a": N'": where the byte at `offset` is, counted from 1, and what leads up
// to it.
std::string At(std::string_view text, std::size_t offset, std::string_view what) {
  constexpr std::size_t kShown = 20;
  const std::string_view before = text.substr(0, offset);
  const auto line = 1 + std::count(before.begin(), before.end(), '\n');
  const std::size_t line_start = before.rfind('\n') + 1;  // Zero where there is none.
  const std::size_t start = std::max(line_start, offset - std::min(offset, kShown));
  return "line " + std::to_string(line) + ", column " + std::to_string(offset - line_start + 1) + ": " +
         std::string(what) + ", near '" + Printable(text.substr(start, offset + 1 - start)) + "'";
}

// Builds the document from the parser's events and stops at the first thing that is not allowed.
class Builder : public nlohmann::json_sax<json> {
 public:
  explicit Builder(std::string_view text) : text_(text) {}

  json& document() { return document_; }
  std::string& message() { return message_; }

  bool null() override { return Add(nullptr); }
  bool boolean(bool value) override { return Add(value); }
  bool number_integer(number_integer_t value) override { return Add(value); }
  bool number_unsigned(number_unsigned_t value) override { return Add(value); }
  bool number_float(number_float_t value, const string_t&) override { return Add(value); }
  bool string(string_t& value) override { return Add(std::move(value)); }
  bool binary(binary_t&) override { return false; }  // Not part of the text format.

  bool start_object(std::size_t) override { return Open(json::object()); }
  bool end_object() override { return Close(); }
  bool start_array(std::size_t) override { return Open(json::array()); }
  bool end_array() override { return Close(); }

  bool key(string_t& name) override {
    json& object = *open_.back();
    if (object.contains(name)) return Refuse(MemberPath(Path(), name) + ": given twice");
    member_ = &object[name];
    keys_.back() = std::move(name);
    return true;
  }

  bool parse_error(std::size_t position, const std::string&, const json::exception& error) override {
    constexpr int kNumberOutOfRange = 406;
    const std::size_t offset = position == 0 ? 0 : position - 1;
    if (offset >= text_.size()) return Refuse(At(text_, text_.size(), "the JSON text ends too early"));
    return Refuse(At(text_, offset, error.id == kNumberOutOfRange ? "number out of range" : "not JSON"));
  }

 private:
  json* Insert(json value) {
    if (open_.empty()) return &(document_ = std::move(value));
    if (open_.back()->is_object()) return &(*member_ = std::move(value));
    return &open_.back()->emplace_back(std::move(value));
  }

  bool Add(json value) {
    Insert(std::move(value));
    return true;
  }

  bool Open(json container) {
    if (open_.size() == kMaxJsonDepth) {
      return Refuse("nested deeper than " + std::to_string(kMaxJsonDepth) + " levels");
    }
    open_.push_back(Insert(std::move(container)));
    keys_.emplace_back();
    return true;
  }

  bool Close() {
    open_.pop_back();
    keys_.pop_back();
    return true;
  }

  bool Refuse(std::string message) {
    message_ = std::move(message);
    return false;
  }

  // Of the innermost container that is open.
  std::string Path() const {
    std::string path;
    for (std::size_t i = 0; i + 1 < open_.size(); ++i) {
      path = open_[i]->is_object() ? MemberPath(path, keys_[i]) : ElementPath(path, open_[i]->size() - 1);
    }
    return path;
  }

  std::string_view text_;
  json document_;
  std::vector<json*> open_;        // Containers from the outermost to the innermost.
  std::vector<std::string> keys_;  // The current key of each; unused for a list.
  json* member_ = nullptr;         // Where the value of the last key goes.
  std::string message_;
};

}  // namespace

Result<json> ParseJson(std::string_view text) {
  // The library takes a zero byte for the end of the text, and would ignore what stands behind it.
  if (const std::size_t zero = text.find('\0'); zero != std::string_view::npos) {
    return Invalid(At(text, zero, "not JSON"));
  }
  Builder builder(text);
  if (!json::sax_parse(text.begin(), text.end(), &builder)) return Invalid(std::move(builder.message()));
  return Result<json>(tl::in_place, std::move(builder.document()));
}

std::string ToText(const json& value, int indent) {
  return value.dump(indent, ' ', false, json::error_handler_t::replace);
}

std::string MemberPath(std::string_view path, std::string_view key) {
  constexpr std::size_t kShown = 80;
  const auto is_plain = [](unsigned char c) {
    return (c >= '0' && c <= '9') || (c >= 'A' && c <= 'Z') || (c >= 'a' && c <= 'z') || c == '_' || c == '-';
  };
  const bool plain = !key.empty() && std::all_of(key.begin(), key.end(), is_plain);
  if (!plain) return std::string(path) + "[" + Printable(key, kShown) + "]";
  std::string place(path);
  if (!path.empty()) place += '.';
  // Nearly every key is plain and short: nothing in it needs to be made safe.
  return key.size() <= kShown ? place.append(key) : place + Printable(key, kShown);
}

std::string ElementPath(std::string_view path, std::size_t index) {
  return std::string(path) + "[" + std::to_string(index) + "]";
}

}  // namespace adaptdl
