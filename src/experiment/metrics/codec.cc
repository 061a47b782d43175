#include "experiment/metrics/codec.h"

#include <bit>
#include <string>
#include <type_traits>
#include <utility>

#include "base/overloaded.h"

namespace cadre::experiment::metrics {
namespace {

enum Tag : std::uint64_t { real = 0, whole = 1, truth = 2, text = 3 };

std::uint64_t zigzag(std::int64_t number) {
  return static_cast<std::uint64_t>(number) << 1 ^ static_cast<std::uint64_t>(number >> 63);
}
std::int64_t unzigzag(std::uint64_t number) { return static_cast<std::int64_t>(number >> 1 ^ (0 - (number & 1))); }

/// The difference of two numbers of which no difference fits into 63 bits wraps around, and back when it is added.
std::uint64_t difference(std::int64_t to, std::int64_t from) {
  return zigzag(static_cast<std::int64_t>(static_cast<std::uint64_t>(to) - static_cast<std::uint64_t>(from)));
}
std::int64_t sum_of(std::int64_t from, std::uint64_t difference) {
  return static_cast<std::int64_t>(static_cast<std::uint64_t>(from) + static_cast<std::uint64_t>(unzigzag(difference)));
}

class Writer {
 public:
  explicit Writer(Bytes& out) : out_(out) {}

  void natural(std::uint64_t number) {
    for (; number >= 0x80; number >>= 7) byte(number | 0x80);
    byte(number);
  }
  void real_number(double number) {
    const auto bits = std::bit_cast<std::uint64_t>(number);
    for (int shift = 0; shift < 64; shift += 8) byte(bits >> shift);
  }
  void value(std::uint64_t name_after, const MetricValue& value) {
    const auto tag = [&](Tag kind) { natural(name_after << 2 | kind); };
    std::visit(overloaded{[&](double number) { tag(real), real_number(number); },
                          [&](std::int64_t number) { tag(whole), natural(zigzag(number)); },
                          [&](bool is_true) { tag(truth), natural(is_true ? 1 : 0); },
                          [&](const std::string& words) {
                            tag(text), natural(words.size());
                            const BytesView view = as_bytes(words);
                            out_.insert(out_.end(), view.begin(), view.end());
                          }},
               value);
  }

 private:
  void byte(std::uint64_t bits) { out_.push_back(static_cast<std::byte>(bits & 0xff)); }

  Bytes& out_;
};

/// After a fault all that is read is 0, and is_broken().
class Cursor {
 public:
  explicit Cursor(BytesView bytes) : rest_(bytes) {}

  [[nodiscard]] bool has_more() const { return !is_broken_ && !rest_.empty(); }
  [[nodiscard]] bool is_broken() const { return is_broken_; }
  void fail() { is_broken_ = true; }

  std::uint64_t natural() {
    std::uint64_t number = 0;
    for (int shift = 0; shift < 64; shift += 7) {
      const BytesView one = take(1);
      if (one.empty()) return 0;
      const auto bits = std::to_integer<std::uint64_t>(one[0]);
      number |= (bits & 0x7f) << shift;
      if (bits < 0x80) return number;
    }
    is_broken_ = true;
    return 0;
  }
  double real_number() {
    const BytesView eight = take(8);
    std::uint64_t bits = 0;
    for (std::size_t i = 0; i < eight.size(); ++i) bits |= std::to_integer<std::uint64_t>(eight[i]) << (8 * i);
    return std::bit_cast<double>(bits);
  }
  MetricValue value(std::uint64_t tag) {
    switch (static_cast<Tag>(tag & 3)) {
      case real: return real_number();
      case whole: return unzigzag(natural());
      case truth: return natural() != 0;
      case text: break;
    }
    return std::string(as_text(take(natural())));
  }
  void skip_value(std::uint64_t tag) {
    if ((tag & 3) == real) {
      take(8);
    } else if ((tag & 3) == text) {
      take(natural());
    } else {
      natural();
    }
  }

 private:
  BytesView take(std::uint64_t count) {
    if (is_broken_ || count > rest_.size()) {
      is_broken_ = true;
      return {};
    }
    const BytesView taken = rest_.first(count);
    rest_ = rest_.subspan(count);
    return taken;
  }

