/// Encodes values of C++ types as MessagePack, and decodes them: numbers, text, vectors, arrays, maps, sets, optionals,
/// pairs, and structs that declare their fields once:
///
///   struct Batch { std::vector<double> x; int step = 0; };
///   template <class V> void describe(V& v, Batch& b) { v.field("x", b.x, "inputs"), v.field("step", b.step, "when"); }
///
/// Components and remote classes exchange such values, also with Python. Use each object from one thread at a time.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <span>
#include <stdexcept>
#include <string>
#include <string_view>
#include <tuple>
#include <type_traits>
#include <utility>
#include <vector>

namespace cadre {

/// A decoded value does not have the expected type: `.x[3]: is text, not a number`.
class ValueError : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

/// A contiguous array of numbers. As an argument of a call it is copied at most once on the way to another process of
/// the same host, and the receiver reads it without a further copy. Copies of an Array share its numbers. In Python it
/// is a numpy array. Messages between components keep its shape; calls of remote classes do not.
template <class T>
class Array {
  static_assert(std::is_arithmetic_v<T>);

 public:
  Array() = default;
  explicit Array(std::vector<T> numbers) : Array(std::move(numbers), {}) {}
  /// The numbers are in C order; an empty shape means one dimension. Throws ValueError if the shape does not match the
  /// number of numbers.
  Array(std::vector<T> numbers, std::vector<std::size_t> shape) : shape_(std::move(shape)) {
    auto kept = std::make_shared<std::vector<T>>(std::move(numbers));
    data_ = kept->data();
    size_ = kept->size();
    owner_ = std::move(kept);
    std::size_t count = 1;
    for (const std::size_t one : shape_) count *= one;
    if (!shape_.empty() && count != size_) throw ValueError("the size of an array differs from its shape");
  }
  Array(T* data, std::size_t size, std::shared_ptr<const void> owner, std::vector<std::size_t> shape = {})
      : data_(data), size_(size), owner_(std::move(owner)), shape_(std::move(shape)) {}
  T* data() const { return data_; }
  std::size_t size() const { return size_; }
  /// Size of each dimension.
  std::vector<std::size_t> shape() const { return shape_.empty() ? std::vector<std::size_t>{size_} : shape_; }
  T* begin() const { return data_; }
  T* end() const { return data_ + size_; }
  T& operator[](std::size_t i) const { return data_[i]; }

 private:
  T* data_ = nullptr;
  std::size_t size_ = 0;
  std::shared_ptr<const void> owner_;
  std::vector<std::size_t> shape_;
};

/// Encodes one value.
class ValueWriter {
 public:
  /// How arrays of numbers are encoded.
  enum class Rows : std::uint8_t {
    inside,  ///< as lists in the body, which every decoder can read
    apart,   ///< large arrays outside the body, as they are in memory
  };
  /// `lead`: number of bytes that precede the body at the receiver, so that the numbers of arrays are aligned there.
  explicit ValueWriter(Rows rows = Rows::inside, std::size_t lead = 0);
  ValueWriter(ValueWriter&&) noexcept;
  ~ValueWriter();

  void null();
  void truth(bool value);
  void number(std::int64_t value);
  void number(std::uint64_t value);
  void number(double value);
  void text(std::string_view value);
  void bytes(std::span<const std::byte> value);
  /// Begins a list; `size` values must follow.
  void list(std::size_t size);
  /// Begins a map; `size` pairs of a key and a value must follow. A key is key() or any other value.
  void map(std::size_t size);
  void key(std::string_view name) { text(name); }
  /// A value that is encoded already.
  void encoded(std::span<const std::byte> value);
  /// Begins a set; `size` values must follow, then close_set() with the number that this returns.
  [[nodiscard]] std::size_t open_set(std::size_t size);
  void close_set(std::size_t place);
  /// Numbers of one kind (f8, i4, b1, …) in C order; they are copied.
  void array(std::string_view kind, std::span<const std::size_t> shape, std::span<const std::byte> numbers);
  /// Numbers of one kind (f8, i4, …) that are not copied; they must stay in memory until the value is sent. Returns
  /// false if they must be written as a list.
  bool row(std::string_view kind, std::span<const std::byte> numbers);

