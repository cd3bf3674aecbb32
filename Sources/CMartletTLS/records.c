// The record layer of TLS 1.3 (RFC 8446 §5) for a server whose handshake is complete (C-99). OpenSSL's state of a
// connection is freed then; only the keys of both directions are kept (Specs/Decisions/0037).
#include "internal.h"

#ifndef __APPLE__
#include <openssl/evp.h>
#include <stdlib.h>
#include <string.h>

enum {
    header_byte_count = martlet_tls_record_header_byte_count,
    tag_byte_count = 16,
    /// The maximum content of a record; its type and the padding follow.
    max_content_byte_count = 1 << 14,
    max_protected_byte_count = max_content_byte_count + 256,
    /// The maximum number of records without content between those with data.
    max_empty_records = 32,
    key_update_type = 24,
};

// MARK: - Creation

int martlet_tls_start_records(martlet_tls_connection *connection) {
    SSL *ssl = connection->ssl;
    const struct martlet_tls_secrets *secrets = connection->secrets;
    // A certificate of the client is read from OpenSSL's state.
    if (!secrets || SSL_version(ssl) != TLS1_3_VERSION || SSL_get0_peer_certificate(ssl) || SSL_has_pending(ssl))
        return 0;
    struct martlet_tls_records *records = calloc(1, sizeof *records);
    if (!records) return 0;
    int is_done = martlet_tls_suite_of(&records->suite, SSL_get_current_cipher(ssl));
    for (int kind = 0; is_done && kind < martlet_tls_secret_count; kind++)
        is_done = secrets->byte_counts[kind] == (size_t)EVP_MD_get_size(records->suite.hash);
    is_done = is_done
        && martlet_tls_start_direction(
                  &records->suite, &records->read, secrets->bytes[martlet_tls_secret_read], 0, 0)
        && martlet_tls_start_direction(
                  &records->suite, &records->write, secrets->bytes[martlet_tls_secret_write], 1,
                  connection->written_record_count);
    if (!is_done) {
        martlet_tls_free_records(records);
        return 0;
    }
    memcpy(records->exporter, secrets->bytes[martlet_tls_secret_exporter], sizeof records->exporter);
    records->is_resumed = (uint8_t)SSL_session_reused(ssl);
    connection->records = records;
    return 1;
}

void martlet_tls_free_records(struct martlet_tls_records *records) {
    if (!records) return;
    martlet_tls_end_direction(&records->read);
    martlet_tls_end_direction(&records->write);
    free(records->partial);
    OPENSSL_cleanse(records, sizeof *records);
    free(records);
}

int martlet_tls_records_are_resumed(const struct martlet_tls_records *records) { return records->is_resumed; }

const char *martlet_tls_records_cipher(const struct martlet_tls_records *records) { return records->suite.name; }

int martlet_tls_records_export(
    const struct martlet_tls_records *records, const char *label, uint8_t *secret, size_t count) {
    return martlet_tls_export_from(&records->suite, records->exporter, label, secret, count);
}

// MARK: - Protection (RFC 8446 §5.2)

/// Begins the protection of the next record of a direction. Each number of a record is used once with a key.
static int begin(struct martlet_tls_direction *direction, const uint8_t *header) {
    uint8_t nonce[sizeof direction->iv];
    memcpy(nonce, direction->iv, sizeof nonce);
    for (int index = 0; index < 8; index++)
        nonce[sizeof nonce - 1 - (size_t)index] ^= (uint8_t)(direction->sequence >> (8 * index));
    direction->sequence++;
    int count = 0;
    return EVP_CipherInit_ex(direction->cipher, NULL, NULL, NULL, nonce, -1) == 1
        && EVP_CipherUpdate(direction->cipher, NULL, &count, header, header_byte_count) == 1;
}

