#pragma once

#include "require.hpp"

#include <cstdlib>
#include <filesystem>
#include <string>

#include <unistd.h>

namespace ignd::fuzz {

// A folder in memory where the system offers that, gone at the end.
class Folder {
 public:
  Folder() {
    std::string name = (std::filesystem::path(access("/dev/shm", W_OK) == 0 ? "/dev/shm" : "/tmp") / "fuzz-XXXXXX");
    require(mkdtemp(name.data()) != nullptr, "a folder can be made");
    path_ = name;
  }
  Folder(const Folder&) = delete;
  Folder& operator=(const Folder&) = delete;
  Folder(Folder&&) = delete;
  Folder& operator=(Folder&&) = delete;
  ~Folder() { std::filesystem::remove_all(path_); }
  std::filesystem::path file(const char* name) const { return path_ / name; }

 private:
  std::filesystem::path path_;
};

}  // namespace ignd::fuzz
