#include "data/archive.hpp"
#include "data/catalogue.hpp"
#include "data/feature_table.hpp"
#include "environment.hpp"
#include "ignd/error.hpp"
#include "make_archive.hpp"
#include "run_tool.hpp"
#include "scratch_folder.hpp"

#include <cstdlib>

#include <fmt/format.h>
#include <gtest/gtest.h>

// Tables of numbers from files made here; and from the real ones where IGND_DATA says where they are.
namespace ignd {
namespace {

using testing::contains;
using testing::make_archive;
using testing::ScratchFolder;
using testing::write_text;

template <class Function>
std::string fault_of(const Function& function) {
  try {
    function();
  } catch (const FileError& fault) {
    EXPECT_EQ(std::string(fault.what()).find('\n'), std::string::npos) << fault.what();
    return fault.what();
  }
  return "";
}

std::vector<double> row_of(const FeatureTable& table, std::size_t row) {
  return {table[row].begin(), table[row].end()};
}

void expect_near(const std::vector<double>& values, const std::vector<double>& expected, double tolerance) {
  ASSERT_EQ(values.size(), expected.size());
  for (std::size_t i = 0; i < values.size(); ++i) {
    EXPECT_NEAR(values[i], expected[i], tolerance * std::max(1.0, std::abs(expected[i]))) << i;
  }
}

std::vector<double> means_of(const FeatureTable& table) {
  std::vector<double> means(table.names.size() + 1);
  for (std::size_t row = 0; row < table.size(); ++row) {
    for (std::size_t i = 0; i < table.names.size(); ++i) means[i] += table[row][i];
    means.back() += table.targets[row];
  }
  for (double& mean : means) mean /= static_cast<double>(table.size());
  return means;
}

const char* const housing_member = "CaliforniaHousing/cal_housing.data";

TEST(CaliforniaHousing, DerivesTheFeatures) {
  const ScratchFolder folder;
  make_archive(folder / "cal_housing.tgz",
               {{"CaliforniaHousing/cal_housing.domain", "longitude: continuous.\n"},
                {housing_member, "-1.5,2,3,40,50,60,10,7.25,250000\n1,2,3,4,5,6,4,8,1e5\n"}});
  const FeatureTable table = load_california_housing(folder / "cal_housing.tgz");
  EXPECT_EQ(table.names, (std::vector<std::string>{"MedInc", "HouseAge", "AveRooms", "AveBedrms", "Population",
                                                   "AveOccup", "Latitude", "Longitude"}));
  EXPECT_EQ(table.numbers, 8U);
  ASSERT_EQ(table.size(), 2U);
  EXPECT_EQ(row_of(table, 0), (std::vector<double>{7.25, 3, 4, 5, 60, 6, 2, -1.5}));
  EXPECT_EQ(row_of(table, 1), (std::vector<double>{8, 3, 1, 1.25, 6, 1.5, 2, 1}));
  EXPECT_EQ(table.targets, (std::vector<double>{2.5, 1}));
}

TEST(CaliforniaHousing, WhatIsNotItIsRefused) {
  const ScratchFolder folder;
  const auto fault = [&](const std::string& name, const std::string& text) {
    make_archive(folder / "cal_housing.tgz", {{name, text}});
    return fault_of([&] { load_california_housing(folder / "cal_housing.tgz"); });
  };
  const std::string good = "1,2,3,4,5,6,7,8,9\n";
  EXPECT_EQ(fault(housing_member, good), "");
  EXPECT_TRUE(contains(fault("cal_housing.data", good), "holds no CaliforniaHousing/cal_housing.data"));
  EXPECT_TRUE(contains(fault(housing_member, "1,2,3\n"), "it has 3 columns, not 9"));
  EXPECT_TRUE(contains(fault(housing_member, good + "1,2,3,x,5,6,7,8,9\n"), "a value is not a number"));
  EXPECT_TRUE(contains(fault(housing_member, good + "1,2,3,,5,6,7,8,9\n"), "row 2"));
  EXPECT_TRUE(contains(fault(housing_member, good + "1,2,3,4,5,6,0,8,9\n"), "row 2"));
  EXPECT_TRUE(contains(fault(housing_member, good + "1,2,3,4,5,6,7,inf,9\n"), "row 2"));
  EXPECT_NE(fault(housing_member, good + "1,2,3\n"), "");
  EXPECT_NE(fault(housing_member, ""), "");
  EXPECT_NE(fault(housing_member, std::string("\0\xff,\"", 4)), "");
  EXPECT_NE(fault_of([&] { load_california_housing(folder / "none.tgz"); }), "");
}

const std::string diamonds_header = "carat,cut,color,clarity,depth,table,price,x,y,z\n";

TEST(Diamonds, GradesBecomeColumns) {
  const ScratchFolder folder;
  const std::string quoted =
      "\"carat\",\"cut\",\"color\",\"clarity\",\"depth\",\"table\",\"price\",\"x\",\"y\",\"z\"\n"
      "0.5,\"Ideal\",\"J\",\"IF\",61,55,326,4,5,6\n1,\"Fair\",\"D\",\"I1\",1,2,3,4,5,6\n";
  std::string plain = quoted;
  std::erase(plain, '"');
  for (const std::string& text : {quoted, plain}) {
    write_text(folder / "diamonds.csv", text);
    const FeatureTable table = load_diamonds(folder / "diamonds.csv");
    ASSERT_EQ(table.names.size(), 26U);
    EXPECT_EQ(table.numbers, 6U);
    EXPECT_EQ(table.names[0], "carat");
    EXPECT_EQ(table.names[6], "cut=Fair");
    EXPECT_EQ(table.names[10], "cut=Ideal");
    EXPECT_EQ(table.names[11], "color=D");
    EXPECT_EQ(table.names[25], "clarity=IF");
    EXPECT_EQ(row_of(table, 0), (std::vector<double>{0.5, 61, 55, 4, 5, 6,     //
                                                     0,   0,  0,  0, 1,        //
                                                     0,   0,  0,  0, 0, 0, 1,  //
                                                     0,   0,  0,  0, 0, 0, 0, 1}));
    EXPECT_EQ(row_of(table, 1), (std::vector<double>{1, 1, 2, 4, 5, 6,     //
                                                     1, 0, 0, 0, 0,        //
                                                     1, 0, 0, 0, 0, 0, 0,  //
                                                     1, 0, 0, 0, 0, 0, 0, 0}));
    EXPECT_EQ(table.targets, (std::vector<double>{326, 3}));
  }
}

TEST(Diamonds, TheOrderOfTheColumnsDoesNotMatter) {
  const ScratchFolder folder;
  write_text(folder / "diamonds.csv", "price,z,y,x,table,depth,clarity,color,cut,carat\n9,6,5,4,3,2,SI1,G,Good,1\n");
  const FeatureTable table = load_diamonds(folder / "diamonds.csv");
  EXPECT_EQ(table.targets, std::vector<double>{9});
  EXPECT_EQ((std::vector<double>{table[0].begin(), table[0].begin() + 6}), (std::vector<double>{1, 2, 3, 4, 5, 6}));
}

TEST(Diamonds, WhatIsNotItIsRefused) {
  const ScratchFolder folder;
  const auto fault = [&](const std::string& text) {
    write_text(folder / "diamonds.csv", text);
    return fault_of([&] { load_diamonds(folder / "diamonds.csv"); });
  };
  const std::string good = "1,Fair,D,IF,1,2,3,4,5,6\n";
  EXPECT_EQ(fault(diamonds_header + good), "");
  EXPECT_TRUE(contains(fault("carat,cut\n1,Fair\n"), "it has no column depth"));
  EXPECT_TRUE(contains(fault(diamonds_header + good + "1,Poor,D,IF,1,2,3,4,5,6\n"), "row 2 has an unknown cut"));
  EXPECT_TRUE(contains(fault(diamonds_header + good + "1,Fair,1,IF,1,2,3,4,5,6\n"), "row 2 has an unknown color"));
  EXPECT_TRUE(contains(fault(diamonds_header + good + "1,Fair,D,,1,2,3,4,5,6\n"), "row 2 has an unknown clarity"));
  EXPECT_TRUE(contains(fault(diamonds_header + good + "1,Fair,D,IF,1,2,,4,5,6\n"), "row 2 has no price"));
  EXPECT_TRUE(contains(fault(diamonds_header + good + "x,Fair,D,IF,1,2,3,4,5,6\n"), "carat does not hold numbers"));
  EXPECT_NE(fault(diamonds_header + "1,Fair\n"), "");
  EXPECT_NE(fault(""), "");
  EXPECT_NE(fault(std::string("\0\xff,\"", 4)), "");
  EXPECT_NE(fault_of([&] { load_diamonds(folder / "none.csv"); }), "");
}

class RealData : public ::testing::Test {
 protected:
  void SetUp() override {
    const char* folder = std::getenv("IGND_DATA");
    if (folder == nullptr || *folder == '\0') GTEST_SKIP() << "IGND_DATA does not say where the data sets are";
  }

