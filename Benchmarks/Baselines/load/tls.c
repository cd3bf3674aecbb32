// TLS for every protocol of the load, and a load of handshakes.
//
// Certificates are not verified, because the server is measured and not the load.
#define _GNU_SOURCE
#include "load.h"

#include <errno.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <openssl/ssl.h>
#include <poll.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

static SSL_CTX *context;
static SSL_SESSION *session;
static uint64_t session_count;

static int keep_session(SSL *ssl, SSL_SESSION *new_session) {
    SSL_SESSION_free(session);
    session = new_session;
    session_count++;
    return 1;
}

static void prepare(void) {
    if (context != NULL) return;
    context = SSL_CTX_new(TLS_client_method());
    if (context == NULL) fail("no TLS");
    SSL_CTX_set_mode(
        context, SSL_MODE_RELEASE_BUFFERS | SSL_MODE_ENABLE_PARTIAL_WRITE | SSL_MODE_ACCEPT_MOVING_WRITE_BUFFER);
    SSL_CTX_set_session_cache_mode(context, SSL_SESS_CACHE_CLIENT | SSL_SESS_CACHE_NO_INTERNAL);
    SSL_CTX_sess_set_new_cb(context, keep_session);
    if (options.is_web)
        SSL_CTX_set_alpn_protos(context, (const uint8_t *)"\x08http/1.1", 9);
    else if (options.protocol == &martlet || options.protocol == &compact || options.protocol == &handshakes)
        SSL_CTX_set_alpn_protos(context, (const uint8_t *)"\x09martlet/1", 10);
}

/// NATS begins with a line in the clear.
static void skip_line(int fd) {
    char byte = 0;
    while (byte != '\n')
        if (recv(fd, &byte, 1, 0) != 1) fail("the server ended the connection");
}

static SSL *connect_session(int fd, SSL_SESSION *resumed) {
    SSL *ssl = SSL_new(context);
    if (ssl == NULL || SSL_set_fd(ssl, fd) != 1) fail("no TLS connection");
    if (resumed != NULL) SSL_set_session(ssl, resumed);
    if (SSL_connect(ssl) != 1) fail("the TLS handshake fails");
    return ssl;
}

void tls_connect(struct connection *c) {
    prepare();
    if (options.protocol == &nats || options.protocol == &jetstream) skip_line(c->fd);
    c->tls = connect_session(c->fd, NULL);
}

static ssize_t result_of(SSL *ssl, int result) {
    int error = SSL_get_error(ssl, result);
    if (error == SSL_ERROR_ZERO_RETURN) return 0;
    errno = error == SSL_ERROR_WANT_READ || error == SSL_ERROR_WANT_WRITE ? EAGAIN : EPROTO;
    return -1;
}

ssize_t tls_send(struct connection *c, const void *bytes, size_t count) {
    int result = SSL_write(c->tls, bytes, (int)count);
    return result > 0 ? result : result_of(c->tls, result);
}

ssize_t tls_receive(struct connection *c, void *bytes, size_t count) {
    int result = SSL_read(c->tls, bytes, (int)count);
    return result > 0 ? result : result_of(c->tls, result);
}

bool tls_has_input(const struct connection *c) { return SSL_pending(c->tls) > 0; }

// Handshakes, one after another

static void no_start(struct connection *c) {}
static size_t no_parse(struct connection *c, const uint8_t *bytes, size_t count) { return count; }
const struct protocol handshakes = {.name = "handshakes", .port = 7227, .start = no_start, .parse = no_parse};

/// Connects, waits for a ticket, which completes the handshake at the server, and closes.
static void perform(bool resumes) {
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    struct sockaddr_in address = {.sin_family = AF_INET, .sin_port = htons(options.port)};
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    if (connect(fd, (struct sockaddr *)&address, sizeof address) < 0) fail("cannot connect");
    SSL_SESSION *resumed = resumes ? session : NULL;
    if (resumed != NULL) SSL_SESSION_up_ref(resumed);
    uint64_t before = session_count;
    SSL *ssl = connect_session(fd, resumed);
    fcntl(fd, F_SETFL, O_NONBLOCK);
    if (resumed != NULL && !SSL_session_reused(ssl)) fail("the session is not resumed");
    while (session_count == before) {
        struct pollfd event = {.fd = fd, .events = POLLIN};
        if (poll(&event, 1, 5000) != 1) fail("there is no ticket");
        // The read takes the ticket, and there is no data.
        char byte;
        int result = SSL_read(ssl, &byte, 1);
        if (result > 0 || SSL_get_error(ssl, result) != SSL_ERROR_WANT_READ) fail("the server ended the connection");
    }
    // An ended session could not be resumed.
    SSL_set_shutdown(ssl, SSL_SENT_SHUTDOWN | SSL_RECEIVED_SHUTDOWN);
    SSL_free(ssl);
    SSL_SESSION_free(resumed);
    close(fd);
}

void run_handshakes(void) {
    prepare();
    uint64_t count = 0, begin = 0, now = now_ns(), start = now + (uint64_t)(options.warm_up * 1e9), stop = 0;
    while (begin == 0 || now < stop) {
        perform(options.resumes);
        now = now_ns();
        if (begin != 0) {
            count++;
        } else if (now >= start) {
            begin = now;
            stop = begin + (uint64_t)(options.seconds * 1e9);
            printf("begin\n");
            fflush(stdout);
        }
    }
    printf("end\n{\"perSecond\":%.1f,\"messages\":%llu}\n", (double)count / ((double)(now - begin) / 1e9),
           (unsigned long long)count);
}
