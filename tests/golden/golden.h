// Reads the golden vectors: from ADAPTDL_GOLDEN_DIR where that is set, else from this folder.
#pragma once

#include <cstdlib>
#include <fstream>
#include <stdexcept>
#include <string>

#include "nlohmann/json.hpp"

namespace adaptdl {

inline nlohmann::json LoadGolden(const std::string& file) {
  const char* dir = std::getenv("ADAPTDL_GOLDEN_DIR");  // NOLINT(concurrency-mt-unsafe): nobody sets it here
  const std::string path =
      std::string(dir != nullptr && *dir != '\0' ? dir : ADAPTDL_GOLDEN_DEFAULT) + "/" + file;
  std::ifstream in(path);
  if (!in) throw std::runtime_error("cannot read " + path);
  return nlohmann::json::parse(in);
}

}  // namespace adaptdl
