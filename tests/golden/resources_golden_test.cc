// The resource arithmetic of the published system, entry by entry. Where Kubernetes defines an amount
// otherwise, Kubernetes is right: kRules says where, and why.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstdlib>
#include <optional>
#include <regex>
#include <string>
#include <vector>

#include "api/node.h"
#include "api/pod.h"
#include "api/pod_template.h"
#include "api/quantity.h"
#include "api/reader.h"
#include "api/resources.h"
#include "nlohmann/json.hpp"
#include "tests/golden/golden.h"

namespace adaptdl {
namespace {

using nlohmann::json;

// ---- Our answer to an entry, in the form of the published one.

template <typename T>
Result<json> AsJson(const Result<T>& result) {
  return result.map([](const T& value) { return json(value); });
}

Result<Resources> Unrequested(const json& input) {
  const Result<Node> node =
      FromJson<Node>({{"metadata", {{"name", input.at("node").at("name")}}},
                      {"status", {{"allocatable", input.at("node").at("allocatable")}}}});
  if (!node) return tl::unexpected(node.error());
  std::vector<Pod> pods;
  for (const json& given : input.at("pods")) {
    json spec = given.at("spec");
    spec["nodeName"] = given.at("node_name");
    Result<Pod> pod = FromJson<Pod>({{"metadata", {{"name", "p"}}},
                                     {"spec", std::move(spec)},
                                     {"status", {{"phase", given.at("phase")}}}});
    if (!pod) return tl::unexpected(pod.error());
    pods.push_back(*std::move(pod));
  }
  return NodeUnrequested(*node, pods);
}

Result<json> Ours(const json& entry) {
  const std::string fn = entry.at("fn");
  const json& input = entry.at("input");
  if (fn == "_discretize_resource") {
    const std::string resource = input.at(0);
    return AsJson(FromJson<Quantity>(input.at(1)).and_then([&](const Quantity& quantity) {
      return Discretize(resource, quantity);
    }));
  }
  if (fn == "get_pod_requests") {
    return AsJson(PodTemplate(json{{"spec", input}}).ReadContainers().and_then(PodRequests));
  }
  if (fn == "get_node_unrequested") return AsJson(Unrequested(input));
  if (fn == "set_default_resources") {
    return SetDefaultResources(input.at("pod_spec"), input.at("env_ADAPTDL_JOB_DEFAULT_RESOURCES"));
  }
  return Fail(ErrorCode::kInternal, "no such function: " + fn);
}

bool Agree(const Result<json>& ours, const json& entry) {
  return entry.contains("error") ? !ours : ours && *ours == entry.at("out");
}

// ---- The amounts in an entry.

struct Amount {
  std::string resource;
  json value;
  bool counted = true;  // Otherwise the published code does not look at it.
};

void CollectContainers(const json& spec, bool counted, std::vector<Amount>* out) {
  for (const json& container : spec.value("containers", json::array())) {
    for (const char* section : {"requests", "limits"}) {
      const json amounts =
          container.value(json::json_pointer(std::string("/resources/") + section), json::object());
      for (const auto& [resource, value] : amounts.items()) {
        const bool by_request = resource == "cpu" || resource == "memory" || resource == "ephemeral-storage";
        out->push_back({resource, value, counted && by_request == (std::string(section) == "requests")});
      }
    }
  }
}

std::vector<Amount> Amounts(const json& entry) {
  const std::string fn = entry.at("fn");
  const json& input = entry.at("input");
  std::vector<Amount> amounts;
  if (fn == "_discretize_resource") amounts.push_back({input.at(0), input.at(1)});
  if (fn == "get_pod_requests") CollectContainers(input, true, &amounts);
  if (fn == "get_node_unrequested") {
    for (const auto& [resource, value] : input.at("node").at("allocatable").items()) {
      amounts.push_back({resource, value});
    }
    for (const json& pod : input.at("pods")) {
      const bool ended = pod.at("phase") == "Succeeded" || pod.at("phase") == "Failed";
      CollectContainers(pod.at("spec"), !ended && pod.at("node_name") == input.at("node").at("name"),
                        &amounts);
    }
  }
  return amounts;
}

std::string Trimmed(const json& value) {
  std::string text = value.is_string() ? value.get<std::string>() : value.dump();
  text.erase(0, text.find_first_not_of(' '));
  text.erase(text.find_last_not_of(' ') + 1);
  return text;
}

const std::string kNumber = R"([+-]?(?:[0-9]+\.?[0-9]*|\.[0-9]+))";
const std::string kUnit = "(?:m|[kMGTPE]|[KMGTPE]i)";

bool Matches(const Amount& amount, const std::string& pattern) {
  return amount.value.is_string() && std::regex_match(Trimmed(amount.value), std::regex(pattern));
}

// A number and what it is multiplied with, in the smallest unit of its resource.
struct Parts {
  std::string number;
  double factor = 1;
};

std::optional<Parts> Split(const Amount& amount) {
  if (!amount.value.is_string() && !amount.value.is_number()) return std::nullopt;
  static const std::regex kForm("(" + kNumber + "(?:[eE][+-]?[0-9]+)?)(n|u|" + kUnit + ")?");
  const std::string text = Trimmed(amount.value);
  std::smatch match;
  if (!std::regex_match(text, match, kForm)) return std::nullopt;
  Parts parts{match[1], amount.resource == "cpu" ? 1e3 : 1};
  const std::string unit = match[2];
  if (unit == "n") parts.factor *= 1e-9;
  if (unit == "u") parts.factor *= 1e-6;
  if (unit == "m") parts.factor /= 1e3;
  const std::size_t power =
      unit.empty() ? std::string::npos : std::string("kMGTPE").find(unit == "Ki" ? 'k' : unit[0]);
  if (power != std::string::npos) parts.factor *= std::pow(unit.size() == 2 ? 1024 : 1000, power + 1);
  return parts;
}

// Close to the value in the smallest unit, by a way of its own.
std::optional<long double> Approximate(const Amount& amount) {
  const std::optional<Parts> parts = Split(amount);
  if (!parts) return std::nullopt;
  return std::strtold(parts->number.c_str(), nullptr) * static_cast<long double>(parts->factor);
}

std::optional<std::int64_t> Exact(const Amount& amount) {
  const Result<std::int64_t> value = FromJson<Quantity>(amount.value).and_then([&](const Quantity& quantity) {
    return Discretize(amount.resource, quantity);
  });
  return value ? std::optional(*value) : std::nullopt;
}

// ---- The rules.

enum class Verdict {
  kRefused,  // The published code takes it, Kubernetes does not.
  kTaken,    // The reverse.
  kOther,    // Both take it, for different amounts.
};

struct Rule {
  const char* name;
  const char* reason;
  Verdict verdict;
  bool (*applies)(const Amount& amount);
  const char* example;  // An entry as the published code would answer it.
};

bool IsOverflow(const Amount& amount) {
  const std::optional<long double> value = Approximate(amount);
  return value && std::fabs(*value) > static_cast<long double>(INT64_MAX);
}

// The published arithmetic, in doubles and upwards, misses the exact amount.
bool IsMissed(const Amount& amount) {
  const std::optional<Parts> parts = Split(amount);
  const std::optional<std::int64_t> exact = Exact(amount);
  if (!parts || !exact) return false;
  const double published = std::ceil(std::strtod(parts->number.c_str(), nullptr) * parts->factor);
  return static_cast<long double>(published) != static_cast<long double>(*exact);
}

const std::vector<Rule> kRules = {
    {"nano and micro", "n and u are suffixes of Kubernetes; the published code does not know them",
     Verdict::kTaken, [](const Amount& amount) { return Matches(amount, kNumber + "[nu]"); },
     R"({"fn": "_discretize_resource", "input": ["cpu", "1500u"], "error": "ValueError"})"},
    {"space behind a suffix",
     "the API server trims spaces around a quantity; the published code misses the suffix", Verdict::kTaken,
     [](const Amount& amount) {
       return Matches(amount, kNumber + kUnit) && amount.value.get_ref<const std::string&>().ends_with(' ');
     },
     R"({"fn": "_discretize_resource", "input": ["memory", "2Gi "], "error": "ValueError"})"},
    {"spelling of Python",
     "underscores, inner or other white space and digits beyond ASCII are float()'s, not Kubernetes'",
     Verdict::kRefused,
     [](const Amount& amount) {
       const auto strange = [](unsigned char c) { return c == '_' || c <= ' ' || c >= 0x80; };
       const std::string text = Trimmed(amount.value);
       return amount.value.is_string() && std::any_of(text.begin(), text.end(), strange);
     },
     R"({"fn": "_discretize_resource", "input": ["memory", "1_000"], "out": 1000})"},
    {"several suffixes", "a quantity has one suffix; the published code strips one after the other",
     Verdict::kRefused, [](const Amount& amount) { return Matches(amount, kNumber + kUnit + "{2,}"); },
     R"({"fn": "_discretize_resource", "input": ["memory", "1Mk"], "out": 1000000000})"},
    {"exponent and suffix", "an exponent stands in the place of a suffix, not before one", Verdict::kRefused,
     [](const Amount& amount) { return Matches(amount, kNumber + "[eE][+-]?[0-9]+" + kUnit + "+"); },
     R"({"fn": "_discretize_resource", "input": ["memory", "1e3k"], "out": 1000000})"},
    {"boolean", "true is no amount; to Python it is 1", Verdict::kRefused,
     [](const Amount& amount) { return amount.value.is_boolean(); },
     R"({"fn": "_discretize_resource", "input": ["nvidia.com/gpu", true], "out": 1})"},
    {"overflow", "an amount beyond 2^63 - 1 is no amount; Python's integers have no bound", Verdict::kRefused,
     IsOverflow, R"({"fn": "_discretize_resource", "input": ["memory", "8Ei"], "out": 9223372036854775808})"},
    {"not counted",
     "a manifest with a wrong amount is wrong, also where the published code does not look at it",
     Verdict::kRefused,
     [](const Amount& amount) {
       return !amount.counted && !amount.value.is_null() && !FromJson<Quantity>(amount.value);
     },
     R"({"fn": "get_pod_requests", "input": {"containers": [{"resources": {"limits": {"cpu": "x"}}}]},
         "out": {"pods": 1}})"},
    {"negative fraction", "Kubernetes rounds away from zero, the published code upwards", Verdict::kOther,
     [](const Amount& amount) { return IsMissed(amount) && *Approximate(amount) < 0; },
     R"({"fn": "_discretize_resource", "input": ["memory", "-1.5"], "out": -1})"},
    {"doubles",
     "a quantity is exact; the published code multiplies doubles, which round from 2^53 on, and before the "
     "ceil()",
     Verdict::kOther, [](const Amount& amount) { return IsMissed(amount) && *Approximate(amount) >= 0; },
     R"({"fn": "_discretize_resource", "input": ["memory", "9007199254740993"], "out": 9007199254740992})"},
};

bool AppliesTo(const Rule& rule, const json& entry) {
  const std::vector<Amount> amounts = Amounts(entry);
  return std::any_of(amounts.begin(), amounts.end(), rule.applies);
}

Verdict VerdictOf(const Result<json>& ours, const json& entry) {
  if (!ours) return Verdict::kRefused;
  return entry.contains("error") ? Verdict::kTaken : Verdict::kOther;
}

// Every amount within a rounding of the published one, for each amount that went into it.
bool IsNear(const json& ours, const json& entry) {
  if (!entry.contains("out")) return true;
  const json& published = entry.at("out");
  const auto steps = static_cast<double>(Amounts(entry).size());
  json all = ours;
  all.update(published);
  const auto& members = all.get_ref<const json::object_t&>();
  return std::all_of(members.begin(), members.end(), [&](const auto& member) {
    const double a = ours.value(member.first, 0.0);
    const double b = published.value(member.first, 0.0);
    return std::fabs(a - b) <= steps * (1 + std::ldexp(std::fabs(a), -50));
  });
}

// Where answers differ, ours must still be the one that the text says.
bool IsPlausible(const json& ours, const json& entry) {
  if (ours.is_object()) return IsNear(ours, entry);
  const long double exact = Approximate(Amounts(entry).front()).value_or(NAN);
  const long double distance = std::fabs(ours.get<long double>()) - std::fabs(exact);
  const long double slack = std::ldexp(std::fabs(exact), -50);
  return distance >= -slack && distance < 1 + slack;
}

std::string Describe(const Result<json>& ours) { return ours ? ours->dump() : ours.error().message; }

// Empty where our answer is right: the published one, or one that a rule explains.
std::string Complaint(const json& entry, const Rule** used) {
  const Result<json> ours = Ours(entry);
  if (!ours && ours.error().code != ErrorCode::kInvalid) return ours.error().message;
  if (Agree(ours, entry)) {
    // A rule that fits where both give the same amount would be no rule.
    for (const Rule& rule : kRules) {
      if (ours && entry.at("fn") == "_discretize_resource" && AppliesTo(rule, entry)) {
        return std::string("agrees in spite of the rule: ") + rule.name;
      }
    }
    return "";
  }
  for (const Rule& rule : kRules) {
    if (rule.verdict != VerdictOf(ours, entry) || !AppliesTo(rule, entry)) continue;
    *used = &rule;
    if (ours && !IsPlausible(*ours, entry)) return "not what the text says: " + Describe(ours);
    return "";
  }
  return "no rule allows this answer: " + Describe(ours);
}

TEST(GoldenResources, EveryEntry) {
  const json entries = LoadGolden("resources.json");
  ASSERT_TRUE(entries.is_array());
  ASSERT_FALSE(entries.empty());
  for (const json& entry : entries) {
    const Rule* used = nullptr;
    EXPECT_EQ(Complaint(entry, &used), "") << entry.dump();
  }
}

TEST(GoldenResources, EveryRuleHasAReasonAndIsNeeded) {
  for (const Rule& rule : kRules) {
    EXPECT_GT(std::string(rule.reason).size(), 20U) << rule.name;
    const json example = json::parse(rule.example);
    EXPECT_FALSE(Agree(Ours(example), example)) << rule.name;
    const Rule* used = nullptr;
    EXPECT_EQ(Complaint(example, &used), "") << rule.name;
    EXPECT_EQ(used, &rule) << rule.name;
  }
}

// The test itself must be able to fail.
TEST(GoldenResources, NoticesAWrongAnswer) {
  const char* const wrong[] = {
      R"({"fn": "_discretize_resource", "input": ["cpu", "1"], "out": 1001})",
      R"({"fn": "_discretize_resource", "input": ["cpu", "1"], "error": "ValueError"})",
      R"({"fn": "_discretize_resource", "input": ["cpu", "abc"], "out": 1})",
      R"({"fn": "get_pod_requests", "input": {"containers": []}, "out": {}})",
      R"({"fn": "get_node_unrequested", "input": {"node": {"name": "n", "allocatable": {"cpu": "1"}}, "pods": []},
          "out": {"cpu": 1001}})",
      R"({"fn": "set_default_resources", "input": {"env_ADAPTDL_JOB_DEFAULT_RESOURCES": {}, "pod_spec": {}},
          "out": {}})",
      R"({"fn": "unheard_of", "input": [], "error": "x"})",
  };
  for (const char* text : wrong) {
    const Rule* used = nullptr;
    EXPECT_NE(Complaint(json::parse(text), &used), "") << text;
  }
}

}  // namespace
}  // namespace adaptdl