int martlet_tls_seal(
    struct martlet_tls_direction *direction, uint8_t type, const uint8_t *bytes, size_t count, uint8_t *output) {
    size_t protected_count = count + 1 + tag_byte_count;
    output[0] = SSL3_RT_APPLICATION_DATA;
    output[1] = 3;
    output[2] = 3;
    output[3] = (uint8_t)(protected_count >> 8);
    output[4] = (uint8_t)protected_count;
    uint8_t *body = output + header_byte_count;
    int used = 0;
    return begin(direction, output) && EVP_CipherUpdate(direction->cipher, body, &used, bytes, (int)count) == 1
        && EVP_CipherUpdate(direction->cipher, body + count, &used, &type, 1) == 1
        && EVP_CipherFinal_ex(direction->cipher, body + count + 1, &used) == 1
        && EVP_CIPHER_CTX_ctrl(
               direction->cipher, EVP_CTRL_AEAD_GET_TAG, tag_byte_count, body + count + 1) == 1;
}

/// Decrypts the protected part of a record to `output`, which may be the same memory. Returns whether it is authentic.
static int unseal(
    struct martlet_tls_direction *direction, const uint8_t *header, const uint8_t *body, size_t count,
    uint8_t *output) {
    size_t plain_count = count - tag_byte_count;
    uint8_t tag[tag_byte_count];
    memcpy(tag, body + plain_count, sizeof tag);
    int used = 0;
    return begin(direction, header)
        && EVP_CipherUpdate(direction->cipher, output, &used, body, (int)plain_count) == 1
        && EVP_CIPHER_CTX_ctrl(direction->cipher, EVP_CTRL_AEAD_SET_TAG, tag_byte_count, tag) == 1
        && EVP_CipherFinal_ex(direction->cipher, output + plain_count, &used) == 1;
}

// MARK: - Output

/// Writes a record to the memory of the call if it fits and no other record waits, and to the pending bytes otherwise.
static int emit(martlet_tls_connection *connection, uint8_t type, const uint8_t *bytes, size_t count) {
    size_t record_count = count + martlet_tls_record_overhead;
    struct martlet_tls_call *call = connection->call;
    struct martlet_tls_direction *direction = &connection->records->write;
    if (call && martlet_tls_pending_count(connection) == 0
        && call->record_capacity - call->record_count >= record_count) {
        if (!martlet_tls_seal(direction, type, bytes, count, call->records + call->record_count)) return 0;
        call->record_count += record_count;
        return 1;
    }
    uint8_t *room = martlet_tls_reserve_pending(connection, record_count);
    if (!room || !martlet_tls_seal(direction, type, bytes, count, room)) return 0;
    connection->pending_end += (uint32_t)record_count;
    return 1;
}

/// Changes the key of this side's direction, and notifies the peer (RFC 8446 §4.6.3).
static int change_write_key(martlet_tls_connection *connection) {
    static const uint8_t message[] = {key_update_type, 0, 0, 1, 0};
    return emit(connection, SSL3_RT_HANDSHAKE, message, sizeof message)
        && martlet_tls_update_key(&connection->records->suite, &connection->records->write);
}

/// Ends the connection because of an error of the peer, which an alert reports.
static void fail(martlet_tls_connection *connection, int kind, int alert, const char *text) {
    struct martlet_tls_failure *failure = martlet_tls_failure_of(connection);
    if (failure->kind == martlet_tls_failure_none) {
        failure->kind = kind;
        martlet_tls_copy_text(failure->text, sizeof failure->text, text);
    }
    uint8_t message[] = {SSL3_AL_FATAL, (uint8_t)alert};
    if (alert >= 0) emit(connection, SSL3_RT_ALERT, message, sizeof message);
    connection->state = martlet_tls_failed;
}

static void fail_protocol(martlet_tls_connection *connection, int alert, const char *text) {
    fail(connection, martlet_tls_failure_protocol_error, alert, text);
}

int martlet_tls_send_records(martlet_tls_connection *connection, const uint8_t *bytes, size_t count) {
    while (count) {
        size_t part = count < max_content_byte_count ? count : max_content_byte_count;
        // A key is changed before its records could be distinguished from random bytes (RFC 8446 §5.5).
        struct martlet_tls_direction *direction = &connection->records->write;
        // The last record with a key is the key update.
        int is_last = direction->sequence + 1 >= connection->context->max_record_count;
        int is_done = (!is_last || change_write_key(connection))
            && emit(connection, SSL3_RT_APPLICATION_DATA, bytes, part);
        if (!is_done) {
            fail_protocol(connection, -1, "encryption failed");
            return 0;
        }
        bytes += part;
        count -= part;
    }
    return 1;
}

