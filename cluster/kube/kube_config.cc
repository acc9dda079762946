#include "cluster/kube/kube_config.h"

#include <array>
#include <cstdint>
#include <exception>

#include "runtime/small_file.h"
#include "runtime/utf8.h"
#include "yaml-cpp/yaml.h"

namespace adaptdl {
namespace {

constexpr std::size_t kMaxConfigBytes = std::size_t{4} << 20;
constexpr const char* kServiceAccount = "/var/run/secrets/kubernetes.io/serviceaccount/";

// A value of the file and its name in messages. Reading throws Error, which ParseKubeconfig catches; it stops
// there. The tree is only looked at through const nodes: a lookup in any other one would change it.
class Entry {
 public:
  Entry(const YAML::Node& node, std::string path) : node_(node), path_(std::move(path)) {}

  bool present() const { return node_.IsDefined() && !node_.IsNull(); }
  const std::string& path() const { return path_; }

  [[noreturn]] void Refuse(std::string_view why) const {
    throw Error{ErrorCode::kInvalid, path_ + ": " + std::string(why)};
  }

  Entry operator[](const char* key) const {
    if (present() && !node_.IsMap()) Refuse("expected a map");
    return {present() ? std::as_const(node_)[key] : YAML::Node(), path_.empty() ? key : path_ + "." + key};
  }

  std::string Text() const {
    if (!present()) return "";
    if (!node_.IsScalar()) Refuse("expected text");
    if (node_.Scalar().find('\0') != std::string::npos) Refuse("contains a zero byte");
    return node_.Scalar();
  }

  bool Bool() const {
    bool value = false;
    if (present() && !(node_.IsScalar() && YAML::convert<bool>::decode(node_, value))) {
      Refuse("expected true or false");
    }
    return value;
  }

  std::vector<Entry> List() const {
    std::vector<Entry> items;
    if (!present()) return items;
    if (!node_.IsSequence()) Refuse("expected a list");
    for (std::size_t i = 0; i < node_.size(); ++i) {
      items.emplace_back(std::as_const(node_)[i], path_ + "[" + std::to_string(i) + "]");
    }
    return items;
  }

