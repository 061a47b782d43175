#include "cli/experiment/event_records.h"

#include <array>
#include <bit>
#include <chrono>
#include <concepts>
#include <limits>
#include <optional>

#include "describe/describe.h"

namespace cadre::cli {
namespace {

using experiment::requests::StoredReport;

constexpr std::array<std::uint32_t, 256> crc32c_table = [] {
  constexpr std::uint32_t reversed_polynomial = 0x82f63b78;
  std::array<std::uint32_t, 256> table{};
  for (std::uint32_t byte = 0; byte < table.size(); ++byte) {
    std::uint32_t rest = byte;
    for (int bit = 0; bit < 8; ++bit) rest = (rest & 1) != 0 ? rest >> 1 ^ reversed_polynomial : rest >> 1;
    table[byte] = rest;
  }
  return table;
}();

/// Readers expect this form, so that the checksum of data that contains checksums stays useful.
std::uint32_t masked_crc32c(std::string_view text) {
  constexpr std::uint32_t mask_delta = 0xa282ead8;
  return std::rotr(crc32c(as_bytes(text)), 15) + mask_delta;
}

template <std::unsigned_integral T>
void add_little_endian(std::string& text, T number) {
  for (std::size_t i = 0; i < sizeof(T); ++i) text += static_cast<char>(number >> (8 * i) & 0xff);
}

/// A message in the wire format of protocol buffers.
class ProtobufMessage {
 public:
  ProtobufMessage& whole(std::uint32_t field, std::int64_t number) {
    key(field, WireType::varint);
    varint(static_cast<std::uint64_t>(number));
    return *this;
  }
  ProtobufMessage& real64(std::uint32_t field, double number) {
    key(field, WireType::fixed64);
    add_little_endian(text_, std::bit_cast<std::uint64_t>(number));
    return *this;
  }
  ProtobufMessage& real32(std::uint32_t field, float number) {
    key(field, WireType::fixed32);
    add_little_endian(text_, std::bit_cast<std::uint32_t>(number));
    return *this;
  }
  ProtobufMessage& bytes(std::uint32_t field, std::string_view bytes) {
    key(field, WireType::bytes);
    varint(bytes.size());
    text_ += bytes;
    return *this;
  }
  ProtobufMessage& message(std::uint32_t field, const ProtobufMessage& inner) { return bytes(field, inner.text_); }

  const std::string& text() const { return text_; }

 private:
  enum class WireType : std::uint8_t { varint = 0, fixed64 = 1, bytes = 2, fixed32 = 5 };

  void key(std::uint32_t field, WireType type) { varint(field << 3 | static_cast<std::uint32_t>(type)); }
  void varint(std::uint64_t number) {
    for (; number >= 0x80; number >>= 7) text_ += static_cast<char>((number & 0x7f) | 0x80);
    text_ += static_cast<char>(number);
  }

  std::string text_;
};

// Numbers of fields, from event.proto, summary.proto, tensor.proto and tensor_shape.proto of TensorFlow.
namespace event_field {
constexpr std::uint32_t wall_time = 1, step = 2, file_version = 3, summary = 5;
}
namespace summary_field {
constexpr std::uint32_t value = 1;
}
namespace value_field {
constexpr std::uint32_t tag = 1, simple_value = 2, tensor = 8, metadata = 9;
}
namespace metadata_field {
constexpr std::uint32_t plugin_data = 1;
}
namespace plugin_field {
constexpr std::uint32_t name = 1;
}
namespace tensor_field {
constexpr std::uint32_t type = 1, shape = 2, string_value = 8;
}
namespace shape_field {
constexpr std::uint32_t dimension = 2;
}
namespace dimension_field {
constexpr std::uint32_t size = 1;
}
constexpr std::int64_t string_tensor_type = 7;

ProtobufMessage event_at(TimePoint time) {
  ProtobufMessage event;
  event.real64(event_field::wall_time, std::chrono::duration<double>(time.time_since_epoch()).count());
  return event;
}

std::optional<float> scalar_of(const describe::Value& value) {
  if (const auto* truth = value.as<bool>()) return *truth ? 1.0F : 0.0F;
  const auto number = describe::read<double>(value);
  if (!number) return std::nullopt;
  constexpr double most = std::numeric_limits<float>::max();
  if (*number > most) return std::numeric_limits<float>::infinity();
  if (*number < -most) return -std::numeric_limits<float>::infinity();
  return static_cast<float>(*number);
}

/// Adds the numbers; those of inner maps with their names joined by dots.
void add_scalars(ProtobufMessage& summary, const std::string& tag, char separator, const describe::Value& value) {
  if (const auto* map = value.as<describe::Value::Map>()) {
    for (const describe::Entry& entry : *map) add_scalars(summary, tag + separator + entry.key, '.', entry.value);
    return;
  }
  const std::optional<float> scalar = scalar_of(value);
  if (!scalar) return;
  ProtobufMessage one;
  one.bytes(value_field::tag, tag).real32(value_field::simple_value, *scalar);
  summary.message(summary_field::value, one);
}

/// A cell of a table in Markdown.
std::string markdown_cell(const std::string& text) {
  std::string cell;
  for (const char c : text) {
    if (c == '|' || c == '\\') cell += '\\';
    cell += c == '\n' || c == '\r' ? ' ' : c;
  }
  return cell;
}

}  // namespace

std::uint32_t crc32c(BytesView bytes) {
  std::uint32_t rest = 0xffffffff;
  for (const std::byte byte : bytes)
    rest = rest >> 8 ^ crc32c_table[(rest ^ std::to_integer<std::uint32_t>(byte)) & 0xff];
  return ~rest;
}

std::string event_record(std::string_view data) {
  std::string record;
  record.reserve(data.size() + 16);
  add_little_endian(record, std::uint64_t{data.size()});
  add_little_endian(record, masked_crc32c(record));
  record += data;
  add_little_endian(record, masked_crc32c(data));
  return record;
}

std::string version_record(TimePoint time) {
  return event_record(event_at(time).bytes(event_field::file_version, "brain.Event:2").text());
}

std::string hyperparameters_record(TimePoint time, const std::map<std::string, std::string>& values) {
  if (values.empty()) return "";
  std::string table = "| hyperparameter | value |\n|---|---|\n";
  for (const auto& [name, value] : values) table += "| " + markdown_cell(name) + " | " + markdown_cell(value) + " |\n";
  ProtobufMessage dimension;
  dimension.whole(dimension_field::size, 1);
  ProtobufMessage shape;
  shape.message(shape_field::dimension, dimension);
  ProtobufMessage tensor;
  tensor.whole(tensor_field::type, string_tensor_type).message(tensor_field::shape, shape);
  tensor.bytes(tensor_field::string_value, table);
  ProtobufMessage plugin;
  plugin.bytes(plugin_field::name, "text");
  ProtobufMessage metadata;
  metadata.message(metadata_field::plugin_data, plugin);
  ProtobufMessage value;
  value.bytes(value_field::tag, "hyperparameters/text_summary").message(value_field::tensor, tensor);
  value.message(value_field::metadata, metadata);
  ProtobufMessage summary;
  summary.message(summary_field::value, value);
  return event_record(event_at(time).message(event_field::summary, summary).text());
}

std::string scalars_record(const StoredReport& report) {
  ProtobufMessage summary;
  add_scalars(summary, report.group, '/', report.metrics);
  if (summary.text().empty()) return "";
  ProtobufMessage event = event_at(report.time.value_or(TimePoint{}));
  event.whole(event_field::step, report.steps).message(event_field::summary, summary);
  return event_record(event.text());
}

}  // namespace cadre::cli
