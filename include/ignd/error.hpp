#pragma once

#include <stdexcept>

namespace ignd {

// Everything the library throws of its own derives from Error (std::bad_alloc aside) and carries one line that says
// what is wrong and what to do.
class Error : public std::runtime_error {
  using std::runtime_error::runtime_error;
};

// An option, a size or a text description (a "spec") that cannot be used. All faults found are in the one message.
class InvalidArgument : public Error {
  using Error::Error;
};

// A sample that the model or the loss cannot take. Nothing has been learned from it and nothing was changed.
class BadSample : public Error {
  using Error::Error;
};

// The loss has l_ff < 0: outside the Gauss-Newton setting, which needs a loss that is convex in the output.
class NonConvexLoss : public Error {
  using Error::Error;
};

// The linear system of a batch is singular, exactly or to rounding: it needs more damping. Nothing was changed.
class SingularSystem : public Error {
  using Error::Error;
};

// A file that cannot be read, written or trusted. What was on disk before is still there, or the whole new file is.
class FileError : public Error {
  using Error::Error;
};

}  // namespace ignd
