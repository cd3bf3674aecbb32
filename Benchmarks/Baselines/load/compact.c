// Martlet 1.1 as its client speaks it by default, in packets (Specs/wire.md §15), as far as a link needs that is only
// there: hello, one session, acknowledgements, pings.
#include "load.h"

// state[]: what a connection remembers, and of the contexts what is needed here
enum { STAMP, NEWS, BEGAN, RECEIVED, SAID_TIME, SAID_CUMULATIVE, SAID_CREDIT, SAID_LINK_CREDIT, SAID_ECHO };
enum { FORM_PING = 7, FORM_PONG = 8, FORM_ACK = 3, FORM_OPEN = 13, FORM_OPENED = 14 };
enum { FORM_ACK_NEXT = 0x26, FORM_SHORT_ACK = 0x27, HAS_FIELDS = 0x40, HAS_LENGTH = 0x80 };
enum { SESSION = 1, SEQUENCE = 2, TIMESTAMP = 4, FLAGS = 8, TYPE = 16, COMPRESSION = 32 };
// zlib, requests, receipts, presence, compact
enum { FEATURES = 0x1F, TIME_INTERVAL = 10000, MAX_PAYLOAD = 4096 };

static uint32_t clock_ms(struct connection *c) { return (uint32_t)((now_ns() - c->state[BEGAN]) / 1000000); }

static uint8_t *put_varint(uint8_t *p, uint64_t number) {
    for (; number >= 0x80; number >>= 7) *p++ = (uint8_t)number | 0x80;
    *p++ = (uint8_t)number;
    return p;
}

static uint64_t get_varint(const uint8_t **p, const uint8_t *end) {
    uint64_t number = 0;
    for (int shift = 0; *p < end && shift < 64; shift += 7) {
        uint8_t byte = *(*p)++;
        number |= (uint64_t)(byte & 0x7F) << shift;
        if (byte < 0x80) return number;
    }
    fail("that is no number");
}

/// One frame in a packet of its own, of fewer than 128 bytes.
static void packet(struct connection *c, const uint8_t *payload, const uint8_t *end) {
    size_t count = (size_t)(end - payload);
    uint8_t *p = out_space(c, 1 + count + 4);
    p[0] = (uint8_t)count;
    memcpy(p + 1, payload, count);
    put32(p + 1 + count, libdeflate_crc32(0, p, 1 + count));
}

static uint8_t *put_time(struct connection *c, uint8_t *p) {
    uint32_t now = clock_ms(c);
    p = put_varint(p, now - (uint32_t)c->state[SAID_TIME]);
    c->state[SAID_TIME] = now;
    return p;
}

static void start(struct connection *c) {
    uint8_t body[512];
    if (options.idle == 0) fail("it is for --idle only");
    c->state[BEGAN] = now_ns();
    uint32_t count = (uint32_t)martlet_hello(c, body, 0x0101, FEATURES);
    uint8_t *p = out_space(c, WIRE_HEADER + count);
    memcpy(p + WIRE_HEADER, body, count);
    wire_head(p, WIRE_HELLO, 0, 0, 0, 0, count, libdeflate_crc32(0, body, count));
}

static void open_session(struct connection *c) {
    uint8_t payload[128], *p = payload;
    char room[64];
    int count = snprintf(room, sizeof room, "%s.%u", options.room, c->index);
    *p++ = FORM_OPEN | HAS_FIELDS;
    *p++ = SESSION | SEQUENCE | TIMESTAMP | FLAGS;
    *p++ = 1;
    put32(p, 1);
    p = put_time(c, p + 4);
    *p++ = WIRE_RELIABLE | WIRE_CHECKSUMMED | WIRE_HIGH;
    *p++ = 0x21;  // room
    p = put_varint(p, (uint64_t)count);
    memcpy(p, room, (size_t)count);
    p += count;
    *p++ = 0x22;  // sessionKind
    *p++ = 0;
    *p++ = 0x23;  // cursor
    *p++ = 0;
    packet(c, payload, p);
}

static void acknowledge(struct connection *c) {
    uint8_t payload[64], *p = payload;
    bool says_time = clock_ms(c) - (uint32_t)c->state[SAID_TIME] >= TIME_INTERVAL;
    bool echoes = c->state[SAID_ECHO] != c->state[STAMP];
    *p++ = FORM_SHORT_ACK | (says_time ? HAS_FIELDS : 0);
    if (says_time) {
        *p++ = TIMESTAMP;
        p = put_time(c, p);
    }
    *p++ = (uint8_t)(0x02 | 0x04 | 0x08 | (echoes ? 0x10 : 0));
    p = put_varint(p, c->state[RECEIVED] - c->state[SAID_CUMULATIVE]);
    p = put_varint(p, MARTLET_WINDOW - c->state[SAID_CREDIT]);
    p = put_varint(p, MARTLET_LINK_WINDOW - c->state[SAID_LINK_CREDIT]);
    if (echoes) p = put_varint(put_varint(p, (uint32_t)(c->state[STAMP] - c->state[SAID_ECHO])), 0);
    packet(c, payload, p);
    c->state[SAID_CUMULATIVE] = c->state[RECEIVED];
    c->state[SAID_CREDIT] = MARTLET_WINDOW;
    c->state[SAID_LINK_CREDIT] = MARTLET_LINK_WINDOW;
    c->state[SAID_ECHO] = c->state[STAMP];
    c->state[NEWS] = 0;
}

