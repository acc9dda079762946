#include "cluster/kube/kube_cluster.h"

#include <random>
#include <type_traits>
#include <utility>

#include "api/json.h"
#include "cluster/kube/answer.h"
#include "cluster/kube/api_client.h"
#include "cluster/kube/resource_path.h"
#include "cluster/kube/watch_decoder.h"
#include "nlohmann/json.hpp"

namespace adaptdl {
namespace {

using nlohmann::json;

// The server ends a watch by itself; one that is still there so much later has lost it.
constexpr auto kWatchGrace = std::chrono::seconds(15);

std::string What(std::string_view verb, const Ref& ref) {
  return std::string(verb) + " " + std::string(ToString(ref.kind)) + " " + Printable(ToString(ref.key));
}

std::string What(std::string_view verb, const Query& query) {
  std::string what = std::string(verb) + " " + std::string(ToString(query.kind));
  if (!query.name_space.empty()) what += " in " + Printable(query.name_space);
  return what;
}

// Whether a pod could be made of some template.
struct TemplateCheck {
  const std::string& name_space;
};

std::string What(std::string_view /*verb*/, const TemplateCheck& check) {
  return "check a pod template in " + Printable(check.name_space);
}

// What is shared between a watch, its transfer and what is posted. The handler is gone once there is nothing
// more to say; whoever calls it holds it meanwhile.
struct WatchState {
  std::shared_ptr<const WatchHandler> handler;

  void Deliver(Result<WatchEvent> event) {
    const auto held = handler;
    if (held == nullptr) return;
    if (!event) handler.reset();
    (*held)(std::move(event));
  }
};

class KubeWatch final : public Watch {
 public:
  KubeWatch(std::shared_ptr<WatchState> state, std::weak_ptr<ApiClient> client, std::uint64_t call)
      : state_(std::move(state)), client_(std::move(client)), call_(call) {}
  KubeWatch(const KubeWatch&) = delete;
  KubeWatch& operator=(const KubeWatch&) = delete;

  ~KubeWatch() override {
    state_->handler.reset();
    if (const auto client = client_.lock()) client->Cancel(call_);
  }

 private:
  std::shared_ptr<WatchState> state_;
  std::weak_ptr<ApiClient> client_;
  std::uint64_t call_;
};

class KubeCluster final : public Cluster {
 public:
  KubeCluster(std::shared_ptr<ApiClient> client, const KubeOptions& options, Clock& clock)
      : clock_(clock),
        watch_seconds_(options.watch_min.count(), options.watch_max.count()),
        max_answer_(options.max_answer_bytes),
        max_event_(options.max_event_bytes),
        // Not the sequence that the client draws from.
        random_(options.seed + 1),
        client_(std::move(client)) {}

  void Get(const Ref& ref, Done<Object> done) override {
    Run<Object>("get", ref, ObjectPath(ref), {}, ObjectOf(ref.kind), std::move(done));
  }

  void List(const Query& query, std::size_t limit, const std::string& token, Done<Page> done) override {
    Run<Page>(
        "list", query, ListTarget(query, limit, token), {},
        [kind = query.kind](std::string_view body) { return DecodePage(kind, body); }, std::move(done));
  }

  std::unique_ptr<Watch> WatchFrom(const Query& query, const std::string& resource_version,
                                   WatchHandler handler) override;

  void Create(Kind kind, const Document& object, Done<Object> done) override {
    json body = object.value();
    body.emplace("apiVersion", ApiVersionOf(kind));
    body.emplace("kind", ToString(kind));
    const Ref ref{kind, KeyIn(body)};
    Run<Object>("create", ref, CollectionPath(kind, ref.key.name_space),
                {.method = "POST", .body = ToText(body), .content_type = "application/json"}, ObjectOf(kind),
                std::move(done));
  }