  BytesView rest_;
  bool is_broken_ = false;
};

/// Calls `begin(report)` for each report, then `value(cursor, name, tag)` for each value, which reads or skips it.
template <class Begin, class Value>
Result<void> walk(BytesView bytes, Begin begin, Value value) {
  Cursor cursor(bytes);
  Report report;
  while (cursor.has_more()) {
    report.steps = sum_of(report.steps, cursor.natural());
    report.time_ms = sum_of(report.time_ms, cursor.natural());
    const std::uint64_t count = cursor.natural();
    begin(report);
    std::uint64_t name = 0;
    for (std::uint64_t i = 0; i < count && !cursor.is_broken(); ++i) {
      const std::uint64_t tag = cursor.natural();
      name += tag >> 2;
      if (name > 0xffff'ffff) cursor.fail();
      value(cursor, static_cast<NameNumber>(name), tag);
    }
  }
  if (cursor.is_broken()) return fail(Errc::corrupt, "stored metrics cannot be read: they end too early");
  return {};
}

}  // namespace

PackedReports::PackedReports(Bytes bytes, const std::vector<Report>& reports)
    : bytes_(std::move(bytes)), count_(reports.size()) {
  if (reports.empty()) return;
  last_steps_ = reports.back().steps;
  last_time_ms_ = reports.back().time_ms;
}

void PackedReports::add(const Report& report) {
  Writer writer(bytes_);
  writer.natural(difference(report.steps, last_steps_));
  writer.natural(difference(report.time_ms, last_time_ms_));
  writer.natural(report.values.size());
  NameNumber last = 0;
  for (const NumberedValue& value : report.values) {
    writer.value(value.name - last, value.value);
    last = value.name;
  }
  last_steps_ = report.steps;
  last_time_ms_ = report.time_ms;
  ++count_;
}

PackedReports pack(const std::vector<Report>& reports) {
  PackedReports packed;
  for (const Report& report : reports) packed.add(report);
  return packed;
}

Result<std::vector<Report>> unpack(BytesView bytes) {
  std::vector<Report> reports;
  TRY(walk(
      bytes,
      [&](const Report& head) {
        reports.push_back({head.steps, head.time_ms, {}});
      },
      [&](Cursor& cursor, NameNumber name, std::uint64_t tag) {
        reports.back().values.push_back({name, cursor.value(tag)});
      }));
  return reports;
}

Result<void> read_values(BytesView bytes, NameNumber name,
                         const std::function<void(std::int64_t, const MetricValue&)>& take) {
  std::int64_t steps = 0;
  return walk(
      bytes, [&](const Report& head) { steps = head.steps; },
      [&](Cursor& cursor, NameNumber one, std::uint64_t tag) {
        if (one != name) return cursor.skip_value(tag);
        const MetricValue value = cursor.value(tag);
        if (!cursor.is_broken()) take(steps, value);
      });
}

Bytes pack_summary(const Summary& summary) {
  Bytes bytes;
  Writer writer(bytes);
  NameNumber last = 0;
  for (const auto& [name, one] : summary.metrics) {
    const unsigned flags = (one.has_infinity ? 1U : 0U) | (one.has_minus_infinity ? 2U : 0U);
    writer.natural(name - last);
    writer.natural(one.values);
    writer.natural(one.not_finite << 2 | flags);
    writer.natural(one.finite);
    writer.natural(zigzag(one.first));
    writer.natural(difference(one.last, one.first));
    if (one.finite > 0) {
      writer.real_number(one.min);
      writer.real_number(one.max);
      writer.real_number(one.mean());
    }
    last = name;
  }
  return bytes;
}

Result<Summary> unpack_summary(BytesView bytes, std::optional<NameNumber> only) {
  Cursor cursor(bytes);
  Summary summary;
  std::uint64_t name = 0;
  while (cursor.has_more()) {
    name += cursor.natural();
    Aggregate one;
    one.values = cursor.natural();
    const std::uint64_t not_finite = cursor.natural();
    one.not_finite = not_finite >> 2;
    one.has_infinity = (not_finite & 1) != 0;
    one.has_minus_infinity = (not_finite & 2) != 0;
    one.finite = cursor.natural();
    one.first = unzigzag(cursor.natural());
    one.last = sum_of(one.first, cursor.natural());
    if (one.finite > 0) {
      one.min = cursor.real_number();
      one.max = cursor.real_number();
      one.sum = static_cast<long double>(cursor.real_number()) * static_cast<long double>(one.finite);
    }
    if (cursor.is_broken() || name > 0xffff'ffff) {
      return fail(Errc::corrupt, "a stored summary of metrics cannot be read: it ends too early");
    }
    if (!only || *only == name) summary.metrics.push_back({static_cast<NameNumber>(name), one});
    if (only && *only <= name) break;
  }
  return summary;
}

}  // namespace cadre::experiment::metrics
