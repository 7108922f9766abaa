#pragma once

#include "base/pinned.hpp"

#include <memory>
#include <optional>
#include <string>

// Several processes ("ranks") that work on one command. mpirun or srun starts them; a program that was started by
// itself is one rank of one. Only base/communicator.cpp knows that MPI exists, and only src/mpi/ calls it.
namespace ignd {

struct Message {
  int from = 0;  // the rank that sent it
  std::string bytes;
};

// Sends messages between ranks. One thread of a program uses it.
class Communicator : Pinned {
 public:
  virtual ~Communicator() = default;

  virtual int rank() const = 0;  // 0, 1, ...
  virtual int size() const = 0;

  // The cores that this rank may use, its share where several ranks run on one machine.
  virtual unsigned cores() const = 0;

  // Returns at once. Messages from one rank to another arrive in order.
  virtual void send(int to, std::string bytes) = 0;

  // The next message, if one has arrived.
  virtual std::optional<Message> receive() = 0;
};

// How the program was started, as environment variables tell.
struct Launch {
  int rank = 0;
  int size = 1;
  std::string by;  // "mpirun", "srun"; empty: by itself
};

Launch find_launch();

// The ranks of a launch; a program that was started by itself gets a single one, and MPI is not touched. Throws
// InvalidArgument where there are several ranks and MPI cannot connect them.
std::unique_ptr<Communicator> open_communicator(const Launch& launch);

// What the shared object of src/mpi/ exports.
inline constexpr const char* mpi_library = "libignd_mpi.so";
inline constexpr const char* mpi_entry_point = "ignd_open_mpi";
using OpenMpi = Communicator* (*)();

}  // namespace ignd