 private:
  YAML::Node node_;
  std::string path_;
};

// The item called `name`: clusters, users and contexts are lists of {name, what}.
Entry Named(const Entry& list, const std::string& name, const char* what) {
  std::optional<Entry> found;
  for (const Entry& item : list.List()) {
    if (item["name"].Text() != name) continue;
    if (found) list.Refuse("the name " + Printable(name) + " is given twice");
    found = item[what];
  }
  if (!found) list.Refuse("nothing is called '" + Printable(name) + "'");
  return *found;
}

std::string Base64(const Entry& entry) {
  std::array<std::int8_t, 256> digits{};
  digits.fill(-1);
  std::int8_t value = 0;
  for (const unsigned char c : "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/") {
    if (c != 0) digits[c] = value++;
  }
  const std::string text = entry.Text();
  std::string out;
  std::uint32_t bits = 0;
  std::size_t count = 0;
  std::size_t padding = 0;
  for (const char c : text) {
    if (c == '\n' || c == '\r') continue;
    if (c == '=' && count % 4 >= 2) {
      ++padding;
      ++count;
      continue;
    }
    const int digit = digits[static_cast<unsigned char>(c)];
    if (digit < 0 || padding > 0) entry.Refuse("not base64");
    bits = bits << 6 | static_cast<std::uint32_t>(digit);
    // Each digit after the first of four completes a byte.
    if (count++ % 4 != 0) out += static_cast<char>(bits >> (6 - 2 * ((count - 1) % 4)) & 0xff);
  }
  if (count % 4 != 0) entry.Refuse("not base64");
  return out;
}

std::string InFolder(const std::string& folder, const std::string& path) {
  return path.empty() || path.front() == '/' || folder.empty() ? path : folder + "/" + path;
}

// KEY-data wins over KEY.
TextOrFile Pem(const Entry& owner, const char* key, const std::string& folder) {
  const Entry data = owner[(std::string(key) + "-data").c_str()];
  if (!data.Text().empty()) return {.text = Base64(data)};
  return {.path = InFolder(folder, owner[key].Text())};
}

std::string Server(const Entry& entry) {
  std::string server = entry.Text();
  if (!server.starts_with("https://") && !server.starts_with("http://")) {
    entry.Refuse("must begin with https:// or http://");
  }
  for (const char c : server) {
    const bool odd = c <= ' ' || c >= 0x7f || c == '?' || c == '#' || c == '@' || c == '\\';
    if (odd) entry.Refuse("must be only scheme, host, port and path");
  }
  while (server.ends_with('/')) server.pop_back();
  if (server.ends_with(':')) entry.Refuse("without a host");
  return server;
}

void ReadCluster(const Entry& cluster, const std::string& folder, KubeConnection* out) {
  if (!cluster["proxy-url"].Text().empty()) cluster["proxy-url"].Refuse("proxies are not supported");
  out->server = Server(cluster["server"]);
  out->certificate_authority = Pem(cluster, "certificate-authority", folder);
  out->tls_server_name = cluster["tls-server-name"].Text();
  out->insecure_skip_tls_verify = cluster["insecure-skip-tls-verify"].Bool();
  if (out->insecure_skip_tls_verify && !out->certificate_authority.empty()) {
    cluster["insecure-skip-tls-verify"].Refuse("given together with a certificate authority");
  }
}

ExecPlugin ReadExec(const Entry& exec, const std::string& folder) {
  ExecPlugin plugin{.command = exec["command"].Text(), .api_version = exec["apiVersion"].Text()};
  if (plugin.command.empty()) exec["command"].Refuse("missing");
  if (plugin.command.find('/') != std::string::npos) plugin.command = InFolder(folder, plugin.command);
  if (plugin.api_version != "client.authentication.k8s.io/v1" &&
      plugin.api_version != "client.authentication.k8s.io/v1beta1") {
    exec["apiVersion"].Refuse("must be client.authentication.k8s.io/v1 or .../v1beta1");
  }
  for (const Entry& arg : exec["args"].List()) plugin.args.push_back(arg.Text());
  for (const Entry& variable : exec["env"].List()) {
    std::string name = variable["name"].Text();
    if (name.empty() || name.find('=') != std::string::npos) variable["name"].Refuse("not a variable's name");
    plugin.env.emplace_back(std::move(name), variable["value"].Text());
  }
  return plugin;
}

void ReadUser(const Entry& user, const std::string& folder, KubeConnection* out) {
  for (const char* key :
       {"username", "password", "auth-provider", "as", "as-uid", "as-groups", "as-user-extra"}) {
    if (user[key].present()) user[key].Refuse("not supported");
  }
  out->client_certificate = Pem(user, "client-certificate", folder);
  out->client_key = Pem(user, "client-key", folder);
  if (out->client_certificate.empty() != out->client_key.empty()) {
    user.Refuse("client-certificate and client-key must be given together");
  }
  out->token.path = InFolder(folder, user["tokenFile"].Text());
  if (out->token.path.empty()) out->token.text = user["token"].Text();
  if (const Entry exec = user["exec"]; exec.present()) {
    if (!out->token.empty() || !out->client_certificate.empty())
      exec.Refuse("given together with other credentials");
    out->exec = ReadExec(exec, folder);
  }
}

KubeConnection Read(const Entry& config, const std::string& folder) {
  const std::string context_name = config["current-context"].Text();
  if (context_name.empty()) config["current-context"].Refuse("missing");
  const Entry context = Named(config["contexts"], context_name, "context");
  KubeConnection out;
  ReadCluster(Named(config["clusters"], context["cluster"].Text(), "cluster"), folder, &out);
  if (const std::string user = context["user"].Text(); !user.empty()) {
    ReadUser(Named(config["users"], user, "user"), folder, &out);
  }
  if (const std::string name_space = context["namespace"].Text(); !name_space.empty()) {
    out.name_space = name_space;
  }
  return out;
}

Result<KubeConnection> InCluster(const Environment& environment, const std::string& root) {
  const std::string host = environment("KUBERNETES_SERVICE_HOST").value_or("");
  const std::string port = environment("KUBERNETES_SERVICE_PORT").value_or("");
  if (host.empty() || port.empty()) {
    return Fail(ErrorCode::kNotFound,
                "no KUBECONFIG, no ~/.kube/config, and not inside a pod (KUBERNETES_SERVICE_HOST and _PORT)");
  }
  const std::string folder = root + kServiceAccount;
  const bool ipv6 = host.find(':') != std::string::npos;
  KubeConnection out{.server = "https://" + (ipv6 ? "[" + host + "]" : host) + ":" + port,
                     .certificate_authority = {.path = folder + "ca.crt"},
                     .token = {.path = folder + "token"}};
  constexpr std::size_t kMaxName = 1024;
  const Result<std::string> name_space = ReadSmallFile(folder + "namespace", kMaxName);
  if (!name_space) return tl::unexpected(name_space.error());
  out.name_space = *name_space;
  return out;
}

}  // namespace

Result<KubeConnection> ParseKubeconfig(std::string_view text, const std::string& folder) {
  // Otherwise the parser would guess at UTF-16 and UTF-32.
  if (!IsUtf8(text) || text.find('\0') != std::string_view::npos) return Invalid("not UTF-8 text");
  try {
    return Read(Entry(YAML::Load(std::string(text)), ""), folder);
  } catch (const Error& error) {
    return tl::unexpected(error);
  } catch (const YAML::Exception& e) {
    return Invalid("line " + std::to_string(e.mark.line + 1) +
                   ": not YAML");  // Its own words may quote a secret.
  } catch (const std::exception&) {
    return Invalid("not YAML");
  }
}

Result<KubeConnection> LoadKubeconfig(const std::string& path) {
  const std::size_t slash = path.rfind('/');
  const std::string folder = slash == std::string::npos ? "" : path.substr(0, slash);
  return ReadSmallFile(path, kMaxConfigBytes).and_then([&](const std::string& text) {
    return ParseKubeconfig(text, folder).map_error([&](Error error) {
      error.message = Printable(path) + ": " + error.message;
      return error;
    });
  });
}

Result<KubeConnection> FindConnection(const Environment& environment, const std::string& root) {
  if (const std::string path = environment("KUBECONFIG").value_or(""); !path.empty()) {
    if (path.find(':') != std::string::npos)
      return Invalid("KUBECONFIG: a list of files is not supported, give one");
    return LoadKubeconfig(path);
  }
  if (const std::string home = environment("HOME").value_or(""); !home.empty()) {
    Result<KubeConnection> found = LoadKubeconfig(root + home + "/.kube/config");
    if (found || found.error().code != ErrorCode::kNotFound) return found;
  }
  return InCluster(environment, root);
}

}  // namespace adaptdl