void martlet_tls_send_close(martlet_tls_connection *connection) {
    static const uint8_t message[] = {SSL3_AL_WARNING, SSL_AD_CLOSE_NOTIFY};
    emit(connection, SSL3_RT_ALERT, message, sizeof message);
}

// MARK: - Input

/// Counts records without content, which only cost time.
static void count_empty(martlet_tls_connection *connection) {
    if (++connection->records->empty_count > max_empty_records)
        fail(connection, martlet_tls_failure_limit, SSL_AD_UNEXPECTED_MESSAGE, "too many empty records");
}

static void receive_alert(martlet_tls_connection *connection, const uint8_t *bytes, size_t count) {
    if (count != 2) return fail_protocol(connection, SSL_AD_DECODE_ERROR, "invalid alert");
    switch (bytes[1]) {
    case SSL_AD_CLOSE_NOTIFY: connection->state = martlet_tls_peer_closed; return;
    case SSL_AD_USER_CANCELLED: return count_empty(connection);
    default: return fail(connection, martlet_tls_failure_alert, -1, martlet_tls_alert_name(bytes[1]));
    }
}

/// Processes a part of a key update, the only handshake message that a client sends to an open connection. The keys
/// change at the end of a record.
static void receive_handshake(martlet_tls_connection *connection, const uint8_t *bytes, size_t count) {
    struct martlet_tls_records *records = connection->records;
    size_t room = sizeof records->message - records->message_count;
    if (count == 0 || count > room)
        return fail_protocol(connection, SSL_AD_UNEXPECTED_MESSAGE, "unexpected message");
    memcpy(records->message + records->message_count, bytes, count);
    records->message_count += (uint8_t)count;
    if (records->message[0] != key_update_type)
        return fail_protocol(connection, SSL_AD_UNEXPECTED_MESSAGE, "unexpected message");
    if (records->message_count < sizeof records->message) return;
    records->message_count = 0;
    if (records->message[1] || records->message[2] || records->message[3] != 1)
        return fail_protocol(connection, SSL_AD_DECODE_ERROR, "invalid key update");
    if (records->message[4] > 1)
        return fail_protocol(connection, SSL_AD_ILLEGAL_PARAMETER, "invalid key update");
    if (++connection->key_update_count > martlet_tls_max_key_updates)
        return fail(connection, martlet_tls_failure_limit, SSL_AD_UNEXPECTED_MESSAGE, "too many key updates");
    int is_done = martlet_tls_update_key(&records->suite, &records->read)
        && (records->message[4] == 0 || change_write_key(connection));
    if (!is_done) fail_protocol(connection, SSL_AD_INTERNAL_ERROR, "key update failed");
}

/// Processes the decrypted part of a record. Returns the number of bytes of application data in it.
static size_t receive_plain(martlet_tls_connection *connection, const uint8_t *bytes, size_t count) {
    struct martlet_tls_records *records = connection->records;
    // The type is the last byte that is not padding.
    while (count && bytes[count - 1] == 0) count--;
    if (count == 0) {
        fail_protocol(connection, SSL_AD_UNEXPECTED_MESSAGE, "record without a type");
        return 0;
    }
    uint8_t type = bytes[--count];
    if (count > max_content_byte_count) {
        fail_protocol(connection, SSL_AD_RECORD_OVERFLOW, "data length too long");
        return 0;
    }
    if (records->message_count && type != SSL3_RT_HANDSHAKE) {
        fail_protocol(connection, SSL_AD_UNEXPECTED_MESSAGE, "unexpected record");
        return 0;
    }
    switch (type) {
    case SSL3_RT_APPLICATION_DATA:
        if (count == 0) {
            count_empty(connection);
            return 0;
        }
        records->empty_count = 0;
        connection->key_update_count = 0;
        return count;
    case SSL3_RT_ALERT: receive_alert(connection, bytes, count); return 0;
    case SSL3_RT_HANDSHAKE: receive_handshake(connection, bytes, count); return 0;
    default: fail_protocol(connection, SSL_AD_UNEXPECTED_MESSAGE, "unexpected record"); return 0;
    }
}

