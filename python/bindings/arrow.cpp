#include "frames.hpp"
#include "ignd/error.hpp"

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <limits>
#include <optional>
#include <span>
#include <string_view>
#include <utility>

// The C structures of Apache Arrow, as its specification prints them; whoever uses them copies them.
extern "C" {
struct ArrowSchema {
  const char* format;
  const char* name;
  const char* metadata;
  int64_t flags;
  int64_t n_children;
  ArrowSchema** children;
  ArrowSchema* dictionary;
  void (*release)(ArrowSchema*);
  void* private_data;
};
struct ArrowArray {
  int64_t length;
  int64_t null_count;
  int64_t offset;
  int64_t n_buffers;
  int64_t n_children;
  const void** buffers;
  ArrowArray** children;
  ArrowArray* dictionary;
  void (*release)(ArrowArray*);
  void* private_data;
};
struct ArrowArrayStream {
  int (*get_schema)(ArrowArrayStream*, ArrowSchema* out);
  int (*get_next)(ArrowArrayStream*, ArrowArray* out);
  const char* (*get_last_error)(ArrowArrayStream*);
  void (*release)(ArrowArrayStream*);
  void* private_data;
};
}

namespace ignd_python {
namespace {

using ignd::FrameColumn;

// A structure of Arrow's that is released with the last one who holds it.
template <class Structure>
std::shared_ptr<Structure> make_owned() {
  return {new Structure(), [](Structure* structure) {
            if (structure->release != nullptr) structure->release(structure);
            delete structure;
          }};
}

// What a column's type is to us.
struct Type {
  FrameColumn::Kind kind = FrameColumn::Kind::numbers;
  double (*number)(const void* data, std::int64_t row) = nullptr;
  std::string_view (*text)(const ArrowArray& array, std::int64_t row) = nullptr;
  std::int64_t units = 1;  // of dates: those in a second; negative: seconds in a unit
};

template <class T>
double number_at(const void* data, std::int64_t row) {
  return static_cast<double>(static_cast<const T*>(data)[row]);
}

bool bit_at(const void* bits, std::int64_t row) {
  return (static_cast<const std::uint8_t*>(bits)[row / 8] >> (row % 8) & 1) != 0;
}

template <class Offset>
std::string_view text_at(const ArrowArray& array, std::int64_t row) {
  const auto* offsets = static_cast<const Offset*>(array.buffers[1]) + row;
  return {static_cast<const char*>(array.buffers[2]) + offsets[0], static_cast<std::size_t>(offsets[1] - offsets[0])};
}

// Sixteen bytes each: a length and the text itself, or the number of a buffer and the place in it.
std::string_view text_in_view(const ArrowArray& array, std::int64_t row) {
  constexpr std::int32_t longest_inline = 12;
  const char* view = static_cast<const char*>(array.buffers[1]) + 16 * row;
  std::int32_t parts[4];
  std::memcpy(parts, view, sizeof parts);
  const auto size = static_cast<std::size_t>(parts[0]);
  if (parts[0] <= longest_inline) return {view + sizeof parts[0], size};
  return {static_cast<const char*>(array.buffers[2 + parts[2]]) + parts[3], size};
}

std::string_view truth_at(const ArrowArray& array, std::int64_t row) {
  return bit_at(array.buffers[1], row) ? "True" : "False";
}

std::optional<Type> timestamp_type(std::string_view format) {
  using Kind = FrameColumn::Kind;
  if (format == "tdD") return Type{.kind = Kind::dates, .number = number_at<std::int32_t>, .units = -86'400};
  if (format == "tdm") return Type{.kind = Kind::dates, .number = number_at<std::int64_t>, .units = 1'000};
  if (!format.starts_with("ts") || format.size() < 3) return std::nullopt;
  const std::int64_t units = format[2] == 's'   ? 1
                             : format[2] == 'm' ? 1'000
                             : format[2] == 'u' ? 1'000'000
                                                : 1'000'000'000;
  return Type{.kind = Kind::dates, .number = number_at<std::int64_t>, .units = units};
}

std::optional<Type> type_of(std::string_view format) {
  using Kind = FrameColumn::Kind;
  if (format == "g") return Type{.number = number_at<double>};
  if (format == "f") return Type{.number = number_at<float>};
  if (format == "l") return Type{.number = number_at<std::int64_t>};
  if (format == "L") return Type{.number = number_at<std::uint64_t>};
  if (format == "i") return Type{.number = number_at<std::int32_t>};
  if (format == "I") return Type{.number = number_at<std::uint32_t>};
  if (format == "s") return Type{.number = number_at<std::int16_t>};
  if (format == "S") return Type{.number = number_at<std::uint16_t>};
  if (format == "c") return Type{.number = number_at<std::int8_t>};
  if (format == "C") return Type{.number = number_at<std::uint8_t>};
  if (format == "b") return Type{.kind = Kind::texts, .text = truth_at};
  if (format == "u") return Type{.kind = Kind::texts, .text = text_at<std::int32_t>};
  if (format == "U") return Type{.kind = Kind::texts, .text = text_at<std::int64_t>};
  if (format == "vu") return Type{.kind = Kind::texts, .text = text_in_view};
  return timestamp_type(format);
}

// One column of all chunks of a stream, read where Arrow keeps it.
class ArrowColumn final : public FrameColumn {
 public:
  using Chunks = std::vector<std::shared_ptr<ArrowArray>>;

  ArrowColumn(const Chunks& chunks, std::size_t column, const Type& type, std::optional<Type> of_index)
      : type_(type), of_index_(of_index) {
    std::size_t end = 0;
    for (const auto& chunk : chunks) {
      arrays_.emplace_back(chunk, chunk->children[column]);
      parent_offsets_.push_back(chunk->offset);
      end += static_cast<std::size_t>(chunk->length);
      ends_.push_back(end);
    }
  }

  Kind kind() const override { return type_.kind; }

  void read(std::size_t first, std::span<double> values) const override {
    for (std::size_t i = 0; i < values.size(); ++i) {
      const auto [array, row] = find(first + i);
      values[i] = is_null(*array, row) ? std::numeric_limits<double>::quiet_NaN() : number(*array, row);
    }
  }

  std::optional<std::string_view> text(std::size_t row) const override {
    auto [array, at] = find(row);
    if (is_null(*array, at)) return std::nullopt;
    if (!of_index_) return type_.text(*array, at);
    const ArrowArray& names = *array->dictionary;
    at = static_cast<std::int64_t>(of_index_->number(array->buffers[1], at)) + names.offset;
    return is_null(names, at) ? std::nullopt : std::optional(type_.text(names, at));
  }

 private:
  // The chunk of a row, and the place in its buffers.
  std::pair<const ArrowArray*, std::int64_t> find(std::size_t row) const {
    std::size_t k = 0;
    if (ends_.size() > 1) k = static_cast<std::size_t>(std::ranges::upper_bound(ends_, row) - ends_.begin());
    const std::size_t begin = k == 0 ? 0 : ends_[k - 1];
    const ArrowArray* array = arrays_[k].get();
    return {array, static_cast<std::int64_t>(row - begin) + array->offset + parent_offsets_[k]};
  }

  static bool is_null(const ArrowArray& array, std::int64_t row) {
    return array.buffers[0] != nullptr && array.null_count != 0 && !bit_at(array.buffers[0], row);
  }

  double number(const ArrowArray& array, std::int64_t row) const {
    const double value = type_.number(array.buffers[1], row);
    if (type_.kind != Kind::dates) return value;
    if (type_.units < 0) return value * static_cast<double>(-type_.units);
    if (type_.units == 1) return value;
    const std::int64_t time = static_cast<const std::int64_t*>(array.buffers[1])[row];
    return static_cast<double>(time / type_.units) +
           static_cast<double>(time % type_.units) / static_cast<double>(type_.units);
  }

  Type type_;
  std::optional<Type> of_index_;  // of a dictionary's indices
  std::vector<std::shared_ptr<const ArrowArray>> arrays_;
  std::vector<std::int64_t> parent_offsets_;
  std::vector<std::size_t> ends_;
};

[[noreturn]] void refuse_stream(ArrowArrayStream& stream) {
  const char* error = stream.get_last_error != nullptr ? stream.get_last_error(&stream) : nullptr;
  throw ignd::FileError(std::string("the Arrow stream cannot be read: ") +
                        (error != nullptr ? error : "no reason given"));
}

}  // namespace

void add_arrow_stream(PythonFrame& frame, const nb::capsule& capsule) {
  if (std::string_view(capsule.name()) != "arrow_array_stream") {
    throw ignd::InvalidArgument("the capsule holds no Arrow stream");
  }
  auto& stream = *static_cast<ArrowArrayStream*>(capsule.data());
  if (stream.release == nullptr) throw ignd::InvalidArgument("the Arrow stream has been read already");
  const auto schema = make_owned<ArrowSchema>();
  if (stream.get_schema(&stream, schema.get()) != 0) refuse_stream(stream);
  if (std::string_view(schema->format) != "+s") throw ignd::InvalidArgument("the Arrow stream is no table");
  ArrowColumn::Chunks chunks;
  std::size_t rows = 0;
  while (true) {
    auto chunk = make_owned<ArrowArray>();
    if (stream.get_next(&stream, chunk.get()) != 0) refuse_stream(stream);
    if (chunk->release == nullptr) break;
    if (chunk->length == 0) continue;
    rows += static_cast<std::size_t>(chunk->length);
    chunks.push_back(std::move(chunk));
  }
  for (std::int64_t c = 0; c < schema->n_children; ++c) {
    const ArrowSchema& column = *schema->children[c];
    const bool indexed = column.dictionary != nullptr;
    const auto type = type_of(indexed ? column.dictionary->format : column.format);
    const auto of_index = indexed ? type_of(column.format) : std::nullopt;
    if (!type || (indexed && type->text == nullptr)) {
      throw ignd::InvalidArgument(std::string("the column '") + column.name + "' has the Arrow type '" + column.format +
                                  "', which is neither numbers nor texts nor dates; convert it, or leave it out");
    }
    frame.add(column.name, rows, std::make_shared<ArrowColumn>(chunks, static_cast<std::size_t>(c), *type, of_index));
  }
}

}  // namespace ignd_python
