#include "net/http/tls.h"

#include <openssl/bio.h>
#include <openssl/err.h>
#include <openssl/ssl.h>

#include <algorithm>
#include <utility>

#include "base/check.h"

namespace cadre::net::http {

namespace {

struct Free {
  void operator()(SSL_CTX* context) const { SSL_CTX_free(context); }
  void operator()(SSL* ssl) const { SSL_free(ssl); }
};

constexpr unsigned char http_1_1[] = {8, 'h', 't', 't', 'p', '/', '1', '.', '1'};

/// Agrees on HTTP/1.1 with who offers a choice.
int choose_protocol(SSL*, const unsigned char** out, unsigned char* size, const unsigned char* in, unsigned int in_size,
                    void*) {
  unsigned char* chosen = nullptr;
  const int found = SSL_select_next_proto(&chosen, size, http_1_1, sizeof http_1_1, in, in_size);
  *out = chosen;
  return found == OPENSSL_NPN_NEGOTIATED ? SSL_TLSEXT_ERR_OK : SSL_TLSEXT_ERR_NOACK;
}

/// A key that needs a password is refused; else OpenSSL would ask the terminal.
int no_password(char*, int, int, void*) { return -1; }

Failure openssl_failure(const std::string& what) {
  char text[256] = "unknown error";
  if (const unsigned long code = ERR_get_error(); code != 0) ERR_error_string_n(code, text, sizeof text);
  ERR_clear_error();
  return fail(Errc::invalid, what + ": " + text);
}

}  // namespace

struct TlsContext::Inside {
  explicit Inside(const SSL_METHOD* method) : context(SSL_CTX_new(method)) { CHECK(context); }
  std::unique_ptr<SSL_CTX, Free> context;
  std::string name;  // of a caller with a key
  FindKey find;
};

TlsContext::TlsContext(std::unique_ptr<Inside> inside) : inside_(std::move(inside)) {}
TlsContext::~TlsContext() = default;

Result<std::unique_ptr<TlsContext>> TlsContext::load(const Tls& files) {
  auto inside = std::make_unique<Inside>(TLS_server_method());
  SSL_CTX* const context = inside->context.get();
  ERR_clear_error();
  SSL_CTX_set_min_proto_version(context, TLS1_2_VERSION);
  SSL_CTX_set_options(context, SSL_OP_NO_RENEGOTIATION | SSL_OP_NO_COMPRESSION | SSL_OP_CIPHER_SERVER_PREFERENCE);
  SSL_CTX_set_mode(context, SSL_MODE_RELEASE_BUFFERS);          // an idle connection keeps no buffers
  SSL_CTX_set_session_cache_mode(context, SSL_SESS_CACHE_OFF);  // who returns brings a ticket
  SSL_CTX_set_default_passwd_cb(context, no_password);
  SSL_CTX_set_alpn_select_cb(context, choose_protocol, nullptr);
  if (SSL_CTX_use_certificate_chain_file(context, files.certificates.c_str()) != 1) {
    return openssl_failure("cannot use the certificates in " + files.certificates);
  }
  if (SSL_CTX_use_PrivateKey_file(context, files.key.c_str(), SSL_FILETYPE_PEM) != 1) {
    return openssl_failure("cannot use the key in " + files.key);
  }
  if (SSL_CTX_check_private_key(context) != 1) {
    return openssl_failure("the key in " + files.key + " is not that of " + files.certificates);
  }
  return std::unique_ptr<TlsContext>(new TlsContext(std::move(inside)));
}

Result<std::unique_ptr<TlsContext>> TlsContext::trust(const std::string& ca_file) {
  auto inside = std::make_unique<Inside>(TLS_client_method());
  SSL_CTX* const context = inside->context.get();
  ERR_clear_error();
  SSL_CTX_set_min_proto_version(context, TLS1_2_VERSION);
  SSL_CTX_set_options(context, SSL_OP_NO_RENEGOTIATION | SSL_OP_NO_COMPRESSION);
  SSL_CTX_set_verify(context, SSL_VERIFY_PEER, nullptr);
  const int loaded =
      ca_file.empty() ? SSL_CTX_set_default_verify_paths(context) : SSL_CTX_load_verify_file(context, ca_file.c_str());
  if (loaded != 1) return openssl_failure("cannot use the certificates in " + ca_file);
  return std::unique_ptr<TlsContext>(new TlsContext(std::move(inside)));
}

namespace {

/// As OpenSSL takes a key that both sides know.
SSL_SESSION* session_with(SSL* ssl, const TlsContext::Key& key) {
  constexpr unsigned char aes_128_gcm_sha256[] = {0x13, 0x01};
  SSL_SESSION* const session = SSL_SESSION_new();
  const SSL_CIPHER* const cipher = SSL_CIPHER_find(ssl, aes_128_gcm_sha256);
  CHECK(session != nullptr && cipher != nullptr);
  CHECK(SSL_SESSION_set1_master_key(session, reinterpret_cast<const unsigned char*>(key.data()), key.size()) == 1);
  CHECK(SSL_SESSION_set_cipher(session, cipher) == 1);
  CHECK(SSL_SESSION_set_protocol_version(session, TLS1_3_VERSION) == 1);
  return session;
}

TlsContext::FindKey& keys_of(SSL* ssl) {
  return *static_cast<TlsContext::FindKey*>(SSL_CTX_get_app_data(SSL_get_SSL_CTX(ssl)));
}

int use_key(SSL* ssl, const EVP_MD* digest, const unsigned char** name, std::size_t* name_size, SSL_SESSION** session) {
  *session = nullptr;
  if (digest != nullptr && EVP_MD_get_type(digest) != NID_sha256) return 1;  // not with our key
  const auto* own = static_cast<const std::string*>(SSL_get_app_data(ssl));
  *name = reinterpret_cast<const unsigned char*>(own->data());
  *name_size = own->size();
  *session = session_with(ssl, *keys_of(ssl)(*own));
  return 1;
}

int find_key(SSL* ssl, const unsigned char* name, std::size_t name_size, SSL_SESSION** session) {
  *session = nullptr;
  const auto key = keys_of(ssl)(std::string_view(reinterpret_cast<const char*>(name), name_size));
  if (key) *session = session_with(ssl, *key);
  return 1;
}

void use_keys_only(SSL_CTX* context) {
  SSL_CTX_set_min_proto_version(context, TLS1_3_VERSION);
  SSL_CTX_set_ciphersuites(context, "TLS_AES_128_GCM_SHA256");
  SSL_CTX_set_options(context, SSL_OP_NO_TICKET);
  SSL_CTX_set_num_tickets(context, 0);
  SSL_CTX_set_session_cache_mode(context, SSL_SESS_CACHE_OFF);
}

}  // namespace

std::unique_ptr<TlsContext> TlsContext::with_key(std::string name, const Key& key) {
  auto inside = std::make_unique<Inside>(TLS_client_method());
  inside->name = std::move(name);
  inside->find = [key](std::string_view) { return std::optional(key); };
  SSL_CTX* const context = inside->context.get();
  use_keys_only(context);
  SSL_CTX_set_verify(context, SSL_VERIFY_PEER, nullptr);  // no certificate is believed in the key's place
  SSL_CTX_set_app_data(context, &inside->find);
  SSL_CTX_set_psk_use_session_callback(context, use_key);
  return std::unique_ptr<TlsContext>(new TlsContext(std::move(inside)));
}

std::unique_ptr<TlsContext> TlsContext::with_keys(FindKey find) {
  auto inside = std::make_unique<Inside>(TLS_server_method());
  inside->find = std::move(find);
  SSL_CTX* const context = inside->context.get();
  use_keys_only(context);
  SSL_CTX_set_app_data(context, &inside->find);
  SSL_CTX_set_psk_find_session_callback(context, find_key);
  return std::unique_ptr<TlsContext>(new TlsContext(std::move(inside)));
}

struct TlsSession::Inside {
  std::unique_ptr<SSL, Free> ssl;
  BIO* in = nullptr;  // both belong to ssl
  BIO* out = nullptr;
};

TlsSession::TlsSession(const TlsContext& context, Side side) : inside_(std::make_unique<Inside>()) {
  set_up(context);
  SSL* const ssl = inside_->ssl.get();
  SSL_set_app_data(ssl, &context.inside_->name);
  side == Side::caller ? SSL_set_connect_state(ssl) : SSL_set_accept_state(ssl);
}

TlsSession::TlsSession(const TlsContext& context, const std::string& host) : inside_(std::make_unique<Inside>()) {
  set_up(context);
  SSL* const ssl = inside_->ssl.get();
  SSL_set_connect_state(ssl);
  X509_VERIFY_PARAM* const wanted = SSL_get0_param(ssl);
  if (X509_VERIFY_PARAM_set1_ip_asc(wanted, host.c_str()) != 1) {  // no address
    CHECK(SSL_set1_host(ssl, host.c_str()) == 1);
    SSL_set_tlsext_host_name(ssl, host.c_str());
  }
  ERR_clear_error();
}

void TlsSession::set_up(const TlsContext& context) {
  inside_->ssl.reset(SSL_new(context.inside_->context.get()));
  inside_->in = BIO_new(BIO_s_mem());
  inside_->out = BIO_new(BIO_s_mem());
  CHECK(inside_->ssl && inside_->in != nullptr && inside_->out != nullptr);
  SSL_set_bio(inside_->ssl.get(), inside_->in, inside_->out);
}

void TlsSession::begin(std::string& out) {
  SSL_do_handshake(inside_->ssl.get());
  ERR_clear_error();
  move_out(out);
}

std::string TlsSession::distrust() const {
  const long verdict = SSL_get_verify_result(inside_->ssl.get());
  return verdict == X509_V_OK ? "" : X509_verify_cert_error_string(verdict);
}

TlsSession::~TlsSession() = default;

void TlsSession::move_out(std::string& out) {
  char* data = nullptr;
  const long size = BIO_get_mem_data(inside_->out, &data);
  if (size > 0) out.append(data, static_cast<std::size_t>(size));
  BIO_reset(inside_->out);
}

void TlsSession::take(std::string_view coded, std::string& plain, std::string& out) {
  if (state_ == State::ended || state_ == State::failed) return;
  ERR_clear_error();
  SSL* const ssl = inside_->ssl.get();
  CHECK(BIO_write(inside_->in, coded.data(), static_cast<int>(coded.size())) == static_cast<int>(coded.size()));
  while (true) {
    char piece[16 << 10];                                 // as much as a record of TLS holds
    const int size = SSL_read(ssl, piece, sizeof piece);  // shakes hands first
    if (size > 0) {
      plain.append(piece, static_cast<std::size_t>(size));
      continue;
    }
    const int why = SSL_get_error(ssl, size);
    if (state_ == State::shaking && SSL_is_init_finished(ssl) == 1) state_ = State::open;
    if (why == SSL_ERROR_ZERO_RETURN) {
      state_ = State::ended;
    } else if (why != SSL_ERROR_WANT_READ) {
      state_ = State::failed;
    }
    break;
  }
  ERR_clear_error();
  move_out(out);
}

void TlsSession::put(std::string_view plain, std::string& out) {
  constexpr std::size_t slice = 1 << 20;  // what is kept in between has a bound
  for (; !plain.empty() && (state_ == State::open || state_ == State::ended);
       plain.remove_prefix(std::min(slice, plain.size()))) {
    ERR_clear_error();
    std::size_t written = 0;
    const std::size_t size = std::min(slice, plain.size());
    if (SSL_write_ex(inside_->ssl.get(), plain.data(), size, &written) != 1) state_ = State::failed;
    ERR_clear_error();
    move_out(out);
  }
}

void TlsSession::end(std::string& out) {
  if (state_ != State::open && state_ != State::ended) return;
  ERR_clear_error();
  SSL_shutdown(inside_->ssl.get());
  ERR_clear_error();
  move_out(out);
}

}  // namespace cadre::net::http
