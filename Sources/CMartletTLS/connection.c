#include "internal.h"

#ifndef __APPLE__
#include <openssl/err.h>
#include <openssl/x509v3.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

static pthread_once_t once = PTHREAD_ONCE_INIT;
static BIO_METHOD *method;

martlet_tls_connection *martlet_tls_connection_of(const SSL *ssl) { return BIO_get_data(SSL_get_rbio(ssl)); }

// MARK: - The failure

struct martlet_tls_failure *martlet_tls_failure_of(martlet_tls_connection *connection) {
    if (!connection->failure) connection->failure = calloc(1, sizeof *connection->failure);
    if (!connection->failure) abort();
    return connection->failure;
}

static int has_reached_limit(const martlet_tls_connection *connection) {
    return connection->failure && connection->failure->kind == martlet_tls_failure_limit;
}

static void note_limit(martlet_tls_connection *connection, const char *text) {
    struct martlet_tls_failure *failure = martlet_tls_failure_of(connection);
    failure->kind = martlet_tls_failure_limit;
    martlet_tls_copy_text(failure->text, sizeof failure->text, text);
}

// MARK: - The BIO over the caller's memory

static int read_input(BIO *bio, char *target, int count) {
    martlet_tls_connection *connection = BIO_get_data(bio);
    BIO_clear_retry_flags(bio);
    if (has_reached_limit(connection)) return -1;
    struct martlet_tls_call *call = connection->call;
    if (!call || call->input_count == 0) {
        BIO_set_retry_read(bio);
        return -1;
    }
    size_t taken = (size_t)count < call->input_count ? (size_t)count : call->input_count;
    memcpy(target, call->input, taken);
    call->input += taken;
    call->input_count -= taken;
    return (int)taken;
}

uint8_t *martlet_tls_reserve_pending(martlet_tls_connection *connection, size_t count) {
    size_t used = martlet_tls_pending_count(connection);
    if (used + count > martlet_tls_max_pending_byte_count) {
        note_limit(connection, "too many unsent bytes");
        return NULL;
    }
    if (connection->pending_end + count > connection->pending_capacity) {
        size_t capacity = used + count + 1024;
        uint8_t *memory = malloc(capacity);
        if (!memory) return NULL;
        if (used) memcpy(memory, connection->pending + connection->pending_start, used);
        free(connection->pending);
        connection->pending = memory;
        connection->pending_start = 0;
        connection->pending_end = (uint32_t)used;
        connection->pending_capacity = (uint32_t)capacity;
    }
    return connection->pending + connection->pending_end;
}

static int append_pending(martlet_tls_connection *connection, const char *bytes, size_t count) {
    uint8_t *room = martlet_tls_reserve_pending(connection, count);
    if (!room) return 0;
    memcpy(room, bytes, count);
    connection->pending_end += (uint32_t)count;
    return 1;
}

static int write_output(BIO *bio, const char *bytes, int count) {
    martlet_tls_connection *connection = BIO_get_data(bio);
    BIO_clear_retry_flags(bio);
    size_t direct = 0;
    // Once a record did not fit, all later ones follow it.
    struct martlet_tls_call *call = connection->call;
    if (call && connection->pending_end == connection->pending_start) {
        size_t room = call->record_capacity - call->record_count;
        direct = (size_t)count < room ? (size_t)count : room;
        if (direct) memcpy(call->records + call->record_count, bytes, direct);
        call->record_count += direct;
    }
    if (direct == (size_t)count) return count;
    return append_pending(connection, bytes + direct, (size_t)count - direct) ? count : -1;
}

static long control(BIO *bio, int command, long number, void *pointer) {
    (void)bio, (void)number, (void)pointer;
    return command == BIO_CTRL_FLUSH;
}

static void initialize(void) {
    method = BIO_meth_new(BIO_get_new_index() | BIO_TYPE_SOURCE_SINK, "martlet");
    BIO_meth_set_read(method, read_input);
    BIO_meth_set_write(method, write_output);
    BIO_meth_set_ctrl(method, control);
}

// MARK: - Creation

