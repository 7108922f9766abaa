#pragma once

#include <string>

// The commands that use a trained model.
namespace ignd::cli {

struct UseOptions {
  std::string model;
  std::string data;
  std::string output;  // of predictions; empty: the standard output
  std::string delimiter;
  std::string header;
  bool json = false;
};

int predict(const UseOptions& options);
int evaluate(const UseOptions& options);
int inspect(const UseOptions& options);

}  // namespace ignd::cli
