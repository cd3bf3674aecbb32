#include "internal.h"

#ifndef __APPLE__
#include <arpa/inet.h>
#include <openssl/core_names.h>
#include <openssl/crypto.h>
#include <openssl/err.h>
#include <openssl/evp.h>
#include <openssl/rand.h>
#include <openssl/x509v3.h>
#include <stdlib.h>
#include <string.h>

// OpenSSL frees its tables at exit() otherwise, while loops still use them.
__attribute__((constructor)) static void keep_at_exit(void) { OPENSSL_init_crypto(OPENSSL_INIT_NO_ATEXIT, NULL); }

void martlet_tls_copy_text(char *target, size_t capacity, const char *text) {
    size_t count = text ? strnlen(text, capacity - 1) : 0;
    if (count) memcpy(target, text, count);
    target[count] = 0;
}

// MARK: - Ticket keys (RFC 5077 §4, RFC 8446 §4.6.1)

enum { ticket_name_byte_count = 16, ticket_hmac_byte_count = 32 };

static int set_ticket_mac(EVP_MAC_CTX *mac, const uint8_t *key) {
    OSSL_PARAM parameters[] = {
        OSSL_PARAM_construct_octet_string(
            OSSL_MAC_PARAM_KEY, (void *)(key + ticket_name_byte_count), ticket_hmac_byte_count),
        OSSL_PARAM_construct_utf8_string(OSSL_MAC_PARAM_DIGEST, "sha256", 0),
        OSSL_PARAM_construct_end(),
    };
    return EVP_MAC_CTX_set_params(mac, parameters);
}

static int ticket_key(
    SSL *ssl, unsigned char name[16], unsigned char iv[EVP_MAX_IV_LENGTH], EVP_CIPHER_CTX *cipher, EVP_MAC_CTX *mac,
    int is_encrypting) {
    martlet_tls_connection *connection = martlet_tls_connection_of(ssl);
    const martlet_tls_context *context = connection->context;
    if (is_encrypting) {
        const uint8_t *key = context->ticket_keys;
        if (RAND_bytes(iv, EVP_CIPHER_get_iv_length(EVP_aes_256_cbc())) != 1) return -1;
        memcpy(name, key, ticket_name_byte_count);
        const uint8_t *secret = key + ticket_name_byte_count + ticket_hmac_byte_count;
        return EVP_EncryptInit_ex(cipher, EVP_aes_256_cbc(), NULL, secret, iv) && set_ticket_mac(mac, key) ? 1 : -1;
    }
    for (size_t index = 0; index < context->ticket_key_count; index++) {
        const uint8_t *key = context->ticket_keys + index * martlet_tls_ticket_key_byte_count;
        if (memcmp(key, name, ticket_name_byte_count) != 0) continue;
        const uint8_t *secret = key + ticket_name_byte_count + ticket_hmac_byte_count;
        if (!EVP_DecryptInit_ex(cipher, EVP_aes_256_cbc(), NULL, secret, iv) || !set_ticket_mac(mac, key)) return -1;
        // The ticket is renewed, since a client uses each once (RFC 8446 appendix C.4).
        return 2;
    }
    return 0;
}

// MARK: - Application protocol (RFC 7301)

const uint8_t martlet_tls_web_protocol[martlet_tls_web_protocol_byte_count] = "\x08http/1.1";

static int select_protocol(
    SSL *ssl, const unsigned char **selected, unsigned char *count, const unsigned char *offered,
    unsigned int offered_count, void *argument) {
    (void)ssl;
    const martlet_tls_context *context = argument;
    unsigned char *choice;
    uint8_t accepted[sizeof context->protocol + martlet_tls_web_protocol_byte_count];
    unsigned int accepted_count = context->protocol[0] + 1u;
    memcpy(accepted, context->protocol, accepted_count);
    if (context->accepts_web) {
        memcpy(accepted + accepted_count, martlet_tls_web_protocol, martlet_tls_web_protocol_byte_count);
        accepted_count += martlet_tls_web_protocol_byte_count;
    }
    int result = SSL_select_next_proto(&choice, count, accepted, accepted_count, offered, offered_count);
    // The chosen name must outlive the call.
    int is_own = *count == context->protocol[0] && memcmp(choice, context->protocol + 1, *count) == 0;
    *selected = is_own ? context->protocol + 1 : martlet_tls_web_protocol + 1;
    return result == OPENSSL_NPN_NEGOTIATED ? SSL_TLSEXT_ERR_OK : SSL_TLSEXT_ERR_ALERT_FATAL;
}