  void Apply(const Patch& patch, Done<Object> done) override {
    // Only the part it is for. The server would ignore the rest, but remember who wanted it, which is a
    // change.
    json body = patch.merge.value();
    const bool status = patch.part == Patch::Part::kStatus;
    if (status) {
      body = json::object({{"status", body.value("status", json::object())}});
    } else if (HasStatus(patch.ref.kind)) {
      body.erase("status");
    }
    if (const auto found = body.find("metadata"); found != body.end() && !found->is_object()) {
      return Refuse<Object>(What("patch", patch.ref), {ErrorCode::kInvalid, "metadata: expected an object"},
                            std::move(done));
    }
    // What the server is asked to change must be what it is: that is how a patch states a condition.
    if (!patch.resource_version.empty()) body["metadata"]["resourceVersion"] = patch.resource_version;
    Run<Object>("patch", patch.ref, ObjectPath(patch.ref).map([&](const std::string& path) {
      return path + (status ? "/status" : "");
    }),
                {.method = "PATCH", .body = ToText(body), .content_type = "application/merge-patch+json"},
                ObjectOf(patch.ref.kind), std::move(done));
  }

  void Delete(const Deletion& deletion, Done<void> done) override {
    json body = {{"apiVersion", "v1"}, {"kind", "DeleteOptions"}, {"propagationPolicy", "Background"}};
    if (const auto& uid = deletion.precondition.uid; !uid.empty()) body["preconditions"]["uid"] = uid;
    if (const auto& version = deletion.precondition.resource_version; !version.empty()) {
      body["preconditions"]["resourceVersion"] = version;
    }
    if (deletion.grace) body["gracePeriodSeconds"] = deletion.grace->count();
    Run<void>(
        "delete", deletion.ref, ObjectPath(deletion.ref),
        {.method = "DELETE", .body = ToText(body), .content_type = "application/json"},
        [](std::string_view) { return Result<void>(); }, std::move(done));
  }

  void CheckTemplate(const std::string& name_space, const PodTemplate& pod_template,
                     Done<void> done) override {
    // The server makes up its name, so that a template which somebody keeps is not in the way.
    const json body = {{"apiVersion", "v1"},
                       {"kind", "PodTemplate"},
                       {"metadata", {{"generateName", "adaptdljob-"}}},
                       {"template", pod_template.value()}};
    Run<void>(
        "create", TemplateCheck{name_space}, TemplateCheckTarget(name_space),
        {.method = "POST", .body = ToText(body), .content_type = "application/json"},
        [](std::string_view) { return Result<void>(); }, std::move(done));
  }

 private:
  template <typename T>
  using Read = std::function<Result<T>(std::string_view body)>;

  static Read<Object> ObjectOf(Kind kind) {
    return [kind](std::string_view body) { return DecodeObjectAnswer(kind, body); };
  }

  // As far as it is there: the server says what is wrong with it.
  static Key KeyIn(const json& object) {
    const auto text = [&](const char* key) -> std::string {
      const auto metadata = object.find("metadata");
      if (metadata == object.end() || !metadata->is_object()) return "";
      const auto member = metadata->find(key);
      return member != metadata->end() && member->is_string() ? member->get<std::string>() : "";
    };
    return {text("namespace"), text("name")};
  }

  template <typename T, typename Subject>
  void Run(const char* verb, const Subject& subject, const Result<std::string>& target,
           TransferRequest request, Read<T> read, Done<T> done) {
    std::string what = What(verb, subject);
    if (!target) return Refuse<T>(what, target.error(), std::move(done));
    request.target = *target;
    request.max_body = max_answer_;
    const auto decode = [what, read = std::move(read)](std::string_view body) {
      auto result = std::make_shared<Result<T>>(read(body));
      if (!*result) result->error().message = what + ": " + result->error().message;
      return result;
    };
    constexpr bool kDryRun = std::is_same_v<Subject, TemplateCheck>;
    client_->Start({verb, KindOfSubject(subject), std::move(what), std::move(request), decode, kDryRun},
                   [done = std::move(done)](Result<std::shared_ptr<void>> answer) {
                     if (!answer) return done(tl::unexpected(std::move(answer.error())));
                     done(std::move(*std::static_pointer_cast<Result<T>>(*answer)));
                   });
  }

