#include "bindings.hpp"
#include "ignd/error.hpp"
#include "ignd/stream.hpp"
#include "ignd/version.hpp"

namespace ignd_python {
namespace {

template <class Error>
nb::object bind_error(nb::module_& module, const char* name, const char* meaning, nb::handle base) {
  nb::object error = nb::exception<Error>(module, name, base);
  error.attr("__doc__") = meaning;
  return error;
}

void bind_errors(nb::module_& module) {
  // Later ones are tried first.
  const nb::object error = bind_error<ignd::Error>(
      module, "IgndError", "What the library refuses: one line that says what is wrong and what to do.",
      PyExc_ValueError);
  bind_error<ignd::InvalidArgument>(module, "InvalidArgument", "An option, a size or a text that cannot be used.",
                                    error);
  bind_error<ignd::BadSample>(module, "BadSample", "A sample that cannot be learned; nothing was changed.", error);
  bind_error<ignd::NonConvexLoss>(module, "NonConvexLoss", "The loss has a negative second derivative.", error);
  bind_error<ignd::SingularSystem>(module, "SingularSystem", "The system of a batch needs more damping.", error);
  bind_error<ignd::FileError>(module, "FileError", "Data that cannot be read, written or trusted.", error);
  bind_error<ignd::LearningEnded>(module, "LearningEnded", "A number stopped being finite; no more can be learned.",
                                  error);
}

}  // namespace
}  // namespace ignd_python

NB_MODULE(_core, module) {
  module.doc() = "What the package ignd takes from the C++ library.";
  module.def("version", &ignd::version, "The version of the library.");
  module.def("cpu_path", &ignd::cpu_path, "The kernels in use on this machine.");
  ignd_python::bind_errors(module);
  ignd_python::bind_frames(module);
  ignd_python::bind_losses(module);
  ignd_python::bind_trainers(module);
  ignd_python::bind_tables(module);
  ignd_python::bind_online(module);
  ignd_python::bind_control(module);
}