/// Reads one frame of a payload and returns where the next begins.
static const uint8_t *take_frame(struct connection *c, const uint8_t *p, const uint8_t *end) {
    uint8_t first = *p++, form = first & 0x3F, flags = 0;
    uint8_t fields = (first & HAS_FIELDS) != 0 && p < end ? *p++ : 0;
    if ((fields & SESSION) != 0) get_varint(&p, end);
    if ((fields & SEQUENCE) != 0) p += 4;
    if ((fields & TIMESTAMP) != 0) c->state[STAMP] = (uint32_t)(c->state[STAMP] + get_varint(&p, end));
    if ((fields & FLAGS) != 0 && p < end) flags = *p++;
    if ((fields & (TYPE | COMPRESSION)) != 0) fail("a frame that an idle link does not get");
    uint64_t length = (first & HAS_LENGTH) != 0 ? get_varint(&p, end) : (uint64_t)(end - p);
    if (length > (uint64_t)(end - p)) fail("a frame beyond its packet");
    switch (form) {
    case FORM_OPENED:
        c->is_ready = true;
        c->state[RECEIVED]++;
        c->state[NEWS]++;
        if ((flags & WIRE_ACK_NOW) != 0) acknowledge(c);
        return p + length;
    case FORM_PING: {
        uint8_t payload[64], *q = payload;
        *q++ = FORM_PONG | HAS_FIELDS;
        *q++ = TIMESTAMP;
        q = put_time(c, q);
        if (length > 16) fail("a ping with more than its nonce");
        memcpy(q, p, length);
        q += length;
        *q++ = 0x16;  // echo
        q = put_varint(put_varint(q, (uint32_t)c->state[STAMP]), 0);
        packet(c, payload, q);
        return p + length;
    }
    case FORM_ACK:
    case FORM_PONG: return p + length;
    case FORM_ACK_NEXT: return p;
    case FORM_SHORT_ACK: {
        uint8_t bits = *p++;
        for (int bit = 0; bit < 5; bit++)
            if ((bits >> bit & 1) != 0) get_varint(&p, end);
        if ((bits & 0x10) != 0) get_varint(&p, end);
        return p;
    }
    default: fail("a frame that an idle link does not get");
    }
}

static size_t parse(struct connection *c, const uint8_t *bytes, size_t count) {
    size_t offset = 0;
    while (count - offset >= 2) {
        const uint8_t *unit = bytes + offset;
        size_t head = 1, length = unit[0];
        if (unit[0] == WIRE_MAGIC >> 24) {
            if (count - offset < WIRE_HEADER) break;
            if (!wire_head_ok(unit, 64 << 10)) fail("that is no frame");
            size_t whole = WIRE_HEADER + get32(unit + 20);
            if (count - offset < whole) break;
            if (get16(unit + 6) != WIRE_WELCOME) fail("a frame that an idle link does not get");
            open_session(c);
            offset += whole;
            continue;
        }
        if (unit[0] >= 0xC0) {
            head = 2;
            length = get16(unit) & 0x3FFF;
        }
        if (length == 0 || (head == 1 && length >= 0x80) || length > MAX_PAYLOAD) fail("that is no packet");
        if (count - offset < head + length + 4) break;
        const uint8_t *p = unit + head, *end = p + length;
        if (get32(end) != libdeflate_crc32(0, unit, head + length)) fail("a checksum is wrong");
        while (p < end) p = take_frame(c, p, end);
        offset += head + length + 4;
    }
    return offset;
}

static void after_read(struct connection *c, bool is_due) {
    if (c->state[NEWS] == 0) return;
    if (is_due) return acknowledge(c);
    call_at(c, now_ns() + MARTLET_ACK_NS);
}

static void keep_alive(struct connection *c) {
    uint8_t payload[32], *p = payload;
    *p++ = FORM_PING | HAS_FIELDS;
    *p++ = TIMESTAMP;
    p = put_time(c, p);
    *p++ = 0x19;  // nonce
    p = put_varint(p, now_ns());
    packet(c, payload, p);
}

static bool may_publish(struct connection *c) { return false; }

static void publish(struct connection *c, const uint8_t *payload, size_t count) { fail("it is for --idle only"); }

const struct protocol compact = {"martlet-compact", 7227, start, parse, may_publish, publish, after_read, keep_alive};
