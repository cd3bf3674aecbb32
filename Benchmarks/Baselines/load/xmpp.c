// XMPP: anonymous clients in a room (XEP-0045), as RFC 6120 and direct TLS (XEP-0368) have it.
//
// The room's copy of a message for its sender is the acknowledgement. Receivers acknowledge nothing.
#define _GNU_SOURCE
#include "load.h"

#define STREAM \
    "<?xml version='1.0'?><stream:stream to='localhost' version='1.0' xmlns='jabber:client' " \
    "xmlns:stream='http://etherx.jabber.org/streams'>"
#define HAS(p, count, text) (memmem(p, count, text, sizeof text - 1) != NULL)

// state[0]: whether the client is authenticated
static void start(struct connection *c) { out_text(c, STREAM); }

static void room_name(struct connection *c, char *name, size_t room) {
    if (options.idle > 0 || options.senders > 0)
        snprintf(name, room, "%s.%u@conference.localhost", options.room, c->index);
    else snprintf(name, room, "%s@conference.localhost", options.room);
}

static void join(struct connection *c) {
    char name[64], text[256];
    room_name(c, name, sizeof name);
    snprintf(
        text, sizeof text,
        "<presence to='%s/u%u'><x xmlns='http://jabber.org/protocol/muc'><history maxstanzas='0'/></x></presence>",
        name, c->index);
    out_text(c, text);
}

static void take_message(struct connection *c, const uint8_t *p, size_t count) {
    const uint8_t *body = memmem(p, count, "<body>", 6);
    // The subject ends the answer to a join.
    if (body == NULL) c->is_ready = c->is_ready || HAS(p, count, "<subject");
    else if (c->publishes) was_acknowledged(c, 1);
    else was_delivered(c, body + 6, options.size);
}

static void take(struct connection *c, const uint8_t *p, size_t count) {
    if (memcmp(p, "<stream:features", 16) == 0) {
        out_text(
            c, c->state[0] != 0 ? "<iq type='set' id='b'><bind xmlns='urn:ietf:params:xml:ns:xmpp-bind'/></iq>"
                                : "<auth xmlns='urn:ietf:params:xml:ns:xmpp-sasl' mechanism='ANONYMOUS'/>");
    } else if (memcmp(p, "<success", 8) == 0) {
        c->state[0] = 1;
        out_text(c, STREAM);
    } else if (memcmp(p, "<iq", 3) == 0) {
        if (HAS(p, count, "<jid>")) join(c);
    } else if (memcmp(p, "<message", 8) == 0 && !HAS(p, count, "<error")) {
        take_message(c, p, count);
    } else if (memcmp(p, "<presence", 9) != 0 || HAS(p, count, "<error")) {
        static char text[256];
        snprintf(text, sizeof text, "the server sent %.*s", (int)count, (const char *)p);
        fail(text);
    }
}

// The bytes of the element at the start, or of the header of the stream; 0 when it is not all there. No attribute of
// these servers contains `>`.
static size_t element(const uint8_t *p, size_t count) {
    const uint8_t *tag = p, *end = p + count, *close;
    for (size_t depth = 0;; tag = close) {
        tag = memchr(tag, '<', (size_t)(end - tag));
        if (tag == NULL || (close = memchr(tag, '>', (size_t)(end - tag))) == NULL) return 0;
        if (tag[1] == '/') depth--;
        else if (tag[1] != '?' && close[-1] != '/') depth++;
        close++;
        if (depth == 0 || (tag == p && close - tag > 15 && memcmp(tag, "<stream:stream ", 15) == 0))
            return (size_t)(close - p);
    }
}

static size_t parse(struct connection *c, const uint8_t *bytes, size_t count) {
    size_t offset = 0;
    while (offset < count) {
        const uint8_t *p = bytes + offset;
        size_t used = *p == '<' ? element(p, count - offset) : 1;
        if (used == 0) break;
        if (used > 1 && p[1] != '?' && memcmp(p, "<stream:stream ", 15) != 0) take(c, p, used);
        offset += used;
    }
    return offset;
}

static bool may_publish(struct connection *c) { return true; }

static void publish(struct connection *c, const uint8_t *payload, size_t count) {
    char name[64], head[128];
    room_name(c, name, sizeof name);
    size_t head_count =
        (size_t)snprintf(head, sizeof head, "<message type='groupchat' to='%s'><body>", name);
    static const char tail[] = "</body></message>";
    uint8_t *p = out_space(c, head_count + count + sizeof tail - 1);
    memcpy(p, head, head_count);
    memcpy(p + head_count, payload, count);
    memcpy(p + head_count + count, tail, sizeof tail - 1);
}

static void keep_alive(struct connection *c) {
    out_text(c, "<iq type='get' id='p' to='localhost'><ping xmlns='urn:xmpp:ping'/></iq>");
}

const struct protocol xmpp = {"xmpp", 5222, start, parse, may_publish, publish, NULL, keep_alive};