  /// Keeps the numbers passed to row() alive as long as this writer.
  void keep(std::shared_ptr<const void> owner) { kept_.push_back(std::move(owner)); }

  std::string_view body() const;
  /// Moves the body out of the writer.
  std::vector<std::byte> take();
  std::span<const std::span<const std::byte>> parts() const { return parts_; }

 private:
  struct Inside;
  std::unique_ptr<Inside> inside_;
  Rows rows_;
  std::size_t lead_;
  std::vector<std::span<const std::byte>> parts_;
  std::vector<std::shared_ptr<const void>> kept_;
};

/// A view of one decoded value.
class ValueView {
 public:
  bool is_null() const;
  bool truth() const;
  std::int64_t signed_number() const;
  std::uint64_t unsigned_number() const;
  double real_number() const;
  std::string_view text() const;
  /// Number of elements of a list, map, set or array.
  std::size_t size() const;
  ValueView at(std::size_t index) const;
  /// The key at this index of a map.
  ValueView key(std::size_t index) const;
  std::string_view key_at(std::size_t index) const;
  /// The value of a key; null if there is none.
  ValueView find(std::string_view key) const;

  /// Numbers that were not sent as a list, and the owner of their memory.
  struct Row {
    std::span<std::byte> bytes;
    std::shared_ptr<const void> owner;
    std::vector<std::size_t> shape;
  };
  /// The numbers, if they were sent as an array of this kind. Returns nothing if they were sent as a list, or in the
  /// body as an array of another kind; read them with at(). Fails if they were sent outside the body and have another
  /// kind.
  std::optional<Row> row(std::string_view kind) const;

  [[noreturn]] void fail(const std::string& what) const;

 private:
  friend class ValueReader;
  ValueView(const class ValueReader& reader, const void* node, std::string path)
      : reader_(&reader), node_(node), path_(std::move(path)) {}
  /// The bytes of this number if it is an element of an array.
  const std::byte* element(char& kind, std::size_t& size) const;
  bool is_whole_array() const { return dimensions_ == 0; }
  std::string found() const;
  const class ValueReader* reader_;
  const void* node_;
  std::string path_;  // of this value, for error messages
  // If this is a part of an array: the number of indexed dimensions, and the offset of the part in numbers.
  std::size_t dimensions_ = 0;
  std::size_t offset_ = 0;
};

/// Decodes one value. Throws ValueError if the bytes are malformed. The bytes must outlive the reader.
class ValueReader {
 public:
  struct Part {
    std::span<std::byte> bytes;
    std::shared_ptr<const void> owner;
  };
  explicit ValueReader(std::span<const std::byte> body, std::vector<Part> parts = {});
  /// With an owner that keeps the body alive: arrays then refer to the body instead of a copy.
  ValueReader(std::span<const std::byte> body, std::shared_ptr<const void> owner);
  ValueReader(ValueReader&&) noexcept;
  ValueReader& operator=(ValueReader&&) noexcept;
  ~ValueReader();
  ValueView root() const;