// MARK: - Certificates

int martlet_tls_pin_of(X509 *certificate, uint8_t *pin) {
    unsigned char *key = NULL;
    int count = i2d_X509_PUBKEY(X509_get_X509_PUBKEY(certificate), &key);
    if (count <= 0) return 0;
    unsigned int pin_count = 0;
    int is_done = EVP_Digest(key, (size_t)count, pin, &pin_count, EVP_sha256(), NULL);
    OPENSSL_free(key);
    return is_done && pin_count == martlet_tls_pin_byte_count;
}

static void copy_names(char *target, size_t capacity, X509 *certificate) {
    GENERAL_NAMES *names = X509_get_ext_d2i(certificate, NID_subject_alt_name, NULL, NULL);
    size_t used = 0;
    target[0] = 0;
    for (int index = 0; index < sk_GENERAL_NAME_num(names); index++) {
        const GENERAL_NAME *name = sk_GENERAL_NAME_value(names, index);
        char text[256] = "";
        if (name->type == GEN_DNS) {
            martlet_tls_copy_text(text, sizeof text, (const char *)ASN1_STRING_get0_data(name->d.dNSName));
        } else if (name->type == GEN_IPADD
                   && (ASN1_STRING_length(name->d.iPAddress) == 4 || ASN1_STRING_length(name->d.iPAddress) == 16)) {
            int family = ASN1_STRING_length(name->d.iPAddress) == 4 ? AF_INET : AF_INET6;
            inet_ntop(family, ASN1_STRING_get0_data(name->d.iPAddress), text, sizeof text);
        }
        size_t count = strlen(text);
        if (count == 0 || used + count + 3 > capacity) continue;
        if (used) {
            memcpy(target + used, ", ", 2);
            used += 2;
        }
        memcpy(target + used, text, count + 1);
        used += count;
    }
    GENERAL_NAMES_free(names);
}

static void copy_date(char *target, size_t capacity, const ASN1_TIME *time) {
    BIO *memory = BIO_new(BIO_s_mem());
    char text[64] = "";
    if (memory && ASN1_TIME_print(memory, time)) {
        int count = BIO_read(memory, text, sizeof text - 1);
        text[count > 0 ? count : 0] = 0;
    }
    BIO_free(memory);
    martlet_tls_copy_text(target, capacity, text);
}

static void copy_name(char *target, size_t capacity, const X509_NAME *name) {
    BIO *memory = BIO_new(BIO_s_mem());
    char text[256] = "";
    if (memory && X509_NAME_print_ex(memory, name, 0, XN_FLAG_RFC2253 & ~ASN1_STRFLGS_ESC_MSB) >= 0) {
        int count = BIO_read(memory, text, sizeof text - 1);
        text[count > 0 ? count : 0] = 0;
    }
    BIO_free(memory);
    martlet_tls_copy_text(target, capacity, text);
}

/// Describes a certificate in a failure.
static void describe(struct martlet_tls_failure *failure, X509 *certificate) {
    if (!certificate) return;
    copy_name(failure->subject, sizeof failure->subject, X509_get_subject_name(certificate));
    copy_name(failure->issuer, sizeof failure->issuer, X509_get_issuer_name(certificate));
    copy_names(failure->names, sizeof failure->names, certificate);
}

