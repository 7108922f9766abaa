#include "bindings.hpp"
#include "ignd/error.hpp"
#include "ignd/stream.hpp"
#include "ignd/version.hpp"

namespace ignd_python {
namespace {

void bind_errors(nb::module_& module) {
  // Later ones are tried first.
  const nb::object error = nb::exception<ignd::Error>(module, "IgndError", PyExc_ValueError);
  nb::exception<ignd::InvalidArgument>(module, "InvalidArgument", error);
  nb::exception<ignd::BadSample>(module, "BadSample", error);
  nb::exception<ignd::NonConvexLoss>(module, "NonConvexLoss", error);
  nb::exception<ignd::SingularSystem>(module, "SingularSystem", error);
  nb::exception<ignd::FileError>(module, "FileError", error);
  nb::exception<ignd::LearningEnded>(module, "LearningEnded", error);
}

}  // namespace
}  // namespace ignd_python

NB_MODULE(_core, module) {
  module.doc() = "What the package ignd takes from the C++ library.";
  module.def("version", &ignd::version, "The version of the library.");
  module.def("cpu_path", &ignd::cpu_path, "The kernels in use on this machine.");
  ignd_python::bind_errors(module);
  ignd_python::bind_frames(module);
  ignd_python::bind_tables(module);
  ignd_python::bind_online(module);
  ignd_python::bind_losses(module);
  ignd_python::bind_trainers(module);
}
