// Uses a model that the tool trained, be it of a table, of images, of texts or of a stream: predicts data with known
// targets, and measures the predictions.
//
//     ignd train --stream flats.csv --target rent --save rent.ignd
//     predict rent.ignd flats.csv

#include <cstdio>
#include <exception>

#include <ignd/model_file.hpp>

int main(int argc, char** argv) {
  if (argc != 3) {
    std::fputs("usage: predict MODEL DATA\n", stderr);
    return 2;
  }
  try {
    const ignd::ModelFile model = ignd::ModelFile::load(argv[1]);
    for (const ignd::Prediction& made : model.predict_file(argv[2])) {
      std::printf("%s: %s %.4g\n", made.name.c_str(), made.label.c_str(), made.value);
    }
    for (const auto& [name, score] : model.evaluate(argv[2])) std::printf("%s %.4g\n", name.c_str(), score);
    return 0;
  } catch (const std::exception& fault) {
    std::fprintf(stderr, "predict: %s\n", fault.what());
    return 1;
  }
}