void martlet_tls_note_verification(struct martlet_tls_failure *failure, X509 *certificate, int error) {
    if (failure->kind != martlet_tls_failure_none) return;
    describe(failure, certificate);
    martlet_tls_copy_text(failure->text, sizeof failure->text, X509_verify_cert_error_string(error));
    switch (error) {
    case X509_V_ERR_CERT_HAS_EXPIRED:
        failure->kind = martlet_tls_failure_expired;
        if (certificate) copy_date(failure->date, sizeof failure->date, X509_get0_notAfter(certificate));
        break;
    case X509_V_ERR_CERT_NOT_YET_VALID:
        failure->kind = martlet_tls_failure_not_yet_valid;
        if (certificate) copy_date(failure->date, sizeof failure->date, X509_get0_notBefore(certificate));
        break;
    case X509_V_ERR_HOSTNAME_MISMATCH:
    case X509_V_ERR_IP_ADDRESS_MISMATCH: failure->kind = martlet_tls_failure_wrong_host; break;
    case X509_V_ERR_UNABLE_TO_GET_ISSUER_CERT:
    case X509_V_ERR_UNABLE_TO_GET_ISSUER_CERT_LOCALLY:
    case X509_V_ERR_UNABLE_TO_VERIFY_LEAF_SIGNATURE: failure->kind = martlet_tls_failure_unknown_issuer; break;
    case X509_V_ERR_DEPTH_ZERO_SELF_SIGNED_CERT:
    case X509_V_ERR_SELF_SIGNED_CERT_IN_CHAIN: failure->kind = martlet_tls_failure_self_signed; break;
    case X509_V_ERR_APPLICATION_VERIFICATION: failure->kind = martlet_tls_failure_pin_mismatch; break;
    case X509_V_ERR_EE_KEY_TOO_SMALL:
    case X509_V_ERR_CA_KEY_TOO_SMALL:
    case X509_V_ERR_CA_MD_TOO_WEAK: failure->kind = martlet_tls_failure_weak; break;
    default: failure->kind = martlet_tls_failure_invalid_certificate; break;
    }
}

// MARK: - Verification

/// Records the first error of the chain's verification.
static int note_error(int is_valid, X509_STORE_CTX *store) {
    if (is_valid) return 1;
    SSL *ssl = X509_STORE_CTX_get_ex_data(store, SSL_get_ex_data_X509_STORE_CTX_idx());
    martlet_tls_connection *connection = martlet_tls_connection_of(ssl);
    martlet_tls_note_verification(
        martlet_tls_failure_of(connection), X509_STORE_CTX_get_current_cert(store), X509_STORE_CTX_get_error(store));
    return 0;
}

static int error_of_pinned(const martlet_tls_context *context, X509_STORE_CTX *store, X509 *certificate) {
    uint8_t pin[martlet_tls_pin_byte_count];
    int is_pinned = 0;
    if (martlet_tls_pin_of(certificate, pin)) {
        for (size_t index = 0; index < context->pin_count; index++)
            is_pinned |= memcmp(pin, context->pins + index * sizeof pin, sizeof pin) == 0;
    }
    if (!is_pinned) return X509_V_ERR_APPLICATION_VERIFICATION;
    // The comparison is 0 for a date that is malformed, and is never equal.
    if (X509_cmp_current_time(X509_get0_notBefore(certificate)) >= 0) return X509_V_ERR_CERT_NOT_YET_VALID;
    if (X509_cmp_current_time(X509_get0_notAfter(certificate)) <= 0) return X509_V_ERR_CERT_HAS_EXPIRED;
    X509_VERIFY_PARAM *parameters = X509_STORE_CTX_get0_param(store);
    const char *host = X509_VERIFY_PARAM_get0_host(parameters, 0);
    if (host) {
        unsigned int flags = X509_VERIFY_PARAM_get_hostflags(parameters);
        return X509_check_host(certificate, host, 0, flags, NULL) == 1 ? X509_V_OK : X509_V_ERR_HOSTNAME_MISMATCH;
    }
    char *address = X509_VERIFY_PARAM_get1_ip_asc(parameters);
    int is_match = address && X509_check_ip_asc(certificate, address, 0) == 1;
    OPENSSL_free(address);
    return is_match ? X509_V_OK : X509_V_ERR_IP_ADDRESS_MISMATCH;
}

