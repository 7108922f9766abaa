#include "learn/model_facts.hpp"

#include "ignd/checkpoint.hpp"
#include "ignd/error.hpp"

#include <limits>

#include <gtest/gtest.h>

namespace ignd {
namespace {

ModelFacts some_facts() {
  ModelFacts facts{.version = "1.2.3",
                   .command = "ignd train 'my houses.csv' --target price",
                   .data = "my houses.csv",
                   .sha256 = "abc",
                   .fingerprint = 0xfedcba9876543210,
                   .seed = 7,
                   .train = 80,
                   .validation = 0,
                   .test = 20};
  facts.scored = {{"test", "model", {{"rmse", 0.1 + 0.2}, {"r2", std::numeric_limits<double>::quiet_NaN()}}},
                  {"test", "best constant", {}}};
  return facts;
}

TEST(ModelFacts, SurviveTheirFile) {
  Checkpoint file;
  some_facts().save(file);
  const auto read = ModelFacts::load(Checkpoint::from_bytes(file.to_bytes()));
  ASSERT_TRUE(read);
  EXPECT_EQ(read->version, "1.2.3");
  EXPECT_EQ(read->command, "ignd train 'my houses.csv' --target price");
  EXPECT_EQ(read->data, "my houses.csv");
  EXPECT_EQ(read->sha256, "abc");
  EXPECT_EQ(read->fingerprint, 0xfedcba9876543210);
  EXPECT_EQ(read->seed, 7U);
  EXPECT_EQ(read->train, 80U);
  EXPECT_EQ(read->validation, 0U);
  EXPECT_EQ(read->test, 20U);
  ASSERT_EQ(read->scored.size(), 2U);
  EXPECT_EQ(read->scored[0].scores, (std::vector<std::pair<std::string, double>>{{"rmse", 0.1 + 0.2}}))
      << "without what is no number";
  EXPECT_EQ(read->scored[1].predictor, "best constant");
  EXPECT_TRUE(read->scored[1].scores.empty());
}

TEST(ModelFacts, AreMissingInFilesOfEarlierVersionsAndRefusedWhereDamaged) {
  EXPECT_FALSE(ModelFacts::load(Checkpoint()));
  Checkpoint file;
  some_facts().save(file);
  file.set("facts.scored.0.names", std::string("rmse mae"));
  EXPECT_THROW(ModelFacts::load(file), FileError);
  file.set("facts.scored.0.names", std::string("rmse"));
  EXPECT_TRUE(ModelFacts::load(file));
  file.set("facts.scored", std::uint64_t{3});
  EXPECT_THROW(ModelFacts::load(file), FileError);
}

TEST(ModelFacts, NameDataWithoutTheirFolder) {
  EXPECT_EQ(name_of_data("a.csv"), "a.csv");
  EXPECT_EQ(name_of_data("some/where/a.csv"), "a.csv");
  EXPECT_EQ(name_of_data("-"), "-");
  EXPECT_EQ(name_of_data("/some/where/photos/"), "photos");
}

}  // namespace
}  // namespace ignd
