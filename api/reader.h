// Reads C++ values from JSON and remembers the first thing that is wrong, with its path. A codec is a list of
// its fields and checks nothing in between:
//
//   void Decode(const Reader& in, Taint* out) {
//     in.Required("key", &out->key);
//     in.Optional("value", &out->value);
//   }
//   Result<Taint> taint = FromJson<Taint>(value, "spec.taints[0]");
#pragma once

#include <cstdint>
#include <limits>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "nlohmann/json_fwd.hpp"
#include "runtime/result.h"

namespace adaptdl {

// What a number must keep to. In a list or a map it holds for every element.
struct Limits {
  double min = -std::numeric_limits<double>::infinity();
  double max = std::numeric_limits<double>::infinity();
  bool exclusive_min = false;
  // To Kubernetes' own types 3.0 is no integer, but to the schema of a custom resource it is one.
  bool take_integral_double = false;
};

// One value of a document, together with its place. A cheap view: document and error outlive it.
class Reader {
 public:
  // The first failure of any reader that shares `error` is kept there, later ones are dropped.
  Reader(const nlohmann::json& value, std::string path, std::optional<Error>* error);

  // A member of this object. Null counts as absent, as it does in Kubernetes; Optional leaves *out as it is
  // where the member is absent.
  template <typename T>
  void Required(std::string_view key, T* out, const Limits& limits = {}) const;
  template <typename T>
  void Optional(std::string_view key, T* out, const Limits& limits = {}) const;

  // This value itself. No number is taken for a text, no text for a number, nothing but a boolean for one.
  void Read(std::string* out, const Limits& limits = {}) const;
  void Read(std::int64_t* out, const Limits& limits = {}) const;
  void Read(double* out, const Limits& limits = {}) const;
  void Read(bool* out, const Limits& limits = {}) const;
  template <typename T>
  void Read(std::optional<T>* out, const Limits& limits = {}) const;
  template <typename T>
  void Read(std::vector<T>* out, const Limits& limits = {}) const;
  template <typename T>
  void Read(std::map<std::string, T>* out, const Limits& limits = {}) const;
  // Anything with a codec, found as Decode(const Reader&, T*).
  template <typename T>
  void Read(T* out, const Limits& limits = {}) const;

  // The elements of this list, or the members of this object; where it is none, that is a failure.
  std::vector<Reader> Elements() const;
  std::vector<std::pair<std::string, Reader>> Members() const;
  // The member under `key`, if this is an object that has it and it is not null.
  std::optional<Reader> Find(std::string_view key) const;

  const nlohmann::json& value() const { return *value_; }
  bool is_null() const;

  // Each says that something is wrong: with this value, with its member, or with what kind of value this is.
  void Fail(std::string_view message) const;
  void Fail(std::string_view key, std::string_view message) const;
  void FailExpected(std::string_view expected) const;  // "expected an integer, found text"
  // False once anything failed: what was read so far may then be half a value.
  bool ok() const { return !error_->has_value(); }

 private:
  const nlohmann::json* value_;
  std::string path_;
  std::optional<Error>* error_;
};

// A whole value. `path` is the place of `value` in what the user gave, and prefixes every message.
template <typename T>
Result<T> FromJson(const nlohmann::json& value, std::string path = "");

template <typename T>
void Reader::Required(std::string_view key, T* out, const Limits& limits) const {
  if (const std::optional<Reader> member = Find(key)) return member->Read(out, limits);
  Fail(key, "missing");
}

template <typename T>
void Reader::Optional(std::string_view key, T* out, const Limits& limits) const {
  if (const std::optional<Reader> member = Find(key)) member->Read(out, limits);
}

template <typename T>
void Reader::Read(std::optional<T>* out, const Limits& limits) const {
  if (is_null()) return out->reset();
  Read(&out->emplace(), limits);
}

template <typename T>
void Reader::Read(std::vector<T>* out, const Limits& limits) const {
  out->clear();
  for (const Reader& element : Elements()) element.Read(&out->emplace_back(), limits);
}

template <typename T>
void Reader::Read(std::map<std::string, T>* out, const Limits& limits) const {
  out->clear();
  for (const auto& [key, member] : Members()) member.Read(&(*out)[key], limits);
}

template <typename T>
void Reader::Read(T* out, const Limits&) const {
  Decode(*this, out);
}

template <typename T>
Result<T> FromJson(const nlohmann::json& value, std::string path) {
  std::optional<Error> error;
  T out;
  Reader(value, std::move(path), &error).Read(&out);
  if (error) return tl::unexpected<Error>(*std::move(error));
  return out;
}

}  // namespace adaptdl
