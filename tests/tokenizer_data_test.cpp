#include "data/archive.hpp"
#include "data/catalogue.hpp"
#include "data/tokenizer.hpp"
#include "environment.hpp"
#include "run_tool.hpp"
#include "scratch_folder.hpp"

#include <cstdlib>
#include <fstream>
#include <memory>

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

// cl100k_base itself, where IGND_DATA says where it is: ids and counts that the reference implementation gives.
namespace ignd {
namespace {

using Ids = std::vector<std::uint32_t>;

class Cl100k : public ::testing::Test {
 protected:
  void SetUp() override {
    const char* folder = std::getenv("IGND_DATA");
    if (folder == nullptr || *folder == '\0') GTEST_SKIP() << "IGND_DATA does not say where the data sets are";
    data_ = folder;
    const DataPlace place = look_for_data(find_data_set("cl100k-base"));
    if (place.path.empty()) GTEST_SKIP() << "cl100k-base is not in IGND_DATA";
    tokenizer_ = std::make_unique<Tokenizer>(read_cl100k(place.path));
  }

  Ids encode(std::string_view text) {
    Ids ids;
    tokenizer_->encode(text, ids, scratch_);
    return ids;
  }

  std::string data_;
  std::unique_ptr<Tokenizer> tokenizer_;

 private:
  Tokenizer::Scratch scratch_;
  testing::ScratchFolder folder_;
  testing::Variable cache_{"XDG_CACHE_HOME", (folder_ / ".").string()};  // nothing is left in that of the user
};

TEST_F(Cl100k, HasItsVocabulary) {
  EXPECT_EQ(tokenizer_->vocabulary(), 100'277U);
  EXPECT_EQ(encode("Hello, world!"), (Ids{9906, 11, 1917, 0}));
  EXPECT_EQ(encode("<|endoftext|>"), (Ids{27, 91, 8862, 728, 428, 91, 29}));
  EXPECT_EQ(encode("\xff"), encode("\ufffd"));
}

TEST_F(Cl100k, EqualsTheReference) {
  std::ifstream file(data_ + "/cl100k_golden.jsonl");
  if (!file) GTEST_SKIP() << "cl100k_golden.jsonl is not in IGND_DATA";
  std::size_t count = 0;
  for (std::string line; std::getline(file, line); ++count) {
    const auto expected = nlohmann::json::parse(line);
    const auto text = expected.at("text").get<std::string>();
    const Ids ids = encode(text);
    EXPECT_EQ(ids, expected.at("ids").get<Ids>()) << line;
    EXPECT_EQ(tokenizer_->decode(ids), text);
  }
  EXPECT_GT(count, 100U);
}

TEST_F(Cl100k, CountsTheFilmReviews) {
  const DataPlace place = look_for_data(find_data_set("imdb"));
  if (place.path.empty()) GTEST_SKIP() << "imdb is not in IGND_DATA";
  std::size_t for_training = 0;
  std::size_t for_test = 0;
  visit_members(
      place.path, place.path.filename().string(), [](std::string_view name) { return name.ends_with(".txt"); },
      [&](const std::string& name, std::string_view review) {
        std::size_t& count = name.starts_with("aclImdb/train/") ? for_training : for_test;
        count += encode(review).size();
      });
  EXPECT_EQ(for_training, 7'426'463U);
  EXPECT_EQ(for_test, 7'255'943U);
}

}  // namespace
}  // namespace ignd
