#include "data/archive.hpp"
#include "data/catalogue.hpp"
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

std::vector<double> row_of(const Table& table, std::size_t row) { return {table[row].begin(), table[row].end()}; }

void expect_near(const std::vector<double>& values, const std::vector<double>& expected, double tolerance) {
  ASSERT_EQ(values.size(), expected.size());
  for (std::size_t i = 0; i < values.size(); ++i) {
    EXPECT_NEAR(values[i], expected[i], tolerance * std::max(1.0, std::abs(expected[i]))) << i;
  }
}

std::vector<double> means_of(const Table& table) {
  std::vector<double> means(table.columns().size());
  for (std::size_t row = 0; row < table.size(); ++row) {
    for (std::size_t i = 0; i < means.size(); ++i) means[i] += table[row][i];
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
  const Table table = read_california_housing(folder / "cal_housing.tgz");
  std::vector<std::string> names;
  for (const Column& column : table.columns()) names.push_back(column.name);
  EXPECT_EQ(names, (std::vector<std::string>{"MedInc", "HouseAge", "AveRooms", "AveBedrms", "Population", "AveOccup",
                                             "Latitude", "Longitude", "MedHouseVal"}));
  ASSERT_EQ(table.size(), 2U);
  EXPECT_EQ(row_of(table, 0), (std::vector<double>{7.25, 3, 4, 5, 60, 6, 2, -1.5, 2.5}));
  EXPECT_EQ(row_of(table, 1), (std::vector<double>{8, 3, 1, 1.25, 6, 1.5, 2, 1, 1}));
}

TEST(CaliforniaHousing, WhatIsNotItIsRefused) {
  const ScratchFolder folder;
  const auto fault = [&](const std::string& name, const std::string& text) {
    make_archive(folder / "cal_housing.tgz", {{name, text}});
    return fault_of([&] { read_california_housing(folder / "cal_housing.tgz"); });
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
  EXPECT_NE(fault_of([&] { read_california_housing(folder / "none.tgz"); }), "");
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
  const Table table = read_california_housing(place.path);
  ASSERT_EQ(table.size(), 20'640U);
  // As scikit-learn gives them.
  expect_near(row_of(table, 0), {8.3252, 41, 6.98412698, 1.02380952, 322, 2.55555556, 37.88, -122.23, 4.526}, 1e-8);
  expect_near(row_of(table, 20'639), {2.3886, 16, 5.254716981, 1.162264151, 1387, 2.616981132, 39.37, -121.24, 0.894},
              1e-9);
  expect_near(means_of(table),
              {3.870671003, 28.63948643, 5.428999742, 1.09667515, 1425.476744, 3.070655159, 35.63186143, -119.5697045,
               2.068558169},
              1e-9);
}

// An ordinary table: the reader that users have makes of it what it should be.
TEST_F(RealData, Diamonds) {
  const DataPlace place = look_for_data(find_data_set("diamonds"));
  if (place.path.empty()) GTEST_SKIP() << "diamonds is not in IGND_DATA";
  const Table table = Table::read_csv(place.path.string(), {});
  ASSERT_EQ(table.size(), 53'940U);
  const auto mean_of = [&](const char* name) { return means_of(table)[table.find(name)]; };
  EXPECT_NEAR(mean_of("carat"), 0.7979397479, 1e-9);
  EXPECT_NEAR(mean_of("depth"), 61.74940489, 1e-7);
  EXPECT_NEAR(mean_of("price"), 3932.799722, 1e-5);
  for (const auto& [name, grades] : {std::pair{"cut", 5U}, {"color", 7U}, {"clarity", 8U}}) {
    const Column& column = table.columns()[table.find(name)];
    EXPECT_EQ(column.kind, ColumnKind::text);
    EXPECT_EQ(column.labels.size(), grades) << name;
  }
}

}  // namespace
}  // namespace ignd
