#include "cluster/kube/resource_path.h"

#include <algorithm>

namespace adaptdl {
namespace {

std::string_view Plural(Kind kind) {
  switch (kind) {
    case Kind::kJob:
      return "adaptdljobs";
    case Kind::kPod:
      return "pods";
    case Kind::kNode:
      return "nodes";
    case Kind::kLease:
      return "leases";
    case Kind::kEvent:
      return "events";
  }
  return "";
}

bool IsLetterOrDigit(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9');
}

std::string Encoded(std::string_view text) {
  constexpr std::string_view kHex = "0123456789ABCDEF";
  std::string out;
  for (const char c : text) {
    if (IsLetterOrDigit(c) || c == '-' || c == '.' || c == '_' || c == '~') {
      out += c;
    } else {
      const auto byte = static_cast<unsigned char>(c);
      out += {'%', kHex[byte >> 4], kHex[byte & 15]};
    }
  }
  return out;
}

// What is no name to the server, either; anything more is for it to say.
bool IsStep(std::string_view name) {
  const auto breaks_out = [](char c) { return c == '/' || c == '%' || static_cast<unsigned char>(c) <= ' '; };
  return !name.empty() && name != "." && name != ".." && std::none_of(name.begin(), name.end(), breaks_out);
}

Result<void> CheckNamespace(Kind kind, const std::string& name_space) {
  if (!IsNamespaced(kind)) {
    if (name_space.empty()) return {};
    return Invalid("namespace: a " + std::string(ToString(kind)) + " has none, found '" +
                   Printable(name_space) + "'");
  }
  if (IsStep(name_space)) return {};
  return Invalid("namespace: '" + Printable(name_space) + "' is no namespace");
}

std::string Collection(Kind kind, const std::string& name_space) {
  const std::string_view version = ApiVersionOf(kind);
  std::string path = version.find('/') == std::string_view::npos ? "/api/" : "/apis/";
  path += version;
  if (!name_space.empty()) path += "/namespaces/" + Encoded(name_space);
  path += "/";
  path += Plural(kind);
  return path;
}

// Path and '?' and the labels, with '&' after them.
Result<std::string> QueryTarget(const Query& query) {
  if (!query.name_space.empty()) {
    if (const auto checked = CheckNamespace(query.kind, query.name_space); !checked) {
      return tl::unexpected(checked.error());
    }
  }
  const auto fits = [](const std::string& text) {
    return std::all_of(text.begin(), text.end(), [](char c) {
      return IsLetterOrDigit(c) || c == '-' || c == '.' || c == '_' || c == '/';
    });
  };
  std::string selector;
  for (const auto& [key, value] : query.labels) {
    if (key.empty() || !fits(key) || !fits(value)) {
      return Invalid("labels: '" + Printable(key) + "=" + Printable(value) + "' is no label");
    }
    if (!selector.empty()) selector += ",";
    selector += key;
    selector += "=";
    selector += value;
  }
  if (!fits(query.about)) return Invalid("about: '" + Printable(query.about) + "' is no uid");
  std::string target = Collection(query.kind, query.name_space) + "?";
  if (!selector.empty()) target += "labelSelector=" + Encoded(selector) + "&";
  if (!query.about.empty()) target += "fieldSelector=" + Encoded("involvedObject.uid=" + query.about) + "&";
  return target;
}

}  // namespace

std::string_view ApiVersionOf(Kind kind) {
  switch (kind) {
    case Kind::kJob:
      return "adaptdl.petuum.com/v1";
    case Kind::kPod:
    case Kind::kNode:
    case Kind::kEvent:
      return "v1";
    case Kind::kLease:
      return "coordination.k8s.io/v1";
  }
  return "";
}

Result<std::string> CollectionPath(Kind kind, const std::string& name_space) {
  return CheckNamespace(kind, name_space).map([&] { return Collection(kind, name_space); });
}

Result<std::string> ObjectPath(const Ref& ref) {
  if (!IsStep(ref.key.name)) return Invalid("name: '" + Printable(ref.key.name) + "' is no name");
  return CollectionPath(ref.kind, ref.key.name_space).map([&](const std::string& path) {
    return path + "/" + Encoded(ref.key.name);
  });
}

Result<std::string> TemplateCheckTarget(const std::string& name_space) {
  return CheckNamespace(Kind::kPod, name_space).map([&] {
    return "/api/v1/namespaces/" + Encoded(name_space) + "/podtemplates?dryRun=All";
  });
}

Result<std::string> ListTarget(const Query& query, std::size_t limit, const std::string& token) {
  return QueryTarget(query).map([&](std::string target) {
    if (limit > 0) target += "limit=" + std::to_string(limit) + "&";
    if (!token.empty()) target += "continue=" + Encoded(token) + "&";
    target.pop_back();
    return target;
  });
}

Result<std::string> WatchTarget(const Query& query, const std::string& resource_version,
                                std::chrono::seconds timeout) {
  // To the server both mean "begin anywhere, with what there is", which is another thing than a watch.
  if (resource_version.empty() || resource_version == "0")
    return Invalid("resource version: a watch needs one");
  return QueryTarget(query).map([&](const std::string& target) {
    return target + "watch=1&allowWatchBookmarks=true&timeoutSeconds=" + std::to_string(timeout.count()) +
           "&resourceVersion=" + Encoded(resource_version);
  });
}

}  // namespace adaptdl
