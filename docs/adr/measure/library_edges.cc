// library_edges: what yaml-cpp and nlohmann do with doubtful input, which port cpprestsdk says it got, and
// what prometheus-cpp's web server adds to a process.
#include <cpprest/http_listener.h>
#include <prometheus/exposer.h>
#include <yaml-cpp/yaml.h>

#include <nlohmann/json.hpp>
#include <string>

#include "common.h"

namespace {

void TryYaml(const char* what, const char* text, const char* shown) {
  std::string outcome;
  try {
    const YAML::Node node = YAML::Load(text);
    outcome = "accepted; size " + std::to_string(node.size()) + ", `interval` reads " +
              node["interval"].as<std::string>("nothing");
  } catch (const YAML::Exception& e) {
    outcome = std::string("refused: ") + e.what();
  }
  std::printf("| yaml-cpp: %s (`%s`) | %s |\n", what, shown, outcome.c_str());
}

void TryNumber(const char* text) {
  try {
    std::printf("| yaml-cpp: `%s` as int | reads %d |\n", text, YAML::Load(text).as<int>());
  } catch (const YAML::Exception& e) {
    std::printf("| yaml-cpp: `%s` as int | refused: %s |\n", text, e.what());
  }
}

void TryJson(const char* shown, const std::string& text) {
  const auto value = nlohmann::json::parse(text, nullptr, false);
  std::printf("| nlohmann: %s | %s |\n", shown,
              value.is_discarded()  ? "refused"
              : value.contains("a") ? ("accepted; `a` reads " + value["a"].dump()).c_str()
                                    : "accepted");
}

}  // namespace

int main() {
  measure::Bound();
  TryYaml("a key twice", "interval: 60\ninterval: 1\n", "interval: 60, interval: 1");
  TryYaml("a misspelt key", "intervall: 60\n", "intervall: 60");
  TryNumber("010");
  TryNumber("60s");
  TryJson("a key twice (`{\"a\":1,\"a\":2}`)", R"({"a":1,"a":2})");
  TryJson("100,000 arrays in each other", std::string(100000, '[') + std::string(100000, ']'));
  std::printf("| threads before prometheus-cpp's web server | %d |\n", measure::Threads());
  const prometheus::Exposer exposer("127.0.0.1:0");
  std::printf("| threads with it | %d |\n", measure::Threads());
  web::http::experimental::listener::http_listener listener("http://127.0.0.1:0");
  listener.open().wait();
  std::printf("| cpprestsdk: asked for any port, the listener names its address as | %s |\n",
              listener.uri().to_string().c_str());
  listener.close().wait();
  return 0;
}
