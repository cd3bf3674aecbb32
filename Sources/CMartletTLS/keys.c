#include "internal.h"

#ifndef __APPLE__
#include <openssl/evp.h>
#include <openssl/hmac.h>
#include <stdlib.h>
#include <string.h>

// MARK: - Derivation (RFC 5869 §2.3, RFC 8446 §7.1)

/// The maximum length of a label, without the prefix "tls13 ".
enum { max_label_byte_count = 249 };

/// HKDF-Expand-Label. Returns whether it succeeded.
static int expand(
    const EVP_MD *hash, const uint8_t *secret, const char *label, const uint8_t *context, size_t context_count,
    uint8_t *output, size_t count) {
    size_t hash_count = (size_t)EVP_MD_get_size(hash);
    size_t label_count = strnlen(label, max_label_byte_count + 1);
    if (label_count > max_label_byte_count || count > 255 * hash_count || context_count > EVP_MAX_MD_SIZE) return 0;
    // The previous block, the label's structure, the number of the block.
    uint8_t input[EVP_MAX_MD_SIZE + 4 + 255 + EVP_MAX_MD_SIZE + 1];
    uint8_t *info = input + hash_count;
    size_t used = 0;
    info[used++] = (uint8_t)(count >> 8);
    info[used++] = (uint8_t)count;
    info[used++] = (uint8_t)(6 + label_count);
    memcpy(info + used, "tls13 ", 6);
    memcpy(info + used + 6, label, label_count);
    used += 6 + label_count;
    info[used++] = (uint8_t)context_count;
    if (context_count) memcpy(info + used, context, context_count);
    used += context_count;
    uint8_t block[EVP_MAX_MD_SIZE];
    size_t done = 0;
    int is_done = 1;
    for (int number = 1; is_done && done < count; number++) {
        info[used] = (uint8_t)number;
        const uint8_t *start = number == 1 ? info : input;
        size_t start_count = used + 1 + (number == 1 ? 0 : hash_count);
        is_done = HMAC(hash, secret, (int)hash_count, start, start_count, block, NULL) != NULL;
        size_t part = count - done < hash_count ? count - done : hash_count;
        memcpy(output + done, block, part);
        memcpy(input, block, hash_count);
        done += part;
    }
    OPENSSL_cleanse(input, sizeof input);
    OPENSSL_cleanse(block, sizeof block);
    return is_done;
}

// MARK: - Directions

/// Sets the key of a direction, of its secret (RFC 8446 §7.3).
static int set_key(const struct martlet_tls_suite *suite, struct martlet_tls_direction *direction) {
    uint8_t key[EVP_MAX_KEY_LENGTH];
    int is_done = expand(
                      suite->hash, direction->secret, "key", NULL, 0, key,
                      (size_t)EVP_CIPHER_get_key_length(suite->cipher))
        && expand(suite->hash, direction->secret, "iv", NULL, 0, direction->iv, sizeof direction->iv)
        && EVP_CipherInit_ex(direction->cipher, suite->cipher, NULL, key, NULL, direction->is_written) == 1;
    OPENSSL_cleanse(key, sizeof key);
    direction->sequence = 0;
    return is_done;
}

int martlet_tls_update_key(const struct martlet_tls_suite *suite, struct martlet_tls_direction *direction) {
    uint8_t next[EVP_MAX_MD_SIZE];
    size_t count = (size_t)EVP_MD_get_size(suite->hash);
    if (!expand(suite->hash, direction->secret, "traffic upd", NULL, 0, next, count)) return 0;
    memcpy(direction->secret, next, count);
    OPENSSL_cleanse(next, sizeof next);
    return set_key(suite, direction);
}

