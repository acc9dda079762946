// json_parse read|dom|strict|sax|simdjson FILE ROUNDS: takes five fields of every pod out of it, ROUNDS
// times.
#include <simdjson.h>

#include <cstdint>
#include <fstream>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "common.h"

namespace {

using nlohmann::json;

// The sum over what was taken, so that every way must have seen the same.
struct Taken {
  std::uint64_t pods = 0, hash = 0;
  void Add(std::string_view s) {
    for (const char c : s) {
      hash = (hash ^ static_cast<unsigned char>(c)) * 1099511628211ULL;
    }
  }
};

Taken TakeDom(const json& list) {
  Taken t;
  for (const auto& pod : list.at("items")) {
    for (const auto& field : {"/metadata/name", "/metadata/resourceVersion", "/spec/nodeName",
                              "/status/phase", "/status/podIP"}) {
      t.Add(pod.at(json::json_pointer(field)).get_ref<const std::string&>());
    }
    ++t.pods;
  }
  return t;
}

// Builds the tree and refuses what nlohmann's own parser lets pass: a key twice, and depth without end.
class StrictTree : public nlohmann::json_sax<json> {
 public:
  json root;
  bool null() override { return Put(nullptr) != nullptr; }
  bool boolean(bool v) override { return Put(v) != nullptr; }
  bool number_integer(number_integer_t v) override { return Put(v) != nullptr; }
  bool number_unsigned(number_unsigned_t v) override { return Put(v) != nullptr; }
  bool number_float(number_float_t v, const string_t&) override { return Put(v) != nullptr; }
  bool string(string_t& v) override { return Put(std::move(v)) != nullptr; }
  bool binary(binary_t&) override { return false; }
  bool start_object(std::size_t) override { return Open(json::object()); }
  bool start_array(std::size_t) override { return Open(json::array()); }
  bool end_object() override { return Close(); }
  bool end_array() override { return Close(); }
  bool key(string_t& k) override {
    const auto [place, fresh] = open_.back()->get_ref<json::object_t&>().try_emplace(std::move(k));
    slot_ = &place->second;
    return fresh;
  }
  bool parse_error(std::size_t, const std::string&, const nlohmann::detail::exception&) override {
    return false;
  }

 private:
  json* Put(json value) {
    json* place = open_.empty() ? &root : slot_;
    if (!open_.empty() && open_.back()->is_array()) {
      place = &open_.back()->get_ref<json::array_t&>().emplace_back();
    }
    *place = std::move(value);
    return place;
  }
  bool Open(json value) {
    open_.push_back(Put(std::move(value)));
    return open_.size() <= 64;
  }
  bool Close() { return open_.pop_back(), true; }
  std::vector<json*> open_;
  json* slot_ = nullptr;
};

// Takes the fields while they pass, and keeps nothing else. Keys arrive in the order of the text.
class PassingFields : public nlohmann::json_sax<json> {
 public:
  Taken taken;
  bool null() override { return true; }
  bool boolean(bool) override { return true; }
  bool number_integer(number_integer_t) override { return true; }
  bool number_unsigned(number_unsigned_t) override { return true; }
  bool number_float(number_float_t, const string_t&) override { return true; }
  bool binary(binary_t&) override { return false; }
  bool string(string_t& v) override {
    if (path_.size() == 3 && path_[0] == "items") {
      const auto &a = path_[1], &b = path_[2];
      if ((a == "metadata" && b == "name") || (a == "spec" && b == "nodeName") ||
          (a == "metadata" && b == "resourceVersion") || (a == "status" && (b == "phase" || b == "podIP"))) {
        taken.Add(v);
      }
    }
    return true;
  }
  bool start_object(std::size_t) override { return path_.emplace_back(), true; }
  bool key(string_t& k) override { return path_.back().swap(k), true; }
  bool end_object() override {
    path_.pop_back();
    taken.pods += path_.size() == 1 && path_[0] == "items" ? 1 : 0;
    return true;
  }
  bool start_array(std::size_t) override { return true; }
  bool end_array() override { return true; }
  bool parse_error(std::size_t, const std::string&, const nlohmann::detail::exception&) override {
    return false;
  }

 private:
  std::vector<std::string> path_;
};

Taken TakeSimdjson(simdjson::ondemand::parser& parser, const simdjson::padded_string& text) {
  Taken t;
  auto list = parser.iterate(text);
  for (auto pod : list["items"]) {
    auto metadata = pod["metadata"];
    t.Add(std::string_view(metadata["name"]));
    t.Add(std::string_view(metadata["resourceVersion"]));
    t.Add(std::string_view(pod["spec"]["nodeName"]));
    auto status = pod["status"];
    t.Add(std::string_view(status["phase"]));
    t.Add(std::string_view(status["podIP"]));
    ++t.pods;
  }
  return t;
}

}  // namespace

int main(int argc, char** argv) {
  measure::Bound();
  if (argc != 4) {
    return 2;
  }
  const std::string mode = argv[1];
  std::string text;
  simdjson::padded_string padded;
  if (mode == "simdjson") {
    padded = simdjson::padded_string::load(argv[2]);
  } else {
    std::ifstream file(argv[2], std::ios::ate);
    text.resize(static_cast<std::size_t>(file.tellg()));
    file.seekg(0).read(text.data(), static_cast<std::streamsize>(text.size()));
  }
  const int rounds = std::atoi(argv[3]);
  const double before = measure::CpuSeconds();
  simdjson::ondemand::parser parser;
  Taken taken;
  for (int i = 0; i < rounds; ++i) {
    if (mode == "dom") {
      taken = TakeDom(json::parse(text));
    } else if (mode == "strict") {
      StrictTree tree;
      if (json::sax_parse(text, &tree)) {
        taken = TakeDom(tree.root);
      }
    } else if (mode == "sax") {
      PassingFields fields;
      json::sax_parse(text, &fields);
      taken = fields.taken;
    } else if (mode == "simdjson") {
      taken = TakeSimdjson(parser, padded);
    }
  }
  const double ms = 1000 * (measure::CpuSeconds() - before) / rounds;
  const std::string name = mode == "read"     ? "text in memory, not parsed"
                           : mode == "dom"    ? "nlohmann, tree"
                           : mode == "strict" ? "nlohmann, tree through our strict SAX front"
                           : mode == "sax"    ? "nlohmann, SAX, five fields"
                                              : "simdjson on demand, five fields";
  std::printf("| %s | %.1f | %.0f | %llu pods, sum %016llx |\n", name.c_str(), ms, measure::PeakMegabytes(),
              static_cast<unsigned long long>(taken.pods), static_cast<unsigned long long>(taken.hash));
  return 0;
}
