#include "models/onednn_program.hpp"

#include <algorithm>

namespace ignd {

// Each run has its own scratchpad, so that any number of threads can share the primitives.
dnnl::primitive_attr OnednnProgram::attributes() {
  dnnl::primitive_attr attributes;
  attributes.set_scratchpad_mode(dnnl::scratchpad_mode::user);
  return attributes;
}

OnednnProgram::Buffer OnednnProgram::add_buffer(const Desc& desc, Home home, std::size_t offset) {
  places_.push_back({desc, home, offset});
  return places_.size() - 1;
}

void OnednnProgram::add(Operations& operations, const dnnl::primitive_desc_base& primitive, Arguments arguments) {
  operations.push_back({dnnl::primitive(primitive.get()), std::move(arguments)});
  scratchpad_size_ = std::max(scratchpad_size_, primitive.scratchpad_desc().get_size());
}

OnednnProgram::Buffer OnednnProgram::in_layout(Operations& operations, Buffer buffer, const Desc& wanted) {
  if (desc(buffer) == wanted) return buffer;
  const Buffer other = add_buffer(wanted);
  add(operations, dnnl::reorder::primitive_desc(engine_, desc(buffer), engine_, wanted, attributes()),
      {{DNNL_ARG_FROM, buffer}, {DNNL_ARG_TO, other}});
  return other;
}

void OnednnProgram::deliver(Operations& operations, Buffer buffer, const Desc& wanted, Home home, std::size_t offset) {
  Place& place = places_[in_layout(operations, buffer, wanted)];
  place.home = home;
  place.offset = offset;
}

OnednnRun::OnednnRun(const OnednnProgram& program) : program_(&program), stream_(program.engine_) {
  const auto add_memory = [&](const dnnl::memory::desc& desc) {
    numbers_.emplace_back(desc.get_size());
    return dnnl::memory(desc, program.engine_, numbers_.back().data());
  };
  for (const auto& place : program.places_) {
    memories_.push_back(place.home == Home::run ? add_memory(place.desc)
                                                : dnnl::memory(place.desc, program.engine_, DNNL_MEMORY_NONE));
  }
  scratchpad_ = add_memory({{static_cast<dnnl::memory::dim>(program.scratchpad_size_ + 1)},
                            dnnl::memory::data_type::u8,
                            dnnl::memory::format_tag::x});
  for (const auto& operation : program.forward) forward_.push_back(bind(operation));
  for (const auto& operation : program.backward) backward_.push_back(bind(operation));
}

OnednnRun::Call OnednnRun::bind(const OnednnProgram::Operation& operation) const {
  Call call{operation.primitive.get(), {{DNNL_ARG_SCRATCHPAD, scratchpad_.get()}}};
  for (const auto& [name, buffer] : operation.arguments) call.arguments.push_back({name, memories_[buffer].get()});
  return call;
}

void OnednnRun::lend(Home home, const float* numbers) {
  for (std::size_t k = 0; k < memories_.size(); ++k) {
    const auto& place = program_->places_[k];
    // oneDNN has no read-only memory.
    if (place.home == home) memories_[k].set_data_handle(const_cast<float*>(numbers) + place.offset, stream_);
  }
}

// Through the C interface: the C++ one allocates an array for every call.
void OnednnRun::execute(const std::vector<Call>& calls, std::size_t count) {
  for (std::size_t k = 0; k < count; ++k) {
    const auto& [primitive, arguments] = calls[k];
    dnnl::error::wrap_c_api(
        dnnl_primitive_execute(primitive, stream_.get(), static_cast<int>(arguments.size()), arguments.data()),
        "a primitive failed");
  }
  stream_.wait();
}

}  // namespace ignd
