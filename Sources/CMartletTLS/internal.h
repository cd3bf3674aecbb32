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

struct martlet_tls_connection {
    SSL *ssl;
    martlet_tls_context *context;
    int32_t state;
    /// Allocated when a check fails.
    struct martlet_tls_failure *failure;
    SSL_SESSION *session;
    /// Input of the current call.
    const uint8_t *input;
    size_t input_count;
    /// Room for records in the current call; null while none is given.
    uint8_t *records;
    size_t record_capacity;
    size_t record_count;
    /// Records without room, sent before all others.
    uint8_t *pending;
    size_t pending_start;
    size_t pending_end;
    size_t pending_capacity;
    int key_update_count;
    int has_sent_close;
};

/// Copies a text, truncated to fit.
void martlet_tls_copy_text(char *target, size_t capacity, const char *text);
/// The failure of a connection, allocated on first use.
struct martlet_tls_failure *martlet_tls_failure_of(martlet_tls_connection *connection);
/// The index of the connection in the data of an SSL object.
int martlet_tls_connection_index(void);
/// Records a verification error.
void martlet_tls_note_verification(struct martlet_tls_failure *failure, X509 *certificate, int error);
/// Computes the pin of a certificate. Returns whether it succeeded.
int martlet_tls_pin_of(X509 *certificate, uint8_t *pin);
#endif
