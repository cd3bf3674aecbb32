#include "CMartletTLS.h"

// On Apple systems clients use Network.framework. No context can be created, so no connection exists.
#ifdef __APPLE__
#include <stdlib.h>
#include <string.h>

static int32_t fail(struct martlet_tls_failure *failure) {
    memset(failure, 0, sizeof *failure);
    failure->kind = martlet_tls_failure_protocol_error;
    strncpy(failure->text, "OpenSSL is not used on this system", sizeof failure->text - 1);
    return -1;
}

martlet_tls_context *martlet_tls_context_create(
    const struct martlet_tls_options *options, struct martlet_tls_failure *failure) {
    (void)options;
    fail(failure);
    return NULL;
}

void martlet_tls_context_free(martlet_tls_context *context) { (void)context; }

int32_t martlet_tls_context_check_validity(const martlet_tls_context *context, struct martlet_tls_failure *failure) {
    (void)context;
    return fail(failure);
}

void martlet_tls_session_free(martlet_tls_session *session) { (void)session; }

martlet_tls_connection *martlet_tls_connection_create(
    martlet_tls_context *context, const char *host, martlet_tls_session *session) {
    (void)context, (void)host, (void)session;
    return NULL;
}

void martlet_tls_connection_free(martlet_tls_connection *connection) { (void)connection; }

int32_t martlet_tls_receive(
    martlet_tls_connection *connection, const void *bytes, size_t count, void *plain, size_t capacity,
    size_t *plain_count) {
    (void)connection, (void)bytes, (void)count, (void)plain, (void)capacity;
    *plain_count = 0;
    return martlet_tls_failed;
}

ptrdiff_t martlet_tls_send(
    martlet_tls_connection *connection, const void *bytes, size_t count, void *records, size_t capacity) {
    (void)connection, (void)bytes, (void)count, (void)records, (void)capacity;
    return -1;
}

void martlet_tls_close(martlet_tls_connection *connection) { (void)connection; }

size_t martlet_tls_pending_count(const martlet_tls_connection *connection) {
    (void)connection;
    return 0;
}

size_t martlet_tls_take_pending(martlet_tls_connection *connection, void *records, size_t capacity) {
    (void)connection, (void)records, (void)capacity;
    return 0;
}

void martlet_tls_get_failure(const martlet_tls_connection *connection, struct martlet_tls_failure *failure) {
    (void)connection;
    fail(failure);
}

martlet_tls_session *martlet_tls_take_session(martlet_tls_connection *connection) {
    (void)connection;
    return NULL;
}

int32_t martlet_tls_is_resumed(const martlet_tls_connection *connection) {
    (void)connection;
    return 0;
}

const char *martlet_tls_version(const martlet_tls_connection *connection) {
    (void)connection;
    return "";
}

const char *martlet_tls_cipher(const martlet_tls_connection *connection) {
    (void)connection;
    return "";
}

int32_t martlet_tls_export(martlet_tls_connection *connection, const char *label, void *secret, size_t count) {
    (void)connection, (void)label, (void)secret, (void)count;
    return -1;
}

ptrdiff_t martlet_tls_read_peer(
    const martlet_tls_connection *connection, int64_t *not_after, uint8_t *pin, uint8_t *names, size_t capacity) {
    (void)connection, (void)not_after, (void)pin, (void)names, (void)capacity;
    return -1;
}

int32_t martlet_tls_make_certificate(
    const struct martlet_tls_certificate_request *request, const char *certificate_file, const char *key_file,
    struct martlet_tls_failure *failure) {
    (void)request, (void)certificate_file, (void)key_file;
    return fail(failure);
}

int32_t martlet_tls_random(void *bytes, size_t count) {
    arc4random_buf(bytes, count);
    return 0;
}

int32_t martlet_tls_pin_of_file(const char *path, uint8_t *pin) {
    (void)path, (void)pin;
    return -1;
}
#endif
