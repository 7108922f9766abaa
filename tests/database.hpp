#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include <sqlite3.h>

namespace ignd::testing {

// Read with SQLite alone: what is in a store is not for the store to say.
class Database {
 public:
  explicit Database(const std::filesystem::path& file) {
    sqlite3_open_v2(file.c_str(), &handle_, SQLITE_OPEN_READONLY, nullptr);
    sqlite3_busy_timeout(handle_, 10'000);
  }
  ~Database() { sqlite3_close(handle_); }
  Database(const Database&) = delete;
  Database& operator=(const Database&) = delete;
  Database(Database&&) = delete;
  Database& operator=(Database&&) = delete;

  // One line for each row; nothing where the question makes no sense yet.
  std::vector<std::string> ask(const char* sql) const {
    std::vector<std::string> rows;
    const auto add = [](void* to, int columns, char** values, char** /*names*/) {
      std::string row;
      for (int k = 0; k < columns; ++k) row += std::string(values[k] == nullptr ? "none" : values[k]) + "|";
      static_cast<std::vector<std::string>*>(to)->push_back(row);
      return 0;
    };
    sqlite3_exec(handle_, sql, add, &rows, nullptr);
    return rows;
  }

 private:
  sqlite3* handle_ = nullptr;
};

}  // namespace ignd::testing
