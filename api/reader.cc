#include "api/reader.h"

#include <array>
#include <charconv>
#include <cmath>

#include "api/json.h"
#include "nlohmann/json.hpp"

namespace adaptdl {
namespace {

using nlohmann::json;

std::string Kind(const json& value) {
  if (value.is_null()) return "null";
  if (value.is_boolean()) return "a boolean";
  if (value.is_number()) return "the number " + ToText(value);
  if (value.is_string()) return "text";
  return value.is_array() ? "a list" : "an object";
}

std::string Shortest(double number) {
  std::array<char, 32> text{};
  return {text.data(), std::to_chars(text.data(), text.data() + text.size(), number).ptr};
}

void Check(const Reader& in, double number, const Limits& limits) {
  const bool above_min = limits.exclusive_min ? number > limits.min : number >= limits.min;
  if (above_min && number <= limits.max) return;
  const std::string found = ", found " + ToText(in.value());
  if (limits.exclusive_min) return in.Fail("must be above " + Shortest(limits.min) + found);
  if (std::isinf(limits.max)) return in.Fail("must be at least " + Shortest(limits.min) + found);
  if (std::isinf(limits.min)) return in.Fail("must be at most " + Shortest(limits.max) + found);
  in.Fail("must be between " + Shortest(limits.min) + " and " + Shortest(limits.max) + found);
}

}  // namespace

Reader::Reader(const json& value, std::string path, std::optional<Error>* error)
    : value_(&value), path_(std::move(path)), error_(error) {}

void Reader::Read(std::string* out, const Limits&) const {
  if (!value_->is_string()) return FailExpected("text");
  *out = value_->get_ref<const std::string&>();
}

void Reader::Read(std::int64_t* out, const Limits& limits) const {
  constexpr double kTwoTo63 = 9223372036854775808.0;
  if (value_->is_number_float()) {
    const auto number = value_->get<double>();
    if (!limits.take_integral_double || std::trunc(number) != number) return FailExpected("an integer");
    if (number < -kTwoTo63 || number >= kTwoTo63) return FailExpected("a 64-bit integer");
    *out = static_cast<std::int64_t>(number);
  } else if (value_->is_number_unsigned() && value_->get<std::uint64_t>() > INT64_MAX) {
    return FailExpected("a 64-bit integer");
  } else if (value_->is_number()) {
    *out = value_->get<std::int64_t>();
  } else {
    return FailExpected("an integer");
  }
  Check(*this, static_cast<double>(*out), limits);
}

void Reader::Read(double* out, const Limits& limits) const {
  if (!value_->is_number()) return FailExpected("a number");
  *out = value_->get<double>();
  if (!std::isfinite(*out)) return Fail("not finite");
  Check(*this, *out, limits);
}

void Reader::Read(bool* out, const Limits&) const {
  if (!value_->is_boolean()) return FailExpected("a boolean");
  *out = value_->get<bool>();
}

std::vector<Reader> Reader::Elements() const {
  std::vector<Reader> elements;
  if (!value_->is_array()) {
    FailExpected("a list");
    return elements;
  }
  elements.reserve(value_->size());
  for (const json& element : *value_) {
    elements.emplace_back(element, ElementPath(path_, elements.size()), error_);
  }
  return elements;
}

std::vector<std::pair<std::string, Reader>> Reader::Members() const {
  std::vector<std::pair<std::string, Reader>> members;
  if (!value_->is_object()) {
    FailExpected("an object");
    return members;
  }
  members.reserve(value_->size());
  for (const auto& [key, member] : value_->get_ref<const json::object_t&>()) {
    members.emplace_back(key, Reader(member, MemberPath(path_, key), error_));
  }
  return members;
}

std::optional<Reader> Reader::Find(std::string_view key) const {
  if (!value_->is_object()) {
    FailExpected("an object");
    return std::nullopt;
  }
  const auto member = value_->find(key);
  if (member == value_->end() || member->is_null()) return std::nullopt;
  return Reader(*member, MemberPath(path_, key), error_);
}

bool Reader::is_null() const { return value_->is_null(); }

void Reader::Fail(std::string_view message) const {
  if (ok()) *error_ = Error{ErrorCode::kInvalid, (path_.empty() ? "" : path_ + ": ") + std::string(message)};
}

void Reader::Fail(std::string_view key, std::string_view message) const {
  Reader(*value_, MemberPath(path_, key), error_).Fail(message);
}

void Reader::FailExpected(std::string_view expected) const {
  Fail("expected " + std::string(expected) + ", found " + Kind(*value_));
}

}  // namespace adaptdl
