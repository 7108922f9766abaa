// Online learning from a stream: each line of standard input is a target followed by name:value features, such as
//   12.5 rooms:3 area:71 city=Lucca:1
// It predicts each line before it learns from it and prints the loss at doubling intervals. The preconditioner takes
// care of features with scales of their own. With a file name it goes on from that checkpoint and saves to it at the
// end:
//   build/release/bin/stream model.ignd < data.txt
#include <cstdio>
#include <exception>
#include <filesystem>
#include <iostream>
#include <sstream>
#include <vector>

#include <ignd/ignd.hpp>

namespace {

struct Line {
  double target = 0;
  std::vector<std::uint32_t> index;
  std::vector<float> values;
};

Line parse(const std::string& text) {
  Line line;
  std::istringstream words(text);
  std::string word;
  if (!(words >> line.target)) throw ignd::BadSample("a line must start with its target");
  while (words >> word) {
    const auto colon = word.rfind(':');
    if (colon == std::string::npos) throw ignd::BadSample("'" + word + "' is not name:value");
    line.index.push_back(ignd::hash_feature(word.substr(0, colon)));
    try {
      line.values.push_back(std::stof(word.substr(colon + 1)));
    } catch (const std::exception&) {
      throw ignd::BadSample("the value of '" + word + "' is not a number");
    }
  }
  return line;
}

void learn(std::istream& in, const char* file) {
  ignd::HashedLinear<float> model(18);
  ignd::Trainer<float> trainer(
      model, {.schedule = ignd::Schedule::constant(0.1), .preconditioner = ignd::PreconditionerKind::second_moment});
  if (file != nullptr && std::filesystem::exists(file)) trainer.restore(ignd::Checkpoint::read(file));

  double sum = 0;
  std::uint64_t lines = 0;
  std::uint64_t next_report = 1;
  for (std::string text; std::getline(in, text);) {
    const Line line = parse(text);
    const ignd::StepInfo info = trainer.step({{line.values, line.index}, line.target});
    if (info.status != ignd::StepStatus::learned) throw ignd::Error(to_string(info));
    sum += info.loss.value;
    if (++lines == next_report) {
      std::printf("%10llu lines, average loss %.6g\n", static_cast<unsigned long long>(lines),
                  sum / static_cast<double>(lines));
      next_report *= 2;
    }
  }
  std::printf("%10llu lines, average loss %.6g, %llu steps in all\n", static_cast<unsigned long long>(lines),
              lines == 0 ? 0 : sum / static_cast<double>(lines), static_cast<unsigned long long>(trainer.steps()));

  if (file == nullptr) return;
  ignd::Checkpoint checkpoint;
  trainer.save(checkpoint);
  checkpoint.write(file);
}

}  // namespace

int main(int argc, char** argv) {
  try {
    learn(std::cin, argc > 1 ? argv[1] : nullptr);
  } catch (const std::exception& fault) {
    std::fprintf(stderr, "stream: %s\n", fault.what());
    return 1;
  }
}