 private:
  ScratchFolder folder_;
  testing::Variable cache_{"XDG_CACHE_HOME", (folder_ / ".").string()};  // nothing is left in that of the user
};

TEST_F(RealData, HasTheChecksumsOfTheCatalogue) {
  for (const DataSet& set : data_sets()) {
    const DataPlace place = look_for_data(set);
    // Without one, a file of the same name may be another data set's.
    EXPECT_TRUE(place.fault.empty() || set.checksum.empty()) << set.name << ": " << place.fault;
    if (place.path.empty()) fmt::print("{} is not here and was not checked\n", set.name);
  }
}

TEST_F(RealData, CaliforniaHousing) {
  const DataPlace place = look_for_data(find_data_set("california-housing"));
  if (place.path.empty()) GTEST_SKIP() << "california-housing is not in IGND_DATA";
  const FeatureTable table = load_california_housing(place.path);
  ASSERT_EQ(table.size(), 20'640U);
  // As scikit-learn gives them.
  expect_near(row_of(table, 0), {8.3252, 41, 6.98412698, 1.02380952, 322, 2.55555556, 37.88, -122.23}, 1e-8);
  EXPECT_DOUBLE_EQ(table.targets[0], 4.526);
  expect_near(row_of(table, 20'639), {2.3886, 16, 5.254716981, 1.162264151, 1387, 2.616981132, 39.37, -121.24}, 1e-9);
  EXPECT_DOUBLE_EQ(table.targets.back(), 0.894);
  expect_near(means_of(table),
              {3.870671003, 28.63948643, 5.428999742, 1.09667515, 1425.476744, 3.070655159, 35.63186143, -119.5697045,
               2.068558169},
              1e-9);
}

TEST_F(RealData, Diamonds) {
  const DataPlace place = look_for_data(find_data_set("diamonds"));
  if (place.path.empty()) GTEST_SKIP() << "diamonds is not in IGND_DATA";
  const FeatureTable table = load_diamonds(place.path);
  ASSERT_EQ(table.size(), 53'940U);
  expect_near(row_of(table, 0),
              {0.23, 61.5, 55, 3.95, 3.98, 2.43, 0, 0, 0, 0, 1, 0, 1, 0, 0, 0, 0, 0, 0, 1, 0, 0, 0, 0, 0, 0}, 1e-12);
  EXPECT_EQ(table.targets[0], 326.0);
  expect_near(row_of(table, 53'939),
              {0.75, 62.2, 55, 5.83, 5.87, 3.64, 0, 0, 0, 0, 1, 1, 0, 0, 0, 0, 0, 0, 0, 1, 0, 0, 0, 0, 0, 0}, 1e-12);
  EXPECT_EQ(table.targets.back(), 2757.0);
  expect_near(means_of(table),
              {0.7979397479,  61.74940489,  57.45718391,   5.731157212,   5.734525955,   3.538733778,  0.02984797924,
               0.09095291064, 0.2239896181, 0.25567297,    0.3995365221,  0.1256025213,  0.1816277345, 0.1769002595,
               0.2093437152,  0.153948832,  0.1005190953,  0.05205784205, 0.0137374861,  0.1704486466, 0.2422135706,
               0.2272525028,  0.1514831294, 0.09391916945, 0.0677604746,  0.03318502039, 3932.799722},
              1e-9);
}

}  // namespace
}  // namespace ignd
