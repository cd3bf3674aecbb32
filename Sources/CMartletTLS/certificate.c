#include "internal.h"

#ifndef __APPLE__
#include <fcntl.h>
#include <openssl/err.h>
#include <openssl/evp.h>
#include <openssl/pem.h>
#include <openssl/rand.h>
#include <openssl/rsa.h>
#include <openssl/x509v3.h>
#include <string.h>
#include <unistd.h>

static int add_extension(X509 *certificate, X509 *issuer, int identifier, const char *value) {
    X509V3_CTX context;
    X509V3_set_ctx(&context, issuer, certificate, NULL, NULL, 0);
    X509_EXTENSION *extension = X509V3_EXT_conf_nid(NULL, &context, identifier, value);
    int is_added = extension && X509_add_ext(certificate, extension, -1);
    X509_EXTENSION_free(extension);
    return is_added;
}

static int set_serial(X509 *certificate) {
    uint8_t bytes[16];
    if (RAND_bytes(bytes, sizeof bytes) != 1) return 0;
    bytes[0] &= 0x7F;
    BIGNUM *number = BN_bin2bn(bytes, sizeof bytes, NULL);
    int is_set = number && BN_to_ASN1_INTEGER(number, X509_get_serialNumber(certificate));
    BN_free(number);
    return is_set;
}

static int fill(
    X509 *certificate, const struct martlet_tls_certificate_request *request, EVP_PKEY *key, X509 *issuer,
    EVP_PKEY *issuer_key) {
    X509_NAME *name = X509_get_subject_name(certificate);
    const unsigned char *common_name = (const unsigned char *)request->common_name;
    return X509_set_version(certificate, X509_VERSION_3) && set_serial(certificate)
        && X509_gmtime_adj(X509_getm_notBefore(certificate), request->not_before)
        && X509_gmtime_adj(X509_getm_notAfter(certificate), request->not_after)
        && X509_set_pubkey(certificate, key)
        && X509_NAME_add_entry_by_txt(name, "CN", MBSTRING_UTF8, common_name, -1, -1, 0)
        && X509_set_issuer_name(certificate, X509_get_subject_name(issuer ? issuer : certificate))
        && add_extension(
            certificate, issuer ? issuer : certificate, NID_basic_constraints,
            request->is_authority ? "critical,CA:TRUE" : "critical,CA:FALSE")
        && add_extension(
            certificate, issuer ? issuer : certificate, NID_key_usage,
            request->is_authority ? "critical,keyCertSign,cRLSign" : "critical,digitalSignature")
        && add_extension(certificate, issuer ? issuer : certificate, NID_subject_key_identifier, "hash")
        && (!request->usage
            || add_extension(certificate, issuer ? issuer : certificate, NID_ext_key_usage, request->usage))
        && (!request->alternative_names
            || add_extension(
                certificate, issuer ? issuer : certificate, NID_subject_alt_name, request->alternative_names))
        && X509_sign(certificate, issuer_key, EVP_sha256()) > 0;
}

static int write_files(X509 *certificate, EVP_PKEY *key, const char *certificate_file, const char *key_file) {
    unlink(key_file);
    int descriptor = open(key_file, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
    BIO *output = descriptor >= 0 ? BIO_new_fd(descriptor, BIO_CLOSE) : NULL;
    int is_written = output && PEM_write_bio_PKCS8PrivateKey(output, key, NULL, NULL, 0, NULL, NULL);
    BIO_free(output);
    if (!is_written) return 0;
    output = BIO_new_file(certificate_file, "w");
    is_written = output && PEM_write_bio_X509(output, certificate);
    BIO_free(output);
    return is_written;
}

int32_t martlet_tls_make_certificate(
    const struct martlet_tls_certificate_request *request, const char *certificate_file, const char *key_file,
    struct martlet_tls_failure *failure) {
    memset(failure, 0, sizeof *failure);
    ERR_clear_error();
    BIO *file = NULL;
    X509 *issuer = NULL;
    EVP_PKEY *issuer_key = NULL;
    if (request->issuer_certificate_file && (file = BIO_new_file(request->issuer_certificate_file, "r")))
        issuer = PEM_read_bio_X509(file, NULL, martlet_tls_no_password, NULL);
    BIO_free(file);
    file = NULL;
    if (request->issuer_key_file && (file = BIO_new_file(request->issuer_key_file, "r")))
        issuer_key = PEM_read_bio_PrivateKey(file, NULL, martlet_tls_no_password, NULL);
    BIO_free(file);
    EVP_PKEY *key =
        request->rsa_bit_count ? EVP_RSA_gen((unsigned int)request->rsa_bit_count) : EVP_EC_gen("P-256");
    X509 *certificate = X509_new();
    int has_issuer = !request->issuer_certificate_file || (issuer && issuer_key);
    int is_pair = !issuer || !issuer_key || X509_check_private_key(issuer, issuer_key) == 1;
    int is_done = has_issuer && is_pair && key && certificate
        && fill(certificate, request, key, issuer, issuer_key ? issuer_key : key)
        && write_files(certificate, key, certificate_file, key_file);
    if (!is_done) {
        failure->kind = is_pair ? martlet_tls_failure_bad_file : martlet_tls_failure_key_mismatch;
        const char *path = has_issuer && is_pair ? certificate_file : request->issuer_certificate_file;
        martlet_tls_copy_text(failure->subject, sizeof failure->subject, path);
        const char *text = ERR_reason_error_string(ERR_peek_last_error());
        martlet_tls_copy_text(failure->text, sizeof failure->text, text ? text : "cannot be written");
        ERR_clear_error();
    }
    X509_free(certificate);
    EVP_PKEY_free(key);
    X509_free(issuer);
    EVP_PKEY_free(issuer_key);
    return is_done ? 0 : -1;
}
#endif