  static Kind KindOfSubject(const Ref& ref) { return ref.kind; }
  static Kind KindOfSubject(const Query& query) { return query.kind; }
  static Kind KindOfSubject(const TemplateCheck& /*check*/) { return Kind::kPod; }

  // Says later that there is nothing to send.
  template <typename T>
  void Refuse(const std::string& what, Error error, Done<T> done) {
    error.message = what + ": " + error.message;
    clock_.Post([alive = std::weak_ptr(client_), error = std::move(error), done = std::move(done)] {
      if (!alive.expired()) done(tl::unexpected(error));
    });
  }

  Clock& clock_;
  std::uniform_int_distribution<std::int64_t> watch_seconds_;
  std::size_t max_answer_;
  std::size_t max_event_;
  std::mt19937_64 random_;
  // Nobody else holds on to it; that it is gone tells what was posted that the cluster is.
  std::shared_ptr<ApiClient> client_;
};

std::unique_ptr<Watch> KubeCluster::WatchFrom(const Query& query, const std::string& resource_version,
                                              WatchHandler handler) {
  const std::chrono::seconds timeout(watch_seconds_(random_));
  const Result<std::string> target = WatchTarget(query, resource_version, timeout);
  const std::string what = What("watch", query);
  const std::weak_ptr<ApiClient> client = client_;
  auto state = std::make_shared<WatchState>();
  state->handler = std::make_shared<const WatchHandler>(std::move(handler));
  const std::weak_ptr<WatchState> weak = state;
  if (!target) {
    Refuse<WatchEvent>(what, target.error(), [weak](Result<WatchEvent> error) {
      if (const auto held = weak.lock()) held->Deliver(std::move(error));
    });
    return std::make_unique<KubeWatch>(std::move(state), client, 0);
  }

  const auto decoder = std::make_shared<WatchDecoder>(query.kind, what, max_event_);
  // On the I/O thread. What comes in one piece is passed on in one task.
  const auto on_data = [decoder, client, weak, &clock = clock_](std::string_view bytes) {
    auto events = std::make_shared<std::vector<Result<WatchEvent>>>(decoder->Feed(bytes));
    if (events->empty()) return true;
    const bool good = events->back().has_value();
    clock.Post([client, weak, events] {
      for (Result<WatchEvent>& event : *events) {
        const auto held = weak.lock();
        if (held == nullptr || client.expired()) return;
        held->Deliver(std::move(event));
      }
    });
    return good;
  };
  TransferRequest request{
      .target = *target, .timeout = timeout + kWatchGrace, .max_body = max_answer_, .on_data = on_data};
  const auto decode = [decoder](std::string_view) { return std::make_shared<Error>(decoder->End()); };
  const std::uint64_t call = client_->Start(
      {"watch", query.kind, what, std::move(request), decode},
      [weak](const Result<std::shared_ptr<void>>& answer) {
        const Error error = answer ? *std::static_pointer_cast<Error>(*answer) : answer.error();
        if (const auto held = weak.lock()) held->Deliver(tl::unexpected(error));
      });
  return std::make_unique<KubeWatch>(std::move(state), client, call);
}

}  // namespace

Result<std::unique_ptr<Cluster>> ConnectToKubernetes(KubeConnection connection, KubeOptions options,
                                                     Clock& clock) {
  if (!(options.requests_per_second > 0) || !(options.burst >= 1)) {
    return Invalid("options: the rate must be positive and the burst at least one");
  }
  if (options.watch_min.count() < 1 || options.watch_max < options.watch_min) {
    return Invalid("options: watches must last a second at least, and not end before they begin");
  }
  return Transport::Create({.server = connection.server,
                            .tls_server_name = connection.tls_server_name,
                            .insecure_skip_tls_verify = connection.insecure_skip_tls_verify,
                            .user_agent = options.user_agent})
      .map([&](std::unique_ptr<Transport> transport) -> std::unique_ptr<Cluster> {
        auto client =
            std::make_shared<ApiClient>(std::move(transport), std::move(connection), options, clock);
        return std::make_unique<KubeCluster>(std::move(client), options, clock);
      });
}

}  // namespace adaptdl
