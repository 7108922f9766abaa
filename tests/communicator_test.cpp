#include "base/communicator.hpp"

#include "environment.hpp"
#include "ignd/error.hpp"

#include <list>
#include <map>
#include <string>

#include <gtest/gtest.h>

namespace ignd {
namespace {

// With these variables and none of the others that launchers set.
Launch launch_with(const std::map<std::string, std::string>& variables) {
  std::list<testing::Variable> set;
  for (const char* name : {"OMPI_COMM_WORLD_SIZE", "OMPI_COMM_WORLD_RANK", "PMI_SIZE", "PMI_RANK",
                           "SLURM_STEP_NUM_TASKS", "SLURM_NTASKS", "SLURM_PROCID"}) {
    const auto given = variables.find(name);
    set.emplace_back(name, given == variables.end() ? std::nullopt : std::optional(given->second));
  }
  return find_launch();
}

void expect_launch(const Launch& found, int rank, int size, const std::string& by) {
  EXPECT_EQ(found.rank, rank);
  EXPECT_EQ(found.size, size);
  EXPECT_EQ(found.by, by);
}

TEST(Communicator, ALaunchIsRecognisedByItsVariables) {
  expect_launch(launch_with({}), 0, 1, "");
  expect_launch(launch_with({{"OMPI_COMM_WORLD_SIZE", "4"}, {"OMPI_COMM_WORLD_RANK", "3"}}), 3, 4, "mpirun");
  expect_launch(launch_with({{"PMI_SIZE", "2"}, {"PMI_RANK", "0"}}), 0, 2, "mpirun");
  expect_launch(launch_with({{"SLURM_STEP_NUM_TASKS", "8"}, {"SLURM_PROCID", "7"}}), 7, 8, "srun");
  // A batch script is one process, however many tasks its job has.
  expect_launch(launch_with({{"SLURM_NTASKS", "8"}, {"SLURM_PROCID", "0"}}), 0, 1, "");
  // mpirun inside a Slurm job.
  expect_launch(launch_with({{"OMPI_COMM_WORLD_SIZE", "4"},
                             {"OMPI_COMM_WORLD_RANK", "1"},
                             {"SLURM_STEP_NUM_TASKS", "2"},
                             {"SLURM_PROCID", "0"}}),
                1, 4, "mpirun");
}

TEST(Communicator, VariablesThatMakeNoSenseAreNoLaunch) {
  for (const auto& [size, rank] : std::map<std::string, std::string>{
           {"x", "0"}, {"4x", "0"}, {"4", ""}, {"3", "3"}, {"2", "-1"}, {"-2", "0"}, {"99999999999", "0"}}) {
    expect_launch(launch_with({{"OMPI_COMM_WORLD_SIZE", size}, {"OMPI_COMM_WORLD_RANK", rank}}), 0, 1, "");
  }
}

TEST(Communicator, OneProcessHasOneRankThatCanTalkToItself) {
  const auto alone = open_communicator({});
  EXPECT_EQ(alone->rank(), 0);
  EXPECT_EQ(alone->size(), 1);
  EXPECT_GE(alone->cores(), 1U);
  EXPECT_FALSE(alone->receive());
  alone->send(0, "first");
  alone->send(0, std::string(3, '\0'));
  EXPECT_EQ(alone->receive()->bytes, "first");
  EXPECT_EQ(alone->receive()->bytes, std::string(3, '\0'));
  EXPECT_FALSE(alone->receive());
}

}  // namespace
}  // namespace ignd
