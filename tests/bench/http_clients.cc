#include "tests/bench/http_clients.h"

#include <charconv>
#include <string_view>
#include <utility>

namespace adaptdl {

namespace {

// The number behind `name`; `otherwise` where it is not there.
std::size_t Number(std::string_view text, std::string_view name, std::size_t otherwise) {
  const std::size_t at = text.find(name);
  if (at == std::string_view::npos) return otherwise;
  const std::string_view rest = text.substr(at + name.size());
  std::from_chars(rest.data(), rest.data() + rest.size(), otherwise);
  return otherwise;
}

}  // namespace

std::size_t HttpClients::Add(std::uint32_t address) {
  clients_.push_back({.address = address});
  return clients_.size() - 1;
}

void HttpClients::Send(std::size_t number, const std::string& request) {
  Client& client = clients_[number];
  client.busy = true;
  client.unsent = request;
  if (client.socket < 0) client.socket = loop_.Connect(client.address, port_, this, number);
  if (client.socket < 0 || !SendSome(client.socket, &client.unsent)) End(number);
}

void HttpClients::Close() {
  for (Client& client : clients_) {
    if (client.socket >= 0) loop_.Close(std::exchange(client.socket, -1));
  }
}

void HttpClients::OnSocket(std::size_t number) {
  Client& client = clients_[number];
  const bool open = ReceiveSome(client.socket, &client.received);
  Take(number);
  if (client.socket < 0) return;
  if (!open || !SendSome(client.socket, &client.unsent)) End(number);
}

void HttpClients::End(std::size_t number) {
  Client& client = clients_[number];
  if (client.socket >= 0) loop_.Close(std::exchange(client.socket, -1));
  client.received.clear();
  client.unsent.clear();
  if (std::exchange(client.busy, false)) answered_(number, 0, "");
}

void HttpClients::Take(std::size_t number) {
  Client& client = clients_[number];
  const std::string_view text = client.received;
  const std::size_t end = text.find("\r\n\r\n");
  if (!client.busy || end == std::string_view::npos) return;
  const std::string_view header = text.substr(0, end);
  const std::size_t size = end + 4 + Number(header, "Content-Length: ", 0);
  if (text.size() < size) return;
  const int status = static_cast<int>(Number(header, "HTTP/1.1 ", 0));
  const std::string body(text.substr(end + 4, size - end - 4));
  client.received.clear();
  client.received.shrink_to_fit();
  client.busy = false;
  answered_(number, status, body);
}

}  // namespace adaptdl