/// Verifies the server's own certificate by its pin, its dates and its host, without a chain.
static int verify_pinned(X509_STORE_CTX *store, void *argument) {
    SSL *ssl = X509_STORE_CTX_get_ex_data(store, SSL_get_ex_data_X509_STORE_CTX_idx());
    martlet_tls_connection *connection = martlet_tls_connection_of(ssl);
    X509 *certificate = X509_STORE_CTX_get0_cert(store);
    int error = certificate ? error_of_pinned(argument, store, certificate) : X509_V_ERR_UNSPECIFIED;
    X509_STORE_CTX_set_error(store, error);
    if (error != X509_V_OK) martlet_tls_note_verification(martlet_tls_failure_of(connection), certificate, error);
    return error == X509_V_OK;
}

// MARK: - Sessions

static int keep_session(SSL *ssl, SSL_SESSION *session) {
    martlet_tls_connection *connection = martlet_tls_connection_of(ssl);
    SSL_SESSION_free(connection->session);
    connection->session = session;
    return 1;
}

void martlet_tls_session_free(martlet_tls_session *session) {
    SSL_SESSION_free((SSL_SESSION *)session);
}

// MARK: - Creation

static int fail(struct martlet_tls_failure *failure, int kind, const char *path) {
    unsigned long error = ERR_peek_last_error();
    // Libraries use the same numbers for different reasons.
    int library = ERR_GET_LIB(error), reason = ERR_GET_REASON(error);
    failure->kind = kind;
    if (library == ERR_LIB_SSL
        && (reason == SSL_R_EE_KEY_TOO_SMALL || reason == SSL_R_CA_KEY_TOO_SMALL || reason == SSL_R_CA_MD_TOO_WEAK))
        failure->kind = martlet_tls_failure_weak;
    if (library == ERR_LIB_X509 && reason == X509_R_KEY_VALUES_MISMATCH)
        failure->kind = martlet_tls_failure_key_mismatch;
    martlet_tls_copy_text(failure->subject, sizeof failure->subject, path);
    // The first error of a file that cannot be opened is the system's.
    unsigned long first = ERR_peek_error();
    const char *text = ERR_SYSTEM_ERROR(first) ? strerror(ERR_GET_REASON(first)) : ERR_reason_error_string(error);
    martlet_tls_copy_text(failure->text, sizeof failure->text, text ? text : "unreadable");
    ERR_clear_error();
    return 0;
}

/// The failure of a file without the expected block of PEM, for which the reason would be "PEM lib".
static int fail_pem(struct martlet_tls_failure *failure, const char *path, const char *text) {
    int is_pem = ERR_GET_REASON(ERR_peek_last_error()) == ERR_R_PEM_LIB && !ERR_SYSTEM_ERROR(ERR_peek_error());
    fail(failure, martlet_tls_failure_bad_file, path);
    if (is_pem) martlet_tls_copy_text(failure->text, sizeof failure->text, text);
    return 0;
}

static uint8_t *copy(const uint8_t *bytes, size_t count) {
    uint8_t *result = malloc(count ? count : 1);
    if (result && count) memcpy(result, bytes, count);
    return result;
}

int martlet_tls_no_password(char *buffer, int capacity, int is_write, void *argument) {
    (void)buffer, (void)capacity, (void)is_write, (void)argument;
    return -1;
}

static int configure_identity(
    SSL_CTX *ssl, const struct martlet_tls_options *options, struct martlet_tls_failure *failure) {
    if (!options->certificate_file || !options->key_file) return 1;
    SSL_CTX_set_default_passwd_cb(ssl, martlet_tls_no_password);
    if (SSL_CTX_use_certificate_chain_file(ssl, options->certificate_file) != 1)
        return fail_pem(failure, options->certificate_file, "not a PEM certificate");
    if (SSL_CTX_use_PrivateKey_file(ssl, options->key_file, SSL_FILETYPE_PEM) != 1)
        return fail_pem(failure, options->key_file, "not a PEM key without a password");
    if (SSL_CTX_check_private_key(ssl) != 1) return fail(failure, martlet_tls_failure_key_mismatch, options->key_file);
    return 1;
}

