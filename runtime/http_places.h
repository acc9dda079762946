// Inside the HTTP server, for its own sources alone: who may have a connection.
#pragma once

#include <cstddef>
#include <map>
#include <optional>
#include <string>

namespace adaptdl {

// Counts connections, all of them and those of each client. Not for several threads.
class HttpPlaces {
 public:
  // What a connection is let in for: requests, or only the word that there is no place for it.
  enum class Place { kServed, kRefused };

  // `each` of 0: a client may have them all.
  HttpPlaces(std::size_t all, std::size_t each) : limit_(all), limit_of_each_(each) {}

  // Those that are refused are as many at a time as those that are served; nothing: not even a word for it.
  std::optional<Place> Take(const std::string& peer);

  // Gives back what Take gave for that peer.
  void Leave(const std::string& peer, Place place);

  // Clients with a connection.
  std::size_t peers() const { return peers_.size(); }

 private:
  struct Count {
    std::size_t& of(Place place) { return place == Place::kServed ? served : refused; }

    std::size_t served = 0;
    std::size_t refused = 0;
  };

  const std::size_t limit_;
  const std::size_t limit_of_each_;
  Count all_;
  std::map<std::string, Count> peers_;
};

}  // namespace adaptdl
