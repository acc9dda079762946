#include "tests/e2e/test_trainer.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cstring>
#include <fstream>
#include <iterator>
#include <string_view>

namespace adaptdl {

namespace {

constexpr std::string_view kEndOfHead = "\r\n\r\n";

std::string ReadRecorded(const char* name) {
  std::ifstream file(std::string(ADAPTDL_SOURCE_DIR "/tests/e2e/recorded/") + name, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

void FillIn(std::string& text, std::string_view placeholder, const std::string& value) {
  if (const std::size_t at = text.find(placeholder); at != std::string::npos) {
    text.replace(at, placeholder.size(), value);
  }
}

// A connection to 127.0.0.1 or another numeric address, for one request.
class Connection {
 public:
  explicit Connection(const std::string& host) : fd_(socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0)) {
    const std::size_t colon = host.rfind(':');
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_port = htons(static_cast<std::uint16_t>(std::stoi(host.substr(colon + 1))));
    inet_pton(AF_INET, host.substr(0, colon).c_str(), &address.sin_addr);
    // NOLINTNEXTLINE(cppcoreguidelines-pro-type-reinterpret-cast): that is how sockets want it.
    if (connect(fd_, reinterpret_cast<sockaddr*>(&address), sizeof address) != 0) Fail();
  }
  ~Connection() { close(fd_); }
  Connection(const Connection&) = delete;
  Connection& operator=(const Connection&) = delete;

  void Send(std::string_view text) {
    while (!text.empty() && error_.empty()) {
      const ssize_t count = send(fd_, text.data(), text.size(), MSG_NOSIGNAL);
      if (count <= 0) return Fail();
      text.remove_prefix(static_cast<std::size_t>(count));
    }
  }

  TestTrainer::Answer Read() {
    std::string input;
    std::size_t end = 0;
    while ((end = input.find(kEndOfHead)) == std::string::npos) {
      if (!ReadMore(input)) return {.status = 0, .body = error_};
    }
    const std::string head = input.substr(0, end);
    input.erase(0, end + kEndOfHead.size());
    const std::string length = "\r\nContent-Length: ";
    const std::size_t at = head.find(length);
    const std::size_t size = at == std::string::npos ? 0 : std::stoul(head.substr(at + length.size()));
    while (input.size() < size) {
      if (!ReadMore(input)) return {.status = 0, .body = error_};
    }
    return {.status = std::stoi(head.substr(head.find(' '))), .body = input};
  }

 private:
  void Fail() { error_ = std::generic_category().message(errno); }

  bool ReadMore(std::string& input) {
    if (!error_.empty()) return false;
    char bytes[4096];
    const ssize_t count = recv(fd_, bytes, sizeof bytes, 0);
    if (count < 0) Fail();
    if (count == 0) error_ = "the connection ended without an answer";
    if (count > 0) input.append(bytes, static_cast<std::size_t>(count));
    return count > 0;
  }

  int fd_;
  std::string error_;
};

}  // namespace

TestTrainer::TestTrainer(const Variables& variables)
    : job_(variables.at("ADAPTDL_JOB_ID")),
      group_(variables.at("ADAPTDL_NUM_RESTARTS")),
      rank_(variables.at("ADAPTDL_REPLICA_RANK")) {
  const std::string& url = variables.at("ADAPTDL_SUPERVISOR_URL");
  const std::size_t host = url.find("//") + 2;
  const std::size_t path = std::min(url.find('/', host), url.size());
  host_ = url.substr(host, path - host);
  base_ = url.substr(path);
}

TestTrainer::Answer TestTrainer::Discover() const {
  std::string path = base_;
  path += "/discover/" + job_ + "/" + group_;
  return Send(ReadRecorded("discover.http"), path, "");
}

TestTrainer::Answer TestTrainer::PutHints(const std::string& hints) const {
  std::string request = ReadRecorded("hints.http");
  request.erase(request.find(kEndOfHead) + kEndOfHead.size());
  return Send(std::move(request), base_ + "/hints/" + job_, hints);
}

std::string TestTrainer::RecordedHints() {
  const std::string request = ReadRecorded("hints.http");
  return request.substr(request.find(kEndOfHead) + kEndOfHead.size());
}

TestTrainer::Answer TestTrainer::Send(std::string request, const std::string& path,
                                      const std::string& body) const {
  FillIn(request, "{path}", path);
  FillIn(request, "{host}", host_);
  FillIn(request, "{length}", std::to_string(body.size()));
  Connection connection(host_);
  connection.Send(request + body);
  return connection.Read();
}

}  // namespace adaptdl