int martlet_tls_suite_of(struct martlet_tls_suite *suite, const SSL_CIPHER *cipher) {
    switch (SSL_CIPHER_get_cipher_nid(cipher)) {
    case NID_aes_128_gcm: suite->cipher = EVP_aes_128_gcm(); break;
    case NID_aes_256_gcm: suite->cipher = EVP_aes_256_gcm(); break;
    case NID_chacha20_poly1305: suite->cipher = EVP_chacha20_poly1305(); break;
    default: return 0;
    }
    suite->hash = SSL_CIPHER_get_handshake_digest(cipher);
    suite->name = SSL_CIPHER_get_name(cipher);
    return suite->hash && EVP_MD_get_size(suite->hash) <= martlet_tls_max_secret_byte_count;
}

int martlet_tls_start_direction(
    const struct martlet_tls_suite *suite, struct martlet_tls_direction *direction, const uint8_t *secret,
    int is_written, uint64_t sequence) {
    direction->is_written = is_written;
    direction->cipher = EVP_CIPHER_CTX_new();
    memcpy(direction->secret, secret, sizeof direction->secret);
    if (!direction->cipher || !set_key(suite, direction)) return 0;
    direction->sequence = sequence;
    return 1;
}

void martlet_tls_end_direction(struct martlet_tls_direction *direction) {
    EVP_CIPHER_CTX_free(direction->cipher);
    OPENSSL_cleanse(direction, sizeof *direction);
}

// MARK: - The exporter (RFC 8446 §7.5)

int martlet_tls_export_from(
    const struct martlet_tls_suite *suite, const uint8_t *exporter, const char *label, uint8_t *secret, size_t count) {
    uint8_t empty[EVP_MAX_MD_SIZE], derived[EVP_MAX_MD_SIZE];
    unsigned int hash_count = 0;
    int is_done = EVP_Digest("", 0, empty, &hash_count, suite->hash, NULL)
        && expand(suite->hash, exporter, label, empty, hash_count, derived, hash_count)
        && expand(suite->hash, derived, "exporter", empty, hash_count, secret, count);
    OPENSSL_cleanse(derived, sizeof derived);
    return is_done;
}

// MARK: - Secrets of a handshake

static int digit_of(char text) {
    if (text >= '0' && text <= '9') return text - '0';
    if (text >= 'a' && text <= 'f') return text - 'a' + 10;
    return text >= 'A' && text <= 'F' ? text - 'A' + 10 : -1;
}

/// A line has a label, the client's random bytes and the secret.
void martlet_tls_keep_secret(const SSL *ssl, const char *line) {
    static const char *const labels[martlet_tls_secret_count] = {
        [martlet_tls_secret_read] = "CLIENT_TRAFFIC_SECRET_0 ",
        [martlet_tls_secret_write] = "SERVER_TRAFFIC_SECRET_0 ",
        [martlet_tls_secret_exporter] = "EXPORTER_SECRET ",
    };
    martlet_tls_connection *connection = martlet_tls_connection_of(ssl);
    for (int kind = 0; kind < martlet_tls_secret_count; kind++) {
        if (strncmp(line, labels[kind], strlen(labels[kind])) != 0) continue;
        const char *digits = strrchr(line, ' ') + 1;
        if (!connection->secrets) connection->secrets = calloc(1, sizeof *connection->secrets);
        if (!connection->secrets) return;
        uint8_t *secret = connection->secrets->bytes[kind];
        size_t count = 0;
        for (; count < martlet_tls_max_secret_byte_count; count++) {
            int high = digit_of(digits[2 * count]);
            int low = high < 0 ? -1 : digit_of(digits[2 * count + 1]);
            if (low < 0) break;
            secret[count] = (uint8_t)(high << 4 | low);
        }
        connection->secrets->byte_counts[kind] = count;
        return;
    }
}

void martlet_tls_discard_secrets(martlet_tls_connection *connection) {
    if (!connection->secrets) return;
    OPENSSL_cleanse(connection->secrets, sizeof *connection->secrets);
    free(connection->secrets);
    connection->secrets = NULL;
}
#endif
