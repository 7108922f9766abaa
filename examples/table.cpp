// Trains a model on a table, saves it where the tool finds it, and predicts a row:
//
//     table houses.csv price
//
// `ignd predict model.ignd houses.csv` uses the same file.

#include "ignd/ignd.hpp"

#include <cstdio>
#include <exception>

int main(int argc, char** argv) {
  if (argc != 3) {
    std::fputs("usage: table FILE TARGET\n", stderr);
    return 2;
  }
  try {
    const ignd::Trained trained = ignd::train(argv[1], {{"target", argv[2]}, {"epochs", "10"}, {"optimizer", "ignd"}});
    for (const auto& [name, value] : trained.report.test) std::printf("test %s %.4g\n", name.c_str(), value);
    trained.model.save("model.ignd");

    const ignd::ModelFile model = ignd::ModelFile::load("model.ignd");
    const auto predictions = model.predict_file(argv[1]);
    std::printf("%zu predictions, the first is %.4g\n", predictions.size(), predictions.at(0).value);
    return 0;
  } catch (const std::exception& fault) {
    std::fprintf(stderr, "table: %s\n", fault.what());
    return 1;
  }
}