/// Counts key updates, each of which costs a key derivation (RFC 8446 §4.6.3), and the records of a server behind the
/// handshake.
static void count_messages(
    int is_written, int version, int type, const void *bytes, size_t count, SSL *ssl, void *argument) {
    (void)version, (void)ssl;
    martlet_tls_connection *connection = argument;
    if (is_written) {
        // The client's secret follows its last handshake message, behind which the server sends tickets only.
        const struct martlet_tls_secrets *secrets = connection->secrets;
        if (type == SSL3_RT_HEADER && secrets && secrets->byte_counts[martlet_tls_secret_read])
            connection->written_record_count++;
        return;
    }
    if (type != SSL3_RT_HANDSHAKE || count == 0) return;
    if (*(const uint8_t *)bytes != SSL3_MT_KEY_UPDATE) return;
    if (++connection->key_update_count <= martlet_tls_max_key_updates) return;
    note_limit(connection, "too many key updates");
}

static int set_host(SSL *ssl, const char *host) {
    X509_VERIFY_PARAM *parameters = SSL_get0_param(ssl);
    // A numeric address is not sent as a name (RFC 6066 §3).
    if (X509_VERIFY_PARAM_set1_ip_asc(parameters, host) == 1) return 1;
    ERR_clear_error();
    SSL_set_hostflags(ssl, X509_CHECK_FLAG_NO_PARTIAL_WILDCARDS | X509_CHECK_FLAG_NEVER_CHECK_SUBJECT);
    return SSL_set1_host(ssl, host) == 1 && SSL_set_tlsext_host_name(ssl, host) == 1;
}

martlet_tls_connection *martlet_tls_connection_create(
    martlet_tls_context *context, const char *host, martlet_tls_session *session) {
    pthread_once(&once, initialize);
    martlet_tls_connection *connection = calloc(1, sizeof *connection);
    if (!connection) return NULL;
    connection->context = context;
    connection->ssl = SSL_new(context->ssl);
    BIO *bio = method ? BIO_new(method) : NULL;
    if (!connection->ssl || !bio) {
        BIO_free(bio);
        martlet_tls_connection_free(connection);
        return NULL;
    }
    BIO_set_data(bio, connection);
    BIO_set_init(bio, 1);
    SSL_set_bio(connection->ssl, bio, bio);
    SSL_set_msg_callback(connection->ssl, count_messages);
    SSL_set_msg_callback_arg(connection->ssl, connection);
    if (context->is_server) {
        SSL_set_accept_state(connection->ssl);
    } else {
        SSL_set_connect_state(connection->ssl);
        if (!host || !set_host(connection->ssl, host)) {
            martlet_tls_connection_free(connection);
            return NULL;
        }
        if (session) SSL_set_session(connection->ssl, (SSL_SESSION *)session);
    }
    return connection;
}

int32_t martlet_tls_offer_web(martlet_tls_connection *connection) {
    connection->offers_web = 1;
    int result = SSL_set_alpn_protos(
        connection->ssl, martlet_tls_web_protocol, martlet_tls_web_protocol_byte_count);
    return result == 0 ? 0 : -1;
}

int32_t martlet_tls_selected_protocol(const martlet_tls_connection *connection) {
    return connection->selected_protocol;
}

static void free_ssl(martlet_tls_connection *connection) {
    if (!connection->ssl) return;
    // Without this the session of a lost connection could not be resumed (openssl/openssl#4720).
    SSL_set_shutdown(connection->ssl, SSL_SENT_SHUTDOWN | SSL_RECEIVED_SHUTDOWN);
    SSL_free(connection->ssl);
    connection->ssl = NULL;
}

void martlet_tls_connection_free(martlet_tls_connection *connection) {
    free_ssl(connection);
    martlet_tls_free_records(connection->records);
    martlet_tls_discard_secrets(connection);
    SSL_SESSION_free(connection->session);
    free(connection->pending);
    free(connection->failure);
    free(connection);
}

// MARK: - Failures

/// The kind of failure for an error of OpenSSL.
static int kind_of(unsigned long error) {
    int reason = ERR_GET_REASON(error);
    if (ERR_GET_LIB(error) != ERR_LIB_SSL) return martlet_tls_failure_protocol_error;
    switch (reason) {
    case SSL_R_UNSUPPORTED_PROTOCOL:
    case SSL_R_NO_PROTOCOLS_AVAILABLE:
    case SSL_R_WRONG_SSL_VERSION:
    case SSL_R_VERSION_TOO_LOW:
    case SSL_R_TLSV1_ALERT_PROTOCOL_VERSION: return martlet_tls_failure_version;
    case SSL_R_NO_APPLICATION_PROTOCOL:
    case SSL_AD_REASON_OFFSET + SSL_AD_NO_APPLICATION_PROTOCOL: return martlet_tls_failure_no_protocol;
    case SSL_R_PEER_DID_NOT_RETURN_A_CERTIFICATE: return martlet_tls_failure_no_certificate;
    case SSL_R_EXCESSIVE_MESSAGE_SIZE: return martlet_tls_failure_limit;
    case SSL_R_EE_KEY_TOO_SMALL:
    case SSL_R_CA_KEY_TOO_SMALL:
    case SSL_R_CA_MD_TOO_WEAK:
    case SSL_R_DH_KEY_TOO_SMALL: return martlet_tls_failure_weak;
    case SSL_R_WRONG_VERSION_NUMBER:
    case SSL_R_HTTP_REQUEST:
    case SSL_R_HTTPS_PROXY_REQUEST: return martlet_tls_failure_not_tls;
    default: return reason > SSL_AD_REASON_OFFSET ? martlet_tls_failure_alert : martlet_tls_failure_protocol_error;
    }
}