/// Checks the header of a record. Returns the length of the protected part; 0 after a failure.
static size_t check_header(martlet_tls_connection *connection, const uint8_t *header) {
    size_t count = (size_t)header[3] << 8 | header[4];
    if (header[0] != SSL3_RT_APPLICATION_DATA)
        fail_protocol(connection, SSL_AD_UNEXPECTED_MESSAGE, "unexpected record");
    else if (header[1] != 3 || header[2] != 3)
        fail_protocol(connection, SSL_AD_PROTOCOL_VERSION, "wrong version number");
    else if (count > max_protected_byte_count)
        fail_protocol(connection, SSL_AD_RECORD_OVERFLOW, "encrypted length too long");
    else if (count <= tag_byte_count)
        fail_protocol(connection, SSL_AD_BAD_RECORD_MAC, "length too short");
    else
        return count;
    return 0;
}

static int fails_to_unseal(
    martlet_tls_connection *connection, const uint8_t *header, const uint8_t *body, size_t count, uint8_t *output) {
    if (unseal(&connection->records->read, header, body, count, output)) return 0;
    OPENSSL_cleanse(output, count - tag_byte_count);
    fail_protocol(connection, SSL_AD_BAD_RECORD_MAC, "decryption failed or bad record mac");
    return 1;
}

/// Keeps input of an incomplete record. Returns whether the record is complete.
static int complete_partial(martlet_tls_connection *connection, struct martlet_tls_call *call) {
    struct martlet_tls_records *records = connection->records;
    while (connection->state == martlet_tls_open) {
        size_t goal = header_byte_count;
        if (records->partial_count >= header_byte_count) {
            size_t count = check_header(connection, records->partial);
            if (count == 0) return 0;
            goal += count;
        }
        size_t part = goal - records->partial_count;
        if (part == 0) return 1;
        if (call->input_count == 0) return 0;
        if (part > call->input_count) part = call->input_count;
        if (records->partial_count == 0 || records->partial_count == header_byte_count) {
            uint8_t *memory = realloc(records->partial, goal);
            if (!memory) {
                fail_protocol(connection, SSL_AD_INTERNAL_ERROR, "no memory");
                return 0;
            }
            records->partial = memory;
        }
        memcpy(records->partial + records->partial_count, call->input, part);
        records->partial_count += (uint32_t)part;
        call->input += part;
        call->input_count -= part;
    }
    return 0;
}

/// Processes the record whose first part was kept.
static size_t receive_partial(
    martlet_tls_connection *connection, struct martlet_tls_call *call, uint8_t *plain, size_t capacity) {
    struct martlet_tls_records *records = connection->records;
    if (!complete_partial(connection, call)) return 0;
    size_t count = records->partial_count - header_byte_count;
    uint8_t *body = records->partial + header_byte_count;
    size_t received = 0;
    if (!fails_to_unseal(connection, records->partial, body, count, body))
        received = receive_plain(connection, body, count - tag_byte_count);
    if (received > capacity) abort();
    if (received) memcpy(plain, body, received);
    free(records->partial);
    records->partial = NULL;
    records->partial_count = 0;
    return received;
}

size_t martlet_tls_receive_records(martlet_tls_connection *connection, uint8_t *plain, size_t capacity) {
    struct martlet_tls_call *call = connection->call;
    size_t used = 0;
    if (connection->records->partial_count) used = receive_partial(connection, call, plain, capacity);
    while (connection->state == martlet_tls_open && call->input_count) {
        size_t count = 0;
        if (call->input_count >= header_byte_count) {
            count = check_header(connection, call->input);
            if (count == 0) break;
        }
        if (count == 0 || call->input_count < header_byte_count + count) {
            complete_partial(connection, call);
            break;
        }
        const uint8_t *header = call->input;
        call->input += header_byte_count + count;
        call->input_count -= header_byte_count + count;
        // A whole record of the input fits: the plaintext is shorter than the input, and than 16 KiB before it.
        uint8_t *output = plain + used;
        if (capacity - used < count - tag_byte_count) abort();
        if (fails_to_unseal(connection, header, header + header_byte_count, count, output)) break;
        used += receive_plain(connection, output, count - tag_byte_count);
    }
    return used;
}
#endif
