#include "runtime/flat_yaml.h"

#include <exception>
#include <map>
#include <optional>
#include <sstream>
#include <utility>

#include "runtime/utf8.h"
#include "yaml-cpp/eventhandler.h"
#include "yaml-cpp/exceptions.h"
#include "yaml-cpp/mark.h"
#include "yaml-cpp/parser.h"

namespace adaptdl {
namespace {

constexpr std::size_t kMaxDepth = 16;

// Works on the parser's events, because its tree no longer shows repeated keys and anchors. What it refuses
// it throws as the parser itself would, so that both meet in one place.
class Flattener final : public YAML::EventHandler {
 public:
  std::vector<YamlSetting> Take() && { return std::move(settings_); }

  void OnDocumentStart(const YAML::Mark& mark) override {
    if (documents_++ > 0) throw YAML::ParserException(mark, "a second document");
  }
  void OnDocumentEnd() override {}

  void OnAlias(const YAML::Mark& mark, YAML::anchor_t) override {
    throw YAML::ParserException(mark, "aliases are not supported");
  }

  void OnNull(const YAML::Mark& mark, YAML::anchor_t anchor) override {
    CheckPlain(mark, "", anchor);
    if (maps_.empty()) return;  // An empty document.
    if (in_list_) throw YAML::ParserException(mark, "an empty item in a list");
    if (!key_) throw YAML::ParserException(mark, "an empty key");
    Finish(YamlSetting::Kind::kNull);
  }

  void OnScalar(const YAML::Mark& mark, const std::string& tag, YAML::anchor_t anchor,
                const std::string& value) override {
    CheckPlain(mark, tag, anchor);
    if (maps_.empty()) throw YAML::ParserException(mark, "not a map of keys and values");
    if (in_list_) {
      key_->items.push_back(value);
    } else if (!key_) {
      StartKey(mark, value);
    } else {
      key_->items = {value};
      Finish(tag == "!" ? YamlSetting::Kind::kQuoted : YamlSetting::Kind::kPlain);
    }
  }

  void OnSequenceStart(const YAML::Mark& mark, const std::string& tag, YAML::anchor_t anchor,
                       YAML::EmitterStyle::value) override {
    CheckPlain(mark, tag, anchor);
    if (in_list_ || !key_) throw YAML::ParserException(mark, "a list where none can be");
    in_list_ = true;
  }
  void OnSequenceEnd() override {
    in_list_ = false;
    Finish(YamlSetting::Kind::kList);
  }

  void OnMapStart(const YAML::Mark& mark, const std::string& tag, YAML::anchor_t anchor,
                  YAML::EmitterStyle::value) override {
    CheckPlain(mark, tag, anchor);
    if (in_list_ || (!maps_.empty() && !key_)) throw YAML::ParserException(mark, "a map where none can be");
    if (maps_.size() == kMaxDepth) throw YAML::ParserException(mark, "nested too deep");
    maps_.push_back({.start = std::move(key_), .settings_before = settings_.size()});
    key_.reset();
  }
  void OnMapEnd() override {
    Map map = std::move(maps_.back());
    maps_.pop_back();
    if (!map.start || settings_.size() != map.settings_before) return;
    key_ = std::move(map.start);
    Finish(YamlSetting::Kind::kEmptyMap);
  }

 private:
  struct Map {
    std::optional<YamlSetting> start;  // Its key; none for the document itself.
    std::size_t settings_before = 0;
  };

  // "?" and "!" are what the parser calls a plain and a quoted scalar without a tag.
  static void CheckPlain(const YAML::Mark& mark, const std::string& tag, YAML::anchor_t anchor) {
    if (anchor != YAML::NullAnchor) throw YAML::ParserException(mark, "anchors are not supported");
    if (!tag.empty() && tag != "?" && tag != "!") throw YAML::ParserException(mark, "tags are not supported");
  }

  void StartKey(const YAML::Mark& mark, const std::string& name) {
    key_.emplace();
    key_->key = maps_.back().start ? maps_.back().start->key + "." + name : name;
    key_->line = mark.line + 1;
    const auto [first, fresh] = lines_.emplace(key_->key, key_->line);
    if (!fresh) {
      throw YAML::ParserException(
          mark, "repeated key " + Printable(key_->key) + ", first on line " + std::to_string(first->second));
    }
  }

  void Finish(YamlSetting::Kind kind) {
    key_->kind = kind;
    settings_.push_back(*std::exchange(key_, std::nullopt));
  }

  std::vector<YamlSetting> settings_;
  std::map<std::string, int> lines_;
  std::vector<Map> maps_;
  std::optional<YamlSetting> key_;  // Read, and waiting for its value.
  bool in_list_ = false;
  int documents_ = 0;
};

}  // namespace

Result<std::vector<YamlSetting>> ReadFlatYaml(std::string_view text, std::string_view name) {
  const std::string where = Printable(name);
  if (text.size() > kMaxYamlBytes)
    return Invalid(where + ": longer than " + std::to_string(kMaxYamlBytes) + " bytes");
  // Otherwise the parser would guess at UTF-16 and UTF-32.
  if (!IsUtf8(text) || text.find('\0') != std::string_view::npos) return Invalid(where + ": not UTF-8 text");
  try {
    // With an explicit end the parser notices quotes that were never closed; without one it lets them pass.
    std::istringstream in{std::string(text) + "\n...\n"};
    YAML::Parser parser(in);
    Flattener flattener;
    while (parser.HandleNextDocument(flattener)) {
    }
    return std::move(flattener).Take();
  } catch (const YAML::Exception& e) {
    return Invalid(where + ":" + std::to_string(e.mark.line + 1) + ": " + Printable(e.msg));
  } catch (const std::exception& e) {
    return Invalid(where + ": " + Printable(e.what()));
  }
}

}  // namespace adaptdl
