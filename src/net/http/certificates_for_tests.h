/// For tests: certificates and their keys, signed by each other as real ones are. One thread at a time.
#pragma once

#include <openssl/evp.h>
#include <openssl/pem.h>
#include <openssl/x509v3.h>

#include <cstdio>
#include <memory>
#include <stdexcept>
#include <string>
#include <vector>

namespace cadre::net::http {

class CertificateForTests {
 public:
  enum class Kind : std::uint8_t { authority, server, expired_server };

  /// Without an issuer it signs itself. `names` as in `DNS:localhost,IP:127.0.0.1`; only for servers.
  CertificateForTests(Kind kind, const std::string& subject, const CertificateForTests* issuer = nullptr,
                      const std::string& names = "")
      : key_(EVP_EC_gen("P-256"), EVP_PKEY_free), certificate_(X509_new(), X509_free) {
    static long serial = 0;
    X509* const made = certificate_.get();
    X509_set_version(made, 2);
    ASN1_INTEGER_set(X509_get_serialNumber(made), ++serial);
    X509_gmtime_adj(X509_getm_notBefore(made), -7'200);
    X509_gmtime_adj(X509_getm_notAfter(made), kind == Kind::expired_server ? -3'600 : 86'400);
    X509_set_pubkey(made, key_.get());
    X509_NAME* const name = X509_get_subject_name(made);
    X509_NAME_add_entry_by_txt(name, "CN", MBSTRING_UTF8, reinterpret_cast<const unsigned char*>(subject.c_str()), -1,
                               -1, 0);
    const CertificateForTests& by = issuer == nullptr ? *this : *issuer;
    X509_set_issuer_name(made, X509_get_subject_name(by.certificate_.get()));
    add(NID_basic_constraints, kind == Kind::authority ? "critical,CA:TRUE" : "critical,CA:FALSE", by);
    add(NID_key_usage, kind == Kind::authority ? "critical,keyCertSign" : "critical,digitalSignature", by);
    add(NID_subject_key_identifier, "hash", by);
    if (issuer != nullptr) add(NID_authority_key_identifier, "keyid", by);
    if (!names.empty()) add(NID_subject_alt_name, names, by);
    if (X509_sign(made, by.key_.get(), EVP_sha256()) == 0) throw std::runtime_error("cannot sign a certificate");
  }

  /// This and then those that lead to its root, in one file.
  void write_to(const std::string& path, const std::vector<const CertificateForTests*>& more = {}) const {
    const File file(path);
    PEM_write_X509(file.get(), certificate_.get());
    for (const CertificateForTests* other : more) PEM_write_X509(file.get(), other->certificate_.get());
  }
  void write_key_to(const std::string& path) const {
    PEM_write_PrivateKey(File(path).get(), key_.get(), nullptr, nullptr, 0, nullptr, nullptr);
  }

 private:
  struct File {
    explicit File(const std::string& path) : file(std::fopen(path.c_str(), "w"), std::fclose) {
      if (!file) throw std::runtime_error("cannot write " + path);
    }
    std::FILE* get() const { return file.get(); }
    std::unique_ptr<std::FILE, int (*)(std::FILE*)> file;
  };

  void add(int nid, const std::string& value, const CertificateForTests& issuer) {
    X509V3_CTX context;
    X509V3_set_ctx_nodb(&context);
    X509V3_set_ctx(&context, issuer.certificate_.get(), certificate_.get(), nullptr, nullptr, 0);
    X509_EXTENSION* const extension = X509V3_EXT_conf_nid(nullptr, &context, nid, value.c_str());
    if (extension == nullptr) throw std::runtime_error("cannot say in a certificate: " + value);
    X509_add_ext(certificate_.get(), extension, -1);
    X509_EXTENSION_free(extension);
  }

  std::unique_ptr<EVP_PKEY, void (*)(EVP_PKEY*)> key_;
  std::unique_ptr<X509, void (*)(X509*)> certificate_;
};

}  // namespace cadre::net::http