static int configure_trust(
    SSL_CTX *ssl, const struct martlet_tls_options *options, struct martlet_tls_failure *failure) {
    if (options->trust_file) {
        if (SSL_CTX_load_verify_locations(ssl, options->trust_file, NULL) != 1)
            return fail(failure, martlet_tls_failure_bad_file, options->trust_file);
        if (options->is_server)
            SSL_CTX_set_client_CA_list(ssl, SSL_load_client_CA_file(options->trust_file));
    } else if (!options->is_server) {
        SSL_CTX_set_default_verify_paths(ssl);
    }
    return 1;
}

/// Binds sessions to the trusted certificates and the requirement of a certificate. A session carries the certificate
/// of its first handshake, which is not verified again when the session is resumed (C-73).
static int set_session_context(
    const martlet_tls_context *context, SSL_CTX *ssl, const struct martlet_tls_options *options) {
    uint8_t digest[EVP_MAX_MD_SIZE];
    unsigned int count = 0;
    EVP_MD_CTX *hash = EVP_MD_CTX_new();
    int is_done = hash && EVP_DigestInit_ex(hash, EVP_sha256(), NULL)
        && EVP_DigestUpdate(hash, context->protocol, context->protocol[0] + 1u)
        && EVP_DigestUpdate(hash, &options->peer_certificate, sizeof options->peer_certificate);
    STACK_OF(X509_OBJECT) *trusted = X509_STORE_get0_objects(SSL_CTX_get_cert_store(ssl));
    for (int index = 0; is_done && index < sk_X509_OBJECT_num(trusted); index++) {
        X509 *certificate = X509_OBJECT_get0_X509(sk_X509_OBJECT_value(trusted, index));
        if (!certificate) continue;
        is_done = X509_digest(certificate, EVP_sha256(), digest, &count) && EVP_DigestUpdate(hash, digest, count);
    }
    is_done = is_done && EVP_DigestFinal_ex(hash, digest, &count)
        && SSL_CTX_set_session_id_context(ssl, digest, count);
    EVP_MD_CTX_free(hash);
    return is_done;
}

static int configure(
    martlet_tls_context *context, const struct martlet_tls_options *options, struct martlet_tls_failure *failure) {
    SSL_CTX *ssl = context->ssl;
    SSL_CTX_set_min_proto_version(ssl, TLS1_2_VERSION);
    SSL_CTX_set_security_level(ssl, 2);
    SSL_CTX_set_options(ssl, SSL_OP_NO_RENEGOTIATION | SSL_OP_NO_COMPRESSION | SSL_OP_CIPHER_SERVER_PREFERENCE);
    // Only the certificates of the file are sent.
    SSL_CTX_set_mode(ssl, SSL_MODE_RELEASE_BUFFERS | SSL_MODE_NO_AUTO_CHAIN);
    SSL_CTX_set_max_cert_list(ssl, martlet_tls_max_chain_byte_count);
    // TLS 1.2 with forward secrecy and authenticated encryption only (RFC 9325 §4.2).
    SSL_CTX_set_cipher_list(ssl, "ECDHE+AESGCM:ECDHE+CHACHA20");
    if (!configure_identity(ssl, options, failure) || !configure_trust(ssl, options, failure)) return 0;
    if (!options->is_server) {
        SSL_CTX_set_session_cache_mode(ssl, SSL_SESS_CACHE_CLIENT | SSL_SESS_CACHE_NO_INTERNAL);
        SSL_CTX_sess_set_new_cb(ssl, keep_session);
        SSL_CTX_set_verify(ssl, SSL_VERIFY_PEER, note_error);
        if (context->pin_count) SSL_CTX_set_cert_verify_callback(ssl, verify_pinned, context);
        return SSL_CTX_set_alpn_protos(ssl, context->protocol, context->protocol[0] + 1u) == 0;
    }
    SSL_CTX_set_session_cache_mode(ssl, SSL_SESS_CACHE_OFF);
    if (!set_session_context(context, ssl, options)) return 0;
    SSL_CTX_set_alpn_select_cb(ssl, select_protocol, context);
    SSL_CTX_set_keylog_callback(ssl, martlet_tls_keep_secret);
    if (context->ticket_key_count) {
        SSL_CTX_set_num_tickets(ssl, 1);
        SSL_CTX_set_tlsext_ticket_key_evp_cb(ssl, ticket_key);
    } else {
        SSL_CTX_set_num_tickets(ssl, 0);
        SSL_CTX_set_options(ssl, SSL_OP_NO_TICKET);
    }
    switch (options->peer_certificate) {
    case martlet_tls_peer_certificate_optional: SSL_CTX_set_verify(ssl, SSL_VERIFY_PEER, note_error); break;
    case martlet_tls_peer_certificate_required:
        SSL_CTX_set_verify(ssl, SSL_VERIFY_PEER | SSL_VERIFY_FAIL_IF_NO_PEER_CERT, note_error);
        break;
    default: SSL_CTX_set_verify(ssl, SSL_VERIFY_NONE, NULL); break;
    }
    return 1;
}

