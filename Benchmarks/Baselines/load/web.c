// WebSockets (RFC 6455) under every protocol of the load. Each write of a turn is a binary message with the mask 0.
#define _GNU_SOURCE
#include "load.h"

#include <string.h>
#include <sys/socket.h>

enum { MAX_HEAD = 14 };

void web_connect(struct connection *c) {
    static const char request[] =
        "GET /martlet HTTP/1.1\r\nHost: localhost\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n"
        "Sec-WebSocket-Version: 13\r\nSec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n"
        "Sec-WebSocket-Protocol: martlet\r\n\r\n";
    size_t count = sizeof request - 1;
    ssize_t sent = c->tls != NULL ? tls_send(c, request, count) : send(c->fd, request, count, MSG_NOSIGNAL);
    if (sent != (ssize_t)count) fail("cannot send the request for a WebSocket");
    char end[4] = {0};
    while (memcmp(end, "\r\n\r\n", 4) != 0) {
        memmove(end, end + 1, 3);
        if ((c->tls != NULL ? tls_receive(c, end + 3, 1) : recv(c->fd, end + 3, 1, 0)) != 1) fail("no WebSocket");
    }
}

void web_frame(struct connection *c) {
    if (c->out_count == 0 || c->frame_rest > 0) return;
    size_t count = c->out_count, head = count < 126 ? 6 : count < 65536 ? 8 : MAX_HEAD;
    out_space(c, head);
    uint8_t *p = c->out + c->out_start;
    memmove(p + head, p, count);
    memset(p, 0, head);
    p[0] = 0x82;
    p[1] = (uint8_t)(0x80 | (head == 6 ? count : head == 8 ? 126 : 127));
    for (size_t i = 0; i < head - 6; i++) p[2 + i] = (uint8_t)(count >> (8 * (head - 7 - i)));
    c->frame_rest = head + count;
}

size_t web_unframe(struct connection *c, uint8_t *bytes, size_t count) {
    size_t kept = 0, at = 0;
    while (at < count) {
        if (c->in_rest == 0) {
            c->in_head[c->in_head_count++] = bytes[at++];
            size_t size = c->in_head_count < 2 ? 2 : c->in_head[1] == 126 ? 4 : c->in_head[1] == 127 ? 10 : 2;
            if (c->in_head_count < size) continue;
            if (c->in_head[0] != 0x82) fail("a frame of a WebSocket without data");
            c->in_rest = size == 2 ? c->in_head[1] : 0;
            for (size_t i = 2; i < size; i++) c->in_rest = c->in_rest << 8 | c->in_head[i];
            c->in_head_count = 0;
            continue;
        }
        size_t part = count - at < c->in_rest ? count - at : (size_t)c->in_rest;
        memmove(bytes + kept, bytes + at, part);
        kept += part;
        at += part;
        c->in_rest -= part;
    }
    return kept;
}
