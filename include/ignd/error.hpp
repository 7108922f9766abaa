#pragma once

#include "ignd/api.hpp"

#include <stdexcept>

namespace ignd {

// Everything the library throws of its own derives from Error (std::bad_alloc aside) and carries one line that says
// what is wrong and what to do.
class IGND_API Error : public std::runtime_error {
  using std::runtime_error::runtime_error;
};

// An option, a size or a text description (a "spec") that cannot be used. All faults found are in the one message.
class IGND_API InvalidArgument : public Error {
  using Error::Error;
};

// A sample that the model or the loss cannot take. Nothing has been learned from it and nothing was changed.
class IGND_API BadSample : public Error {
  using Error::Error;
};

// The loss has l_ff < 0: outside the Gauss-Newton setting, which needs a loss that is convex in the output.
class IGND_API NonConvexLoss : public Error {
  using Error::Error;
};

// The linear system of a batch is singular, exactly or to rounding: it needs more damping. Nothing was changed.
class IGND_API SingularSystem : public Error {
  using Error::Error;
};

// A file that cannot be read, written or trusted. What was on disk before is still there, or the whole new file is.
class IGND_API FileError : public Error {
  using Error::Error;
};

}  // namespace ignd
