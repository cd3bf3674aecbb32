// One load for every server: the same messages, the same window, the same clock; only the protocol differs.
#pragma once

#include "../wire.h"

#include <stdio.h>
#include <sys/types.h>
#include <stdlib.h>

struct connection;

/// How a server is spoken to. `parse` returns how many bytes it took; what is left comes again with more behind it.
struct protocol {
    const char *name;
    uint16_t port;
    void (*start)(struct connection *);
    size_t (*parse)(struct connection *, const uint8_t *bytes, size_t count);
    bool (*may_publish)(struct connection *);
    void (*publish)(struct connection *, const uint8_t *payload, size_t count);
    /// Called when the connection's delayed work is due, and after each read; optional.
    void (*after_read)(struct connection *, bool is_due);
    void (*keep_alive)(struct connection *);
};

struct connection {
    int fd;
    /// The TLS connection; null without TLS.
    void *tls;
    uint32_t index;
    bool publishes, is_ready, waits, is_queued;
    uint64_t published, acknowledged, delivered;
    uint8_t *rest;
    size_t rest_count;
    uint8_t *out;
    size_t out_start, out_count, out_room;
    uint64_t state[12];
    uint64_t due;
    struct connection *next_due;
    char text[64];
    /// The bytes of the WebSocket frame that is sent, and of the one that is received.
    uint64_t frame_rest, in_rest;
    uint8_t in_head[10];
    size_t in_head_count;
};

struct options {
    const struct protocol *protocol;
    const char *host;
    uint16_t port;
    size_t size;
    uint64_t window;
    double seconds, warm_up;
    double rate;
    uint32_t fanout, idle, senders;
    /// The deliveries to each receiver after which the load ends; 0 for none.
    uint64_t messages;
    double heartbeat;
    bool is_stream_on_disk, checks, is_secure, is_web, resumes;
    const char *room;
};

extern struct options options;
extern const struct protocol martlet, compact, bare, mqtt, nats, jetstream, redis_pubsub, redis_streams, xmpp,
    handshakes;

enum { MARTLET_WINDOW = 256 << 10, MARTLET_LINK_WINDOW = 1 << 20, MARTLET_ACK_NS = 25000000 };
/// Writes a hello's body of at most 512 bytes, and says how many they are.
size_t martlet_hello(struct connection *, uint8_t *body, uint16_t version, uint64_t features);

uint64_t now_ns(void);
/// Room for bytes at the end of what is to be sent; they go out at the turn's end.
uint8_t *out_space(struct connection *, size_t count);
void out_text(struct connection *, const char *text);
/// A message has come to a subscriber.
void was_delivered(struct connection *, const uint8_t *payload, size_t count);
void was_acknowledged(struct connection *, uint64_t count);
/// Asks for `after_read` at that time at the latest.
void call_at(struct connection *, uint64_t time);
_Noreturn void fail(const char *what);

/// Performs a TLS handshake on a connected socket that blocks.
void tls_connect(struct connection *);
/// As `send` and `recv` on a socket that does not block.
ssize_t tls_send(struct connection *, const void *bytes, size_t count);
ssize_t tls_receive(struct connection *, void *bytes, size_t count);
/// Whether bytes were decrypted and not received.
bool tls_has_input(const struct connection *);
/// Upgrades a connected socket that blocks to a WebSocket.
void web_connect(struct connection *);
/// Makes a frame of all that is to be sent, unless one is being sent.
void web_frame(struct connection *);
/// Removes the headers of frames from received bytes, and returns how many remain.
size_t web_unframe(struct connection *, uint8_t *bytes, size_t count);
/// Performs TLS handshakes, full ones or resumed ones.
void run_handshakes(void);