martlet_tls_context *martlet_tls_context_create(
    const struct martlet_tls_options *options, struct martlet_tls_failure *failure) {
    memset(failure, 0, sizeof *failure);
    ERR_clear_error();
    martlet_tls_context *context = calloc(1, sizeof *context);
    if (!context) return NULL;
    context->is_server = options->is_server;
    context->accepts_web = options->is_server && options->accepts_web;
    context->protocol[0] = (uint8_t)strnlen(options->protocol, sizeof context->protocol - 1);
    memcpy(context->protocol + 1, options->protocol, context->protocol[0]);
    context->pin_count = options->pin_count;
    context->pins = copy(options->pins, options->pin_count * martlet_tls_pin_byte_count);
    context->max_record_count =
        options->max_record_count ? options->max_record_count : martlet_tls_default_record_count;
    context->ticket_key_count = options->ticket_key_count;
    context->ticket_keys = copy(options->ticket_keys, options->ticket_key_count * martlet_tls_ticket_key_byte_count);
    context->ssl = SSL_CTX_new(options->is_server ? TLS_server_method() : TLS_client_method());
    if (context->ssl && context->pins && context->ticket_keys && configure(context, options, failure)) return context;
    if (failure->kind == martlet_tls_failure_none) fail(failure, martlet_tls_failure_protocol_error, NULL);
    martlet_tls_context_free(context);
    return NULL;
}

void martlet_tls_context_free(martlet_tls_context *context) {
    SSL_CTX_free(context->ssl);
    if (context->ticket_keys)
        OPENSSL_cleanse(context->ticket_keys, context->ticket_key_count * martlet_tls_ticket_key_byte_count);
    free(context->ticket_keys);
    free(context->pins);
    free(context);
}

int32_t martlet_tls_context_check_validity(const martlet_tls_context *context, struct martlet_tls_failure *failure) {
    memset(failure, 0, sizeof *failure);
    X509 *certificate = SSL_CTX_get0_certificate(context->ssl);
    if (!certificate) return 0;
    if (X509_cmp_current_time(X509_get0_notAfter(certificate)) < 0)
        martlet_tls_note_verification(failure, certificate, X509_V_ERR_CERT_HAS_EXPIRED);
    else if (X509_cmp_current_time(X509_get0_notBefore(certificate)) > 0)
        martlet_tls_note_verification(failure, certificate, X509_V_ERR_CERT_NOT_YET_VALID);
    return failure->kind == martlet_tls_failure_none ? 0 : -1;
}

int64_t martlet_tls_context_expiry(const martlet_tls_context *context) {
    X509 *certificate = SSL_CTX_get0_certificate(context->ssl);
    struct tm date;
    if (!certificate || ASN1_TIME_to_tm(X509_get0_notAfter(certificate), &date) != 1) return -1;
    return (int64_t)timegm(&date);
}

int32_t martlet_tls_random(void *bytes, size_t count) {
    return RAND_bytes(bytes, (int)count) == 1 ? 0 : -1;
}

int32_t martlet_tls_pin_of_file(const char *path, uint8_t *pin) {
    BIO *file = BIO_new_file(path, "r");
    X509 *certificate = file ? PEM_read_bio_X509(file, NULL, martlet_tls_no_password, NULL) : NULL;
    int is_done = certificate && martlet_tls_pin_of(certificate, pin);
    X509_free(certificate);
    BIO_free(file);
    ERR_clear_error();
    return is_done ? 0 : -1;
}
#endif
