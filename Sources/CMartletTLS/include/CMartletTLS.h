// TLS on OpenSSL 3, without sockets: ciphertext comes from and goes to memory of the caller.
//
// A context is immutable and may be used by several threads. A connection is used by one thread at a time.
#pragma once

#include <stddef.h>
#include <stdint.h>

#if defined(__clang__)
#pragma clang assume_nonnull begin
#endif

// MARK: - Failures

/// The class of a failure.
enum martlet_tls_failure_kind {
    martlet_tls_failure_none = 0,
    /// A file cannot be read or parsed; `subject` is its path.
    martlet_tls_failure_bad_file,
    /// The private key does not belong to the certificate.
    martlet_tls_failure_key_mismatch,
    martlet_tls_failure_expired,
    martlet_tls_failure_not_yet_valid,
    /// The certificate is for other hosts, which are in `names`.
    martlet_tls_failure_wrong_host,
    martlet_tls_failure_unknown_issuer,
    martlet_tls_failure_self_signed,
    /// No certificate of the chain has a pinned key.
    martlet_tls_failure_pin_mismatch,
    /// A key or signature is below the security level.
    martlet_tls_failure_weak,
    /// Any other failure of the chain's verification.
    martlet_tls_failure_invalid_certificate,
    /// The peer sent no certificate.
    martlet_tls_failure_no_certificate,
    /// No common version.
    martlet_tls_failure_version,
    /// No common application protocol (ALPN).
    martlet_tls_failure_no_protocol,
    /// The peer sent this alert.
    martlet_tls_failure_alert,
    /// The first bytes are no TLS record.
    martlet_tls_failure_not_tls,
    /// A bound was exceeded: the size of the certificate chain, unsent bytes, or key updates.
    martlet_tls_failure_limit,
    /// Any other violation of the protocol, or an error of the library.
    martlet_tls_failure_protocol_error,
};

/// A failure. Texts are terminated, and truncated to fit.
struct martlet_tls_failure {
    int32_t kind;
    /// The subject of the certificate, or the path of a file.
    char subject[256];
    char issuer[256];
    /// The names of the certificate, separated by ", ".
    char names[512];
    /// The date of the violated bound, as "Jan  2 15:04:05 2006 GMT".
    char date[64];
    /// OpenSSL's reason, or the name of the alert.
    char text[256];
};

// MARK: - Contexts

typedef struct martlet_tls_context martlet_tls_context;

/// The bytes of one ticket key: name, HMAC key and AES key.
enum { martlet_tls_ticket_key_byte_count = 80 };
/// The bytes of a pin: SHA-256 of a SubjectPublicKeyInfo (RFC 7469 §2.4).
enum { martlet_tls_pin_byte_count = 32 };
/// The maximum size in bytes of a peer's certificate chain.
enum { martlet_tls_max_chain_byte_count = 32 * 1024 };
/// The maximum number of key updates without application data between them.
enum { martlet_tls_max_key_updates = 32 };
/// The default maximum number of TLS 1.3 records that a relay sends with a key: below the limit of 2^24.5 for AES-GCM
/// (RFC 8446 §5.5).
enum { martlet_tls_default_record_count = 1 << 24 };  // bound
/// The maximum number of unsent bytes that the library may produce by itself, such as handshake messages.
enum { martlet_tls_max_pending_byte_count = 256 * 1024 };

enum martlet_tls_peer_certificate {
    martlet_tls_peer_certificate_ignored = 0,
    martlet_tls_peer_certificate_optional,
    martlet_tls_peer_certificate_required,
};

struct martlet_tls_options {
    int32_t is_server;
    /// The application protocol (ALPN), required on both sides.
    const char *protocol;
    /// For a server: whether it also accepts `http/1.1`, and clients without an application protocol.
    int32_t accepts_web;
    /// PEM files; null for a client without a certificate.
    const char *_Nullable certificate_file;
    const char *_Nullable key_file;
    /// A PEM file of trusted certificates; null for the system's, or for none at a server.
    const char *_Nullable trust_file;
    /// Concatenated pins; a client with pins trusts no certificate authority.
    const uint8_t *_Nullable pins;
    size_t pin_count;
    /// Concatenated ticket keys; the first one encrypts. Without keys the server sends no tickets.
    const uint8_t *_Nullable ticket_keys;
    size_t ticket_key_count;
    /// For a server: `martlet_tls_peer_certificate`.
    int32_t peer_certificate;
    /// For a server: the maximum number of records that it sends with a key of TLS 1.3; 0 for the default.
    uint64_t max_record_count;
};

/// Creates a context; null after a failure.
martlet_tls_context *_Nullable martlet_tls_context_create(
    const struct martlet_tls_options *options, struct martlet_tls_failure *failure);
void martlet_tls_context_free(martlet_tls_context *context);
/// Checks the validity period of the own certificate. Returns 0 if it is valid or absent, or -1 with the failure.
int32_t martlet_tls_context_check_validity(const martlet_tls_context *context, struct martlet_tls_failure *failure);
/// Returns the end of the validity of the own certificate in seconds since 1970, or -1 if there is none.
int64_t martlet_tls_context_expiry(const martlet_tls_context *context);

// MARK: - Sessions

/// A session for resumption.
typedef struct martlet_tls_session martlet_tls_session;
void martlet_tls_session_free(martlet_tls_session *session);

// MARK: - Connections

typedef struct martlet_tls_connection martlet_tls_connection;