/// The name of an alert (RFC 8446 §6). OpenSSL has none for those that are new in TLS 1.3.
const char *martlet_tls_alert_name(int alert) {
    switch (alert) {
    case SSL_AD_MISSING_EXTENSION: return "missing extension";
    case SSL_AD_CERTIFICATE_REQUIRED: return "certificate required";
    default: return SSL_alert_desc_string_long(alert);
    }
}

static void note_failure(martlet_tls_connection *connection) {
    struct martlet_tls_failure *failure = martlet_tls_failure_of(connection);
    int is_handshaking = connection->state == martlet_tls_handshaking;
    connection->state = martlet_tls_failed;
    if (failure->kind == martlet_tls_failure_none) {
        unsigned long error = ERR_peek_last_error();
        failure->kind = kind_of(error);
        // A peer that has completed the handshake uses TLS.
        if (failure->kind == martlet_tls_failure_not_tls && !is_handshaking)
            failure->kind = martlet_tls_failure_protocol_error;
        const char *text = ERR_reason_error_string(error);
        if (failure->kind == martlet_tls_failure_alert)
            text = martlet_tls_alert_name(ERR_GET_REASON(error) - SSL_AD_REASON_OFFSET);
        martlet_tls_copy_text(failure->text, sizeof failure->text, text ? text : "unknown error");
    }
    ERR_clear_error();
}

// MARK: - Input and output

static int finish_handshake(martlet_tls_connection *connection) {
    ERR_clear_error();
    int result = SSL_do_handshake(connection->ssl);
    if (result == 1) {
        const unsigned char *protocol;
        unsigned int count;
        SSL_get0_alpn_selected(connection->ssl, &protocol, &count);
        const uint8_t *own = connection->context->protocol;
        int accepts_web = connection->context->accepts_web || connection->offers_web;
        int is_own = !connection->offers_web && count == own[0] && memcmp(protocol, own + 1, count) == 0;
        int is_web = accepts_web && count == martlet_tls_web_protocol[0]
            && memcmp(protocol, martlet_tls_web_protocol + 1, count) == 0;
        connection->selected_protocol = is_own ? martlet_tls_protocol_own
            : is_web ? martlet_tls_protocol_web
                     : martlet_tls_protocol_none;
        if (!is_own && !is_web && !(accepts_web && count == 0)) {
            martlet_tls_failure_of(connection)->kind = martlet_tls_failure_no_protocol;
            note_failure(connection);
            return 0;
        }
        connection->state = martlet_tls_open;
        if (martlet_tls_start_records(connection)) free_ssl(connection);
        martlet_tls_discard_secrets(connection);
        return 1;
    }
    if (SSL_get_error(connection->ssl, result) != SSL_ERROR_WANT_READ) note_failure(connection);
    return 0;
}

/// Decrypts the input of the current call. Returns the number of bytes of plaintext.
static size_t decrypt(martlet_tls_connection *connection, uint8_t *plain, size_t capacity) {
    size_t plain_count = 0;
    while (plain_count < capacity) {
        size_t read = 0;
        ERR_clear_error();
        int result = SSL_read_ex(connection->ssl, plain + plain_count, capacity - plain_count, &read);
        if (result == 1) {
            plain_count += read;
            connection->key_update_count = 0;
            continue;
        }
        switch (SSL_get_error(connection->ssl, result)) {
        case SSL_ERROR_WANT_READ: break;
        case SSL_ERROR_ZERO_RETURN: connection->state = martlet_tls_peer_closed; break;
        default:
            // OpenSSL sends no alert at a limit that is not its own.
            if (has_reached_limit(connection)) SSL_shutdown(connection->ssl);
            note_failure(connection);
            break;
        }
        break;
    }
    return plain_count;
}

