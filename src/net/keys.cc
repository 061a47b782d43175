#include "net/keys.h"

#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include <zmq.h>

#include <array>
#include <cerrno>
#include <cstdint>
#include <optional>

#include "base/check.h"
#include "loop/file.h"

namespace cadre::net {
namespace {

constexpr std::size_t key_bytes = 32;
constexpr std::size_t key_characters = 40;
/// Part of the file format: files of released versions begin with this line, so it must not change.
constexpr std::string_view first_line = "cadre keys 1: CURVE, public then secret; show this file to nobody\n";
using Text = std::array<char, key_characters + 1>;  // with a NUL

struct File {
  explicit File(int fd) : number(fd) {}
  File(const File&) = delete;
  File& operator=(const File&) = delete;
  ~File() {
    if (number >= 0) close(number);
  }
  int number;
};

Failure system_failure(std::string_view what, const std::string& path) {
  const int number = errno;
  const Errc code = number == ENOENT ? Errc::not_found : number == EACCES ? Errc::denied : Errc::unavailable;
  return fail(code, std::string(what) + " " + path + ": " + strerrordesc_np(number));
}

/// Why a text is not a key; without the text, which may be a secret. Nothing when it is one.
std::optional<std::string> key_fault(std::string_view text) {
  constexpr std::string_view alphabet =
      "0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ.-:+=^!/*?&<>()[]{}@%$#";
  if (text.size() != key_characters) {
    return "a key has 40 characters (Z85), not " + std::to_string(text.size());
  }
  if (const std::size_t at = text.find_first_not_of(alphabet); at != std::string_view::npos) {
    return "character " + std::to_string(at + 1) + " of the key is not a Z85 character";
  }
  std::array<std::uint8_t, key_bytes> raw{};
  if (zmq_z85_decode(raw.data(), std::string(text).c_str()) == nullptr)
    return "the key is not Z85: a group is too large";
  explicit_bzero(raw.data(), raw.size());
  return std::nullopt;
}

/// Of a valid secret.
PublicKey public_of(const std::string& secret) {
  Text text{};
  CHECK(zmq_curve_public(text.data(), secret.c_str()) == 0);
  return parse_public_key(std::string_view(text.data(), key_characters)).value();
}

Result<std::string> read_private(const std::string& path) {
  const File file(open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NOCTTY | O_NONBLOCK));
  if (file.number < 0) return system_failure("cannot open the keys in", path);
  struct stat about {};
  if (fstat(file.number, &about) != 0) return system_failure("cannot look at", path);
  if (!S_ISREG(about.st_mode)) return fail(Errc::invalid, path + " is not a file; name the file that holds the keys");
  if ((about.st_mode & 077) != 0) {
    return fail(Errc::denied, "others may read or write the keys in " + path + "; chmod 600 " + path +
                                  ", and make new keys if others may have read them");
  }
  if (about.st_uid != geteuid() && about.st_uid != 0) {
    return fail(Errc::denied,
                "the keys in " + path + " belong to another user; chown the file or make keys of your own");
  }
  std::string text(first_line.size() + 4 * key_characters, '\0');
  const ssize_t size = read(file.number, text.data(), text.size());
  if (size < 0) return system_failure("cannot read the keys in", path);
  text.resize(static_cast<std::size_t>(size));
  return text;
}

}  // namespace

SecretKey& SecretKey::operator=(const SecretKey& other) {
  if (this == &other) return *this;
  explicit_bzero(text_.data(), text_.size());
  text_ = other.text_;
  return *this;
}

SecretKey::~SecretKey() { explicit_bzero(text_.data(), text_.size()); }

Result<PublicKey> parse_public_key(std::string_view text) {
  if (const auto fault = key_fault(text)) return fail(Errc::invalid, *fault);
  return PublicKey(std::string(text));
}

Keys make_keys() {
  Text open{};
  Text secret{};
  CHECK(zmq_curve_keypair(open.data(), secret.data()) == 0);  // fails only where libzmq was built without CURVE
  Keys keys{parse_public_key(std::string_view(open.data(), key_characters)).value(),
            SecretKey(std::string(secret.data(), key_characters))};
  explicit_bzero(secret.data(), secret.size());
  return keys;
}

Keys draw_keys(Dice& dice) {
  std::array<std::uint8_t, key_bytes> raw{};
  for (std::uint8_t& byte : raw) byte = static_cast<std::uint8_t>(dice.bits());
  Text text{};
  zmq_z85_encode(text.data(), raw.data(), raw.size());
  const std::string secret(text.data(), key_characters);
  return {public_of(secret), SecretKey(secret)};
}

Result<void> save_keys(const Keys& keys, const std::string& path) {
  struct stat about {};
  if (lstat(path.c_str(), &about) == 0) {
    return fail(Errc::conflict,
                "there is already a file " + path + "; move it away if its keys are not needed any more");
  }
  const SecretKey text(std::string(first_line) + keys.open.text() + "\n" + keys.secret.reveal() + "\n");
  auto written = loop::write_whole(path, as_bytes(text.reveal()));
  if (!written) return fail(written.error().code, "cannot write the keys: " + written.error().message);
  return {};
}

Result<Keys> load_keys(const std::string& path) {
  TRY_ASSIGN(text, read_private(path));
  const SecretKey held(std::move(text));
  std::string_view rest = held.reveal();
  constexpr std::size_t size = first_line.size() + 2 * (key_characters + 1);
  if (rest.size() != size || !rest.starts_with(first_line) || rest[first_line.size() + key_characters] != '\n' ||
      !rest.ends_with('\n')) {
    return fail(Errc::corrupt, path + " does not hold keys as cadre writes them; restore it, or make new ones");
  }
  rest.remove_prefix(first_line.size());
  const std::string_view open_text = rest.substr(0, key_characters);
  SecretKey secret(std::string(rest.substr(key_characters + 1, key_characters)));
  for (const std::string_view key : {open_text, std::string_view(secret.reveal())}) {
    if (const auto fault = key_fault(key)) return fail(Errc::corrupt, path + ": " + *fault);
  }
  if (public_of(secret.reveal()).text() != open_text) {
    return fail(Errc::corrupt, path + ": its two keys do not belong together; restore it, or make new ones");
  }
  return Keys{parse_public_key(open_text).value(), std::move(secret)};
}

}  // namespace cadre::net
