#include "base/communicator.hpp"

#include <algorithm>
#include <array>
#include <climits>
#include <list>
#include <stdexcept>
#include <vector>

#include <mpi.h>
#include <sched.h>

// All that ignd knows of MPI: a shared object of its own, which base/communicator.cpp opens where mpirun or srun has
// started several ranks.
namespace ignd {
namespace {

constexpr int tag = 0;

// The cores that a rank may use, as a set that can be sent. Empty where the system does not say.
using CoreSet = std::array<unsigned char, sizeof(cpu_set_t)>;

CoreSet own_cores() {
  CoreSet cores{};
  auto* const set = reinterpret_cast<cpu_set_t*>(cores.data());
  if (sched_getaffinity(0, sizeof(cpu_set_t), set) != 0) cores.fill(0);
  return cores;
}

bool has_core(const CoreSet& cores, std::size_t core) { return (cores[core / CHAR_BIT] >> core % CHAR_BIT & 1U) != 0; }

// Ranks that are bound to cores of their own have these; ranks that share some have equal shares of them.
unsigned share_of_cores() {
  MPI_Comm machine = MPI_COMM_NULL;
  MPI_Comm_split_type(MPI_COMM_WORLD, MPI_COMM_TYPE_SHARED, 0, MPI_INFO_NULL, &machine);
  int count = 1;
  MPI_Comm_size(machine, &count);
  const CoreSet own = own_cores();
  std::vector<CoreSet> all(static_cast<std::size_t>(count));
  MPI_Allgather(own.data(), static_cast<int>(own.size()), MPI_BYTE, all.data(), static_cast<int>(own.size()), MPI_BYTE,
                machine);
  MPI_Comm_free(&machine);
  double share = 0;
  for (std::size_t core = 0; core < own.size() * CHAR_BIT; ++core) {
    if (!has_core(own, core)) continue;
    share +=
        1.0 / static_cast<double>(std::ranges::count_if(all, [&](const CoreSet& of) { return has_core(of, core); }));
  }
  constexpr double rounding = 1e-6;
  return std::max(1U, static_cast<unsigned>(share + rounding));
}

class MpiCommunicator final : public Communicator {
 public:
  MpiCommunicator() {
    int level = 0;
    MPI_Init_thread(nullptr, nullptr, MPI_THREAD_FUNNELED, &level);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank_);
    MPI_Comm_size(MPI_COMM_WORLD, &size_);
    cores_ = share_of_cores();
  }
  ~MpiCommunicator() override {
    // The analyzer does not follow requests through a list.
    // NOLINTNEXTLINE(clang-analyzer-optin.mpi.MPI-Checker)
    for (Sending& one : sending_) MPI_Wait(&one.request, MPI_STATUS_IGNORE);
    MPI_Finalize();
  }

  int rank() const override { return rank_; }
  int size() const override { return size_; }
  unsigned cores() const override { return cores_; }

  void send(int to, std::string bytes) override {
    if (bytes.size() > INT_MAX) throw std::runtime_error("a message between ranks is larger than 2 GB");
    Sending& one = sending_.emplace_back(Sending{std::move(bytes), MPI_REQUEST_NULL});
    MPI_Isend(one.bytes.data(), static_cast<int>(one.bytes.size()), MPI_BYTE, to, tag, MPI_COMM_WORLD, &one.request);
  }  // NOLINT(clang-analyzer-optin.mpi.MPI-Checker): receive() and the destructor wait for it

  std::optional<Message> receive() override {
    sending_.remove_if([](Sending& one) {
      int done = 0;
      MPI_Test(&one.request, &done, MPI_STATUS_IGNORE);
      return done != 0;
    });
    int there = 0;
    MPI_Status status;
    MPI_Iprobe(MPI_ANY_SOURCE, tag, MPI_COMM_WORLD, &there, &status);
    if (there == 0) return std::nullopt;
    int length = 0;
    MPI_Get_count(&status, MPI_BYTE, &length);
    Message message{status.MPI_SOURCE, std::string(static_cast<std::size_t>(length), '\0')};
    MPI_Recv(message.bytes.data(), length, MPI_BYTE, status.MPI_SOURCE, tag, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    return message;
  }

 private:
  struct Sending {
    std::string bytes;  // which MPI reads until the request is done
    MPI_Request request;
  };

  int rank_ = 0, size_ = 1;
  unsigned cores_ = 1;
  std::list<Sending> sending_;
};

}  // namespace
}  // namespace ignd

extern "C" __attribute__((visibility("default"))) ignd::Communicator* ignd_open_mpi() {
  return new ignd::MpiCommunicator;  // NOLINT(cppcoreguidelines-owning-memory): the caller owns it
}