int32_t martlet_tls_receive(
    martlet_tls_connection *connection, const void *bytes, size_t count, void *plain, size_t capacity,
    size_t *plain_count) {
    *plain_count = 0;
    if (connection->state == martlet_tls_failed || connection->state == martlet_tls_peer_closed)
        return connection->state;
    struct martlet_tls_call call = {.input = bytes, .input_count = count};
    connection->call = &call;
    if (connection->state != martlet_tls_handshaking || finish_handshake(connection))
        *plain_count = connection->records ? martlet_tls_receive_records(connection, plain, capacity)
                                           : decrypt(connection, plain, capacity);
    connection->call = NULL;
    return connection->state;
}

ptrdiff_t martlet_tls_send(
    martlet_tls_connection *connection, const void *bytes, size_t count, void *records, size_t capacity) {
    if (connection->state != martlet_tls_open && connection->state != martlet_tls_peer_closed) return -1;
    struct martlet_tls_call call = {.records = records, .record_capacity = capacity};
    connection->call = &call;
    if (connection->records) {
        int is_sent = martlet_tls_send_records(connection, bytes, count);
        connection->call = NULL;
        return is_sent ? (ptrdiff_t)call.record_count : -1;
    }
    size_t written = 0;
    ERR_clear_error();
    int result = count ? SSL_write_ex(connection->ssl, bytes, count, &written) : 1;
    connection->call = NULL;
    if (result == 1) return (ptrdiff_t)call.record_count;
    note_failure(connection);
    return -1;
}

void martlet_tls_close(martlet_tls_connection *connection) {
    if (connection->has_sent_close || connection->state == martlet_tls_handshaking) return;
    connection->has_sent_close = 1;
    if (connection->state == martlet_tls_failed) return;
    if (connection->records) return martlet_tls_send_close(connection);
    SSL_shutdown(connection->ssl);
    ERR_clear_error();
}

size_t martlet_tls_pending_count(const martlet_tls_connection *connection) {
    return connection->pending_end - connection->pending_start;
}

size_t martlet_tls_take_pending(martlet_tls_connection *connection, void *records, size_t capacity) {
    size_t count = martlet_tls_pending_count(connection);
    if (count > capacity) count = capacity;
    if (count) memcpy(records, connection->pending + connection->pending_start, count);
    connection->pending_start += (uint32_t)count;
    if (connection->pending_start == connection->pending_end) {
        free(connection->pending);
        connection->pending = NULL;
        connection->pending_start = connection->pending_end = connection->pending_capacity = 0;
    }
    return count;
}

void martlet_tls_get_failure(const martlet_tls_connection *connection, struct martlet_tls_failure *failure) {
    if (connection->failure)
        *failure = *connection->failure;
    else
        memset(failure, 0, sizeof *failure);
}

// MARK: - Properties

martlet_tls_session *martlet_tls_take_session(martlet_tls_connection *connection) {
    SSL_SESSION *session = connection->session;
    connection->session = NULL;
    return (martlet_tls_session *)session;
}

int32_t martlet_tls_is_resumed(const martlet_tls_connection *connection) {
    return connection->records ? martlet_tls_records_are_resumed(connection->records)
                               : SSL_session_reused(connection->ssl);
}

const char *martlet_tls_version(const martlet_tls_connection *connection) {
    return connection->records ? "TLSv1.3" : SSL_get_version(connection->ssl);
}

const char *martlet_tls_cipher(const martlet_tls_connection *connection) {
    return connection->records ? martlet_tls_records_cipher(connection->records)
                               : SSL_get_cipher_name(connection->ssl);
}

int32_t martlet_tls_export(martlet_tls_connection *connection, const char *label, void *secret, size_t count) {
    if (connection->state == martlet_tls_handshaking || connection->state == martlet_tls_failed) return -1;
    if (connection->records)
        return martlet_tls_records_export(connection->records, label, secret, count) ? 0 : -1;
    // Without the extended master secret, two connections of TLS 1.2 can have the same material (RFC 7627).
    if (SSL_version(connection->ssl) < TLS1_3_VERSION && SSL_get_extms_support(connection->ssl) != 1) return -1;
    int is_done =
        SSL_export_keying_material(connection->ssl, secret, count, label, strlen(label), (const uint8_t *)"", 0, 1);
    return is_done == 1 ? 0 : -1;
}
#endif