 private:
  friend class ValueView;
  struct Inside;
  std::unique_ptr<Inside> inside_;
};

template <class T>
void write_value(ValueWriter& writer, const T& value);
template <class T>
T read_value(const ValueView& view);

namespace detail {

template <class T, template <class...> class Of>
struct IsOf : std::false_type {};
template <template <class...> class Of, class... Parts>
struct IsOf<Of<Parts...>, Of> : std::true_type {};
template <class T>
struct IsStdArray : std::false_type {};
template <class T, std::size_t n>
struct IsStdArray<std::array<T, n>> : std::true_type {};

template <class T>
constexpr bool is_row = std::is_arithmetic_v<T> && !std::is_same_v<T, bool>;

/// Counts the fields of a described struct.
struct FieldCounter {
  std::size_t count = 0;
  template <class... Rest>
  void field(Rest&&...) {
    ++count;
  }
  template <class... Rest>
  void required(Rest&&...) {
    ++count;
  }
  template <class... Rest>
  void check(Rest&&...) {}
};

struct FieldWriter {
  ValueWriter& writer;
  template <class T, class... Rest>
  void field(std::string_view name, const T& value, Rest&&...) {
    writer.key(name);
    write_value(writer, value);
  }
  template <class T, class... Rest>
  void required(std::string_view name, const T& value, Rest&&...) {
    field(name, value);
  }
  template <class... Rest>
  void check(Rest&&...) {}
};

struct FieldReader {
  const ValueView& view;
  template <class T, class... Rest>
  void field(std::string_view name, T& value, Rest&&...) {
    const ValueView found = view.find(name);
    if (!found.is_null()) value = read_value<T>(found);
  }
  template <class T, class... Rest>
  void required(std::string_view name, T& value, Rest&&...) {
    const ValueView found = view.find(name);
    if (found.is_null()) view.fail("has no " + std::string(name));
    value = read_value<T>(found);
  }
  template <class... Rest>
  void check(Rest&&...) {}
};

template <class T>
concept Described = requires(FieldCounter& v, T& value) {
  describe(v, value);
};

/// For example f8 for a double and i4 for a signed integer of four bytes.
template <class T>
std::string kind_of() {
  if (std::is_same_v<T, bool>) return "b1";
  return (std::is_floating_point_v<T> ? "f" : std::is_signed_v<T> ? "i" : "u") + std::to_string(sizeof(T));
}

template <class Row>
void write_row(ValueWriter& writer, const Row& numbers) {
  using Number = std::remove_cvref_t<decltype(*numbers.data())>;
  const auto bytes = std::as_bytes(std::span(numbers.data(), numbers.size()));
  if (writer.row(kind_of<Number>(), bytes)) return;
  if constexpr (IsOf<Row, Array>::value) return writer.array(kind_of<Number>(), numbers.shape(), bytes);
  writer.list(numbers.size());
  for (const auto& one : numbers) write_value(writer, one);
}

template <class Number>
Number read_number(const ValueView& view) {
  if constexpr (std::is_floating_point_v<Number>) {
    return static_cast<Number>(view.real_number());
  } else if constexpr (std::is_unsigned_v<Number>) {
    const std::uint64_t number = view.unsigned_number();
    if (number > std::numeric_limits<Number>::max()) view.fail("is a number that is too large");
    return static_cast<Number>(number);
  } else {
    const std::int64_t number = view.signed_number();
    if (number < std::numeric_limits<Number>::min() || number > std::numeric_limits<Number>::max()) {
      view.fail("is a number that is too large");
    }
    return static_cast<Number>(number);
  }
}

/// The numbers of an array that was not sent as a list.
template <class T>
std::optional<Array<T>> numbers_of(const ValueView& view) {
  std::optional<ValueView::Row> row = view.row(kind_of<T>());
  if (!row) return std::nullopt;
  if (row->bytes.size() % sizeof(T) != 0) view.fail("is an array of numbers of another type");
  return Array<T>(reinterpret_cast<T*>(row->bytes.data()), row->bytes.size() / sizeof(T), std::move(row->owner),
                  std::move(row->shape));
}

template <class T>
struct ReadTuple;
template <template <class...> class Tuple, class... Parts>
struct ReadTuple<Tuple<Parts...>> {
  template <std::size_t... i>
  static Tuple<Parts...> read(const ValueView& view, std::index_sequence<i...>) {
    return {read_value<Parts>(view.at(i))...};
  }
};

}  // namespace detail

template <class T>
void write_value(ValueWriter& writer, const T& value) {
  if constexpr (std::is_same_v<T, bool>) {
    writer.truth(value);
  } else if constexpr (std::is_floating_point_v<T>) {
    writer.number(static_cast<double>(value));
  } else if constexpr (std::is_unsigned_v<T>) {
    writer.number(static_cast<std::uint64_t>(value));
  } else if constexpr (std::is_integral_v<T> || std::is_enum_v<T>) {
    writer.number(static_cast<std::int64_t>(value));
  } else if constexpr (std::is_convertible_v<T, std::string_view>) {
    writer.text(value);
  } else if constexpr (detail::IsOf<T, std::optional>::value) {
    value ? write_value(writer, *value) : writer.null();
  } else if constexpr (detail::IsOf<T, Array>::value) {
    detail::write_row(writer, value);
  } else if constexpr (detail::IsOf<T, std::vector>::value || detail::IsStdArray<T>::value) {
    if constexpr (detail::is_row<typename T::value_type>) return detail::write_row(writer, value);
    writer.list(value.size());
    for (const typename T::value_type& one : value) write_value<typename T::value_type>(writer, one);
  } else if constexpr (detail::IsOf<T, std::map>::value) {
    writer.map(value.size());
    for (const auto& [key, one] : value) write_value(writer, key), write_value(writer, one);
  } else if constexpr (detail::IsOf<T, std::set>::value) {
    const std::size_t place = writer.open_set(value.size());
    for (const typename T::value_type& one : value) write_value(writer, one);
    writer.close_set(place);
  } else if constexpr (detail::IsOf<T, std::pair>::value || detail::IsOf<T, std::tuple>::value) {
    writer.list(std::tuple_size_v<T>);
    std::apply([&writer](const auto&... parts) { (write_value(writer, parts), ...); }, value);
  } else {
    static_assert(detail::Described<T>, "declare its fields: template <class V> void describe(V& v, T& value)");
    detail::FieldCounter counter;
    auto& fields = const_cast<T&>(value);  // describe() takes a mutable reference, for reading and for writing
    describe(counter, fields);
    writer.map(counter.count);
    detail::FieldWriter visitor{writer};
    describe(visitor, fields);
  }
}

template <class T>
T read_value(const ValueView& view) {
  if constexpr (std::is_same_v<T, bool>) {
    return view.truth();
  } else if constexpr (std::is_enum_v<T>) {
    return static_cast<T>(view.signed_number());
  } else if constexpr (std::is_arithmetic_v<T>) {
    return detail::read_number<T>(view);
  } else if constexpr (std::is_same_v<T, std::string>) {
    return std::string(view.text());
  } else if constexpr (detail::IsOf<T, std::optional>::value) {
    if (view.is_null()) return std::nullopt;
    return read_value<typename T::value_type>(view);
  } else if constexpr (detail::IsOf<T, Array>::value) {
    using Number = std::remove_pointer_t<decltype(std::declval<T>().data())>;
    if (auto numbers = detail::numbers_of<Number>(view)) return *std::move(numbers);
    return T(read_value<std::vector<Number>>(view));
  } else if constexpr (detail::IsOf<T, std::vector>::value) {
    using Item = typename T::value_type;
    if constexpr (detail::is_row<Item>) {
      const auto numbers = detail::numbers_of<Item>(view);
      if (numbers && numbers->shape().size() == 1) return T(numbers->begin(), numbers->end());
    }
    T made;
    made.reserve(view.size());
    for (std::size_t i = 0; i < view.size(); ++i) made.push_back(read_value<Item>(view.at(i)));
    return made;
  } else if constexpr (detail::IsStdArray<T>::value) {
    const auto all = read_value<std::vector<typename T::value_type>>(view);
    T made{};
    if (all.size() != made.size()) view.fail("has another length");
    std::copy(all.begin(), all.end(), made.begin());
    return made;
  } else if constexpr (detail::IsOf<T, std::map>::value) {
    T made;
    for (std::size_t i = 0; i < view.size(); ++i) {
      made.emplace(read_value<typename T::key_type>(view.key(i)), read_value<typename T::mapped_type>(view.at(i)));
    }
    return made;
  } else if constexpr (detail::IsOf<T, std::set>::value) {
    T made;
    for (std::size_t i = 0; i < view.size(); ++i) made.insert(read_value<typename T::value_type>(view.at(i)));
    return made;
  } else if constexpr (detail::IsOf<T, std::pair>::value || detail::IsOf<T, std::tuple>::value) {
    if (view.size() != std::tuple_size_v<T>) view.fail("has another length");
    return detail::ReadTuple<T>::read(view, std::make_index_sequence<std::tuple_size_v<T>>());
  } else {
    static_assert(detail::Described<T>, "declare its fields: template <class V> void describe(V& v, T& value)");
    T made{};
    detail::FieldReader visitor{view};
    describe(visitor, made);
    return made;
  }
}

}  // namespace cadre
