#include "base/communicator.hpp"

#include "base/text.hpp"
#include "ignd/error.hpp"

#include <algorithm>
#include <array>
#include <charconv>
#include <cstdlib>
#include <string_view>
#include <thread>
#include <utility>
#include <vector>

#include <dlfcn.h>
#include <fmt/format.h>

namespace ignd {
namespace {

class SingleRank final : public Communicator {
 public:
  int rank() const override { return 0; }
  int size() const override { return 1; }
  unsigned cores() const override { return std::max(1U, std::thread::hardware_concurrency()); }
  void send(int /*to*/, std::string bytes) override { sent_.push_back({0, std::move(bytes)}); }
  std::optional<Message> receive() override {
    if (sent_.empty()) return std::nullopt;
    Message first = std::move(sent_.front());
    sent_.erase(sent_.begin());
    return first;
  }

 private:
  std::vector<Message> sent_;  // to itself
};

// The variables of one way to start several ranks.
struct Launcher {
  const char* size;
  const char* rank;
  const char* name;
};

// An mpirun inside a Slurm job sets its own variables beside Slurm's: it comes first. The variables of Slurm are those
// of a job step, since a batch script has those of the job and is a single process.
constexpr std::array launchers{Launcher{"OMPI_COMM_WORLD_SIZE", "OMPI_COMM_WORLD_RANK", "mpirun"},
                               Launcher{"PMI_SIZE", "PMI_RANK", "mpirun"},
                               Launcher{"SLURM_STEP_NUM_TASKS", "SLURM_PROCID", "srun"}};

std::optional<int> number_in(const char* variable) {
  const char* const value = std::getenv(variable);
  if (value == nullptr) return std::nullopt;
  const std::string_view text = value;
  int number = 0;
  const auto [end, fault] = std::from_chars(text.data(), text.data() + text.size(), number);
  return fault == std::errc() && end == text.data() + text.size() ? std::optional(number) : std::nullopt;
}

}  // namespace

Launch find_launch() {
  for (const Launcher& launcher : launchers) {
    const auto size = number_in(launcher.size), rank = number_in(launcher.rank);
    if (!size || !rank || *rank < 0 || *rank >= *size) continue;
    return {*rank, *size, launcher.name};
  }
  return {};
}

std::unique_ptr<Communicator> open_communicator(const Launch& launch) {
  if (launch.size <= 1) return std::make_unique<SingleRank>();
  // MPI's own plug-ins look for its symbols among the global ones. The library stays open until the program ends.
  void* const library = dlopen(mpi_library, RTLD_NOW | RTLD_GLOBAL);
  if (library == nullptr) {
    throw InvalidArgument(
        fmt::format("{} started {} ranks, but this program cannot use MPI ({}), and each rank would "
                    "do all of the work; start one, or build where libopenmpi-dev is installed",
                    launch.by, launch.size, printable(dlerror(), 200)));
  }
  const auto open = reinterpret_cast<OpenMpi>(dlsym(library, mpi_entry_point));
  if (open == nullptr) throw InvalidArgument(fmt::format("{} belongs to another version of ignd", mpi_library));
  std::unique_ptr<Communicator> ranks(open());
  if (ranks->size() == launch.size) return ranks;
  throw InvalidArgument(
      fmt::format("{} started {} ranks, but MPI connects {} of them: it is not the MPI that ignd was "
                  "built with; use its own mpirun, or srun --mpi=pmix",
                  launch.by, launch.size, ranks->size()));
}

}  // namespace ignd
