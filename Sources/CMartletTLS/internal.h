#pragma once

#include "CMartletTLS.h"

#ifndef __APPLE__
#include <openssl/evp.h>
#include <openssl/ssl.h>
#include <openssl/x509.h>

/// The password of a PEM file: none, so that no file prompts for one on the terminal.
int martlet_tls_no_password(char *buffer, int capacity, int is_write, void *argument);

struct martlet_tls_context {
    SSL_CTX *ssl;
    int is_server;
    /// Whether a server accepts clients of the web.
    int accepts_web;
    uint8_t *pins;
    size_t pin_count;
    uint8_t *ticket_keys;
    size_t ticket_key_count;
    /// The maximum number of records that are sent with a key.
    uint64_t max_record_count;
    /// The length of the protocol's name, and the name.
    uint8_t protocol[256];
};

enum { martlet_tls_web_protocol_byte_count = 9 };

/// The length of `http/1.1`, and the name (RFC 7301 §6).
extern const uint8_t martlet_tls_web_protocol[martlet_tls_web_protocol_byte_count];

/// The memory of the caller in one call: input, or room for records.
struct martlet_tls_call {
    const uint8_t *input;
    size_t input_count;
    uint8_t *records;
    size_t record_capacity;
    size_t record_count;
};

/// The secrets of a handshake that outlive it (RFC 8446 §7.1).
enum martlet_tls_secret_kind {
    martlet_tls_secret_read = 0,
    martlet_tls_secret_write,
    martlet_tls_secret_exporter,
    martlet_tls_secret_count,
};
/// The maximum length of a secret: that of SHA-384.
enum { martlet_tls_max_secret_byte_count = 48 };

struct martlet_tls_secrets {
    uint8_t bytes[martlet_tls_secret_count][martlet_tls_max_secret_byte_count];
    size_t byte_counts[martlet_tls_secret_count];
};

struct martlet_tls_records;

/// A connection belongs to OpenSSL until its handshake is complete. Then a server's connection of TLS 1.3 has `records`
/// in place of `ssl`.
struct martlet_tls_connection {
    SSL *ssl;
    struct martlet_tls_records *records;
    /// The secrets of a server during its handshake.
    struct martlet_tls_secrets *secrets;
    /// The number of records that a server has sent with its last key.
    uint64_t written_record_count;
    martlet_tls_context *context;
    int32_t state;
    /// Allocated when a check fails.
    struct martlet_tls_failure *failure;
    SSL_SESSION *session;
    /// The current call; null between calls.
    struct martlet_tls_call *call;
    /// Records without room, sent before all others.
    uint8_t *pending;
    uint32_t pending_start;
    uint32_t pending_end;
    uint32_t pending_capacity;
    int key_update_count;
    int has_sent_close;
    /// Whether a client offers `http/1.1`.
    int16_t offers_web;
    /// `martlet_tls_protocol`, after the handshake.
    int16_t selected_protocol;
};

/// Copies a text, truncated to fit.
void martlet_tls_copy_text(char *target, size_t capacity, const char *text);
/// The failure of a connection, allocated on first use.
struct martlet_tls_failure *martlet_tls_failure_of(martlet_tls_connection *connection);
/// The connection of an SSL object.
martlet_tls_connection *martlet_tls_connection_of(const SSL *ssl);
/// Records a verification error.
void martlet_tls_note_verification(struct martlet_tls_failure *failure, X509 *certificate, int error);
/// Computes the pin of a certificate. Returns whether it succeeded.
int martlet_tls_pin_of(X509 *certificate, uint8_t *pin);
/// The name of an alert (RFC 8446 §6).
const char *martlet_tls_alert_name(int alert);
/// Returns room for `count` bytes behind the pending ones; null beyond their bound, or without memory.
uint8_t *martlet_tls_reserve_pending(martlet_tls_connection *connection, size_t count);

// MARK: - Keys

/// A cipher suite.
struct martlet_tls_suite {
    const EVP_CIPHER *cipher;
    const EVP_MD *hash;
    const char *name;
};

/// The key of one direction. The number of its next record is part of the nonce.
struct martlet_tls_direction {
    EVP_CIPHER_CTX *cipher;
    uint64_t sequence;
    int is_written;
    uint8_t iv[12];
    uint8_t secret[martlet_tls_max_secret_byte_count];
};

/// Reads a line of the key log.
void martlet_tls_keep_secret(const SSL *ssl, const char *line);
void martlet_tls_discard_secrets(martlet_tls_connection *connection);
/// The suite of a cipher of TLS 1.3. Returns whether its records are supported.
int martlet_tls_suite_of(struct martlet_tls_suite *suite, const SSL_CIPHER *cipher);
int martlet_tls_start_direction(
    const struct martlet_tls_suite *suite, struct martlet_tls_direction *direction, const uint8_t *secret,
    int is_written, uint64_t sequence);
void martlet_tls_end_direction(struct martlet_tls_direction *direction);
/// Replaces the key by the next one (RFC 8446 §7.2).
int martlet_tls_update_key(const struct martlet_tls_suite *suite, struct martlet_tls_direction *direction);
int martlet_tls_export_from(
    const struct martlet_tls_suite *suite, const uint8_t *exporter, const char *label, uint8_t *secret, size_t count);

// MARK: - Records

enum { martlet_tls_record_header_byte_count = 5 };
/// The bytes that a record has in addition to its content: header, type and tag.
enum { martlet_tls_record_overhead = martlet_tls_record_header_byte_count + 1 + 16 };

/// The state of a connection whose handshake is complete.
struct martlet_tls_records {
    struct martlet_tls_suite suite;
    struct martlet_tls_direction read;
    struct martlet_tls_direction write;
    uint8_t exporter[martlet_tls_max_secret_byte_count];
    /// The beginning of a record whose rest has not arrived; null without one.
    uint8_t *partial;
    uint32_t partial_count;
    /// The beginning of a key update that its peer has divided.
    uint8_t message[martlet_tls_record_header_byte_count];
    uint8_t message_count;
    uint8_t empty_count;
    uint8_t is_resumed;
};

/// Takes over a connection whose handshake is complete. Returns 0 if OpenSSL has to keep it: with TLS 1.2, at a client,
/// and with a client's certificate.
int martlet_tls_start_records(martlet_tls_connection *connection);
void martlet_tls_free_records(struct martlet_tls_records *records);
/// Writes a record of at most 16 KiB to `output`, which has room for `martlet_tls_record_overhead` more bytes.
int martlet_tls_seal(
    struct martlet_tls_direction *direction, uint8_t type, const uint8_t *bytes, size_t count, uint8_t *output);
/// Decrypts the input of the current call. Returns the number of bytes of plaintext.
size_t martlet_tls_receive_records(martlet_tls_connection *connection, uint8_t *plain, size_t capacity);
/// Encrypts to the memory of the current call. Returns whether it succeeded.
int martlet_tls_send_records(martlet_tls_connection *connection, const uint8_t *bytes, size_t count);
void martlet_tls_send_close(martlet_tls_connection *connection);
int martlet_tls_records_are_resumed(const struct martlet_tls_records *records);
const char *martlet_tls_records_cipher(const struct martlet_tls_records *records);
int martlet_tls_records_export(
    const struct martlet_tls_records *records, const char *label, uint8_t *secret, size_t count);
#endif
