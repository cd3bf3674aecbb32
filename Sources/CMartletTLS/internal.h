#pragma once

#include "CMartletTLS.h"

#ifndef __APPLE__
#include <openssl/ssl.h>
#include <openssl/x509.h>

struct martlet_tls_context {
    SSL_CTX *ssl;
    int is_server;
    uint8_t *pins;
    size_t pin_count;
    uint8_t *ticket_keys;
    size_t ticket_key_count;
    /// The length of the protocol's name, and the name.
    uint8_t protocol[256];
};

/// The memory of the caller in one call: input, or room for records.
struct martlet_tls_call {
    const uint8_t *input;
    size_t input_count;
    uint8_t *records;
    size_t record_capacity;
    size_t record_count;
};

struct martlet_tls_connection {
    SSL *ssl;
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
#endif