/// Creates a connection; null without memory.
///
/// `host` is a client's name or numeric address for SNI and verification; null at a server. The context must outlive
/// the connection. A session is copied by reference and may be freed.
martlet_tls_connection *_Nullable martlet_tls_connection_create(
    martlet_tls_context *context, const char *_Nullable host, martlet_tls_session *_Nullable session);
void martlet_tls_connection_free(martlet_tls_connection *connection);
/// Makes a client offer `http/1.1` in place of the protocol of its context, before the handshake. The server need not
/// select it. Returns 0, or -1 without memory.
int32_t martlet_tls_offer_web(martlet_tls_connection *connection);

enum martlet_tls_protocol {
    /// None, where that is accepted.
    martlet_tls_protocol_none,
    /// That of the context.
    martlet_tls_protocol_own,
    /// `http/1.1`.
    martlet_tls_protocol_web,
};

/// Returns the application protocol of a connection, after the handshake: `martlet_tls_protocol`.
int32_t martlet_tls_selected_protocol(const martlet_tls_connection *connection);

enum martlet_tls_state {
    martlet_tls_handshaking = 0,
    martlet_tls_open,
    /// The peer has sent close_notify.
    martlet_tls_peer_closed,
    martlet_tls_failed,
};

/// Processes `count` bytes from the peer, all of them unless the state becomes `peer_closed` or `failed`, and writes
/// application data to `plain`. `capacity` must be at least `count` plus 16 KiB. Null and zero start a client's
/// handshake. Returns the state.
int32_t martlet_tls_receive(
    martlet_tls_connection *connection, const void *_Nullable bytes, size_t count, void *plain, size_t capacity,
    size_t *plain_count);

/// Encrypts `count` bytes of application data. Records go to `records` as far as they fit, otherwise into the pending
/// bytes. Returns the number of bytes written to `records`, or -1 after a failure.
ptrdiff_t martlet_tls_send(
    martlet_tls_connection *connection, const void *bytes, size_t count, void *records, size_t capacity);

/// Adds close_notify to the pending bytes, once.
void martlet_tls_close(martlet_tls_connection *connection);

/// The number of bytes that wait to be sent.
size_t martlet_tls_pending_count(const martlet_tls_connection *connection);
/// Moves pending bytes to `records`. Returns their number.
size_t martlet_tls_take_pending(martlet_tls_connection *connection, void *records, size_t capacity);

/// The failure of a connection in the state `failed`.
void martlet_tls_get_failure(const martlet_tls_connection *connection, struct martlet_tls_failure *failure);

/// The latest session that the server has sent since the last call; null without one. The caller frees it.
martlet_tls_session *_Nullable martlet_tls_take_session(martlet_tls_connection *connection);
/// Whether the handshake resumed a session.
int32_t martlet_tls_is_resumed(const martlet_tls_connection *connection);
/// The version, such as "TLSv1.3".
const char *martlet_tls_version(const martlet_tls_connection *connection);
/// The cipher suite, such as "TLS_AES_256_GCM_SHA384".
const char *martlet_tls_cipher(const martlet_tls_connection *connection);

/// Exports keying material (RFC 5705, RFC 8446 §7.5) with an empty context. Returns 0, or -1 before the handshake is
/// complete, and with TLS 1.2 without the extended master secret (RFC 7627).
int32_t martlet_tls_export(martlet_tls_connection *connection, const char *label, void *secret, size_t count);

/// The kind of a name in a certificate.
enum martlet_tls_name_kind {
    martlet_tls_name_common = 0,
    martlet_tls_name_host,
    martlet_tls_name_email,
    martlet_tls_name_uri,
};
/// The maximum number of bytes of all names of a certificate that are read, with 3 bytes for each.
enum { martlet_tls_max_names_byte_count = 16 * 1024 };

/// Reads the verified certificate of the peer: the end of its validity in seconds since 1970, its pin, and its names,
/// each as its kind (1 byte), its length (2 bytes, big-endian) and its bytes. Returns the number of bytes in `names`,
/// or -1 without a certificate, and for a certificate whose names are invalid or do not fit.
ptrdiff_t martlet_tls_read_peer(
    const martlet_tls_connection *connection, int64_t *not_after, uint8_t *pin, uint8_t *names, size_t capacity);

// MARK: - Certificates for development and tests

struct martlet_tls_certificate_request {
    const char *common_name;
    /// Names for X.509's subjectAltName, as "DNS:localhost,IP:127.0.0.1,email:ada@example.com"; null for none.
    const char *_Nullable alternative_names;
    /// PEM files of the issuer; null for a self-signed certificate.
    const char *_Nullable issuer_certificate_file;
    const char *_Nullable issuer_key_file;
    /// The extended key usage, "serverAuth" or "clientAuth"; null for any.
    const char *_Nullable usage;
    int32_t is_authority;
    /// The bits of an RSA key; 0 for a key on P-256.
    int32_t rsa_bit_count;
    /// The bounds of validity, in seconds from the current time.
    int64_t not_before;
    int64_t not_after;
};

/// Makes a key and a certificate and writes them to new PEM files; only the owner can read the key. Returns 0, or -1
/// after a failure. Existing files are replaced.
int32_t martlet_tls_make_certificate(
    const struct martlet_tls_certificate_request *request, const char *certificate_file, const char *key_file,
    struct martlet_tls_failure *failure);

/// Writes `count` random bytes. Returns 0, or -1 when the system has none.
int32_t martlet_tls_random(void *bytes, size_t count);

/// Writes the pin of the first certificate of a PEM file. Returns 0, or -1 if the file has none.
int32_t martlet_tls_pin_of_file(const char *path, uint8_t *pin);

#if defined(__clang__)
#pragma clang assume_nonnull end
#endif
