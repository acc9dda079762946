// A training process as far as the supervisor sees it: what the published client sends, byte for byte, and
// how it takes the answers.
#pragma once

#include <map>
#include <string>

namespace adaptdl {

class TestTrainer {
 public:
  using Variables = std::map<std::string, std::string>;

  struct Answer {
    int status = 0;    // 0: the connection failed.
    std::string body;  // Or why.
  };

  // The variables are those of a replica.
  explicit TestTrainer(const Variables& variables);

  // Each on a connection of its own, and as patient as the network is.
  Answer Discover() const;
  Answer PutHints(const std::string& hints) const;

  // A full report, as it was recorded.
  static std::string RecordedHints();

  bool is_first() const { return rank_ == "0"; }

 private:
  // Fills in what was recorded, and sends it.
  Answer Send(std::string request, const std::string& path, const std::string& body) const;

  std::string host_;  // With its port.
  std::string base_;  // What paths begin with.
  std::string job_, group_, rank_;
};

}  // namespace adaptdl
