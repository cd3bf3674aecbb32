// Martlet 1.0, as a client without packets speaks it: hello, one session, data with counters, acknowledgements that
// carry credit.
#include "load.h"

enum { WINDOW = MARTLET_WINDOW, LINK_WINDOW = MARTLET_LINK_WINDOW, MAX_KEPT = 8192, ACK_DELAY_NS = MARTLET_ACK_NS };
// state[]: what a connection remembers
enum { SENT, UNACKED, CREDIT, LINK_CREDIT, USED, RECEIVED, RECEIVED_BYTES, ACKED_BYTES, STAMP, ECHOED, NEWS, BEGAN };

static uint32_t clock_ms(struct connection *c) { return (uint32_t)((now_ns() - c->state[BEGAN]) / 1000000); }

static void frame(
    struct connection *c, uint16_t type, uint8_t flags, uint16_t session, const uint8_t *body, size_t count) {
    uint32_t sequence = (flags & WIRE_RELIABLE) != 0 ? (uint32_t)++c->state[SENT] : 0;
    uint8_t *p = out_space(c, WIRE_HEADER + count);
    memcpy(p + WIRE_HEADER, body, count);
    wire_head(
        p, type, sequence, type == WIRE_HELLO ? 0 : clock_ms(c), flags, session, (uint32_t)count,
        libdeflate_crc32(0, body, count));
}

size_t martlet_hello(struct connection *c, uint8_t *body, uint16_t version, uint64_t features) {
    uint8_t *p = body;
    char account[24];
    snprintf(account, sizeof account, "load%u", c->index);
    p = tlv16(p, 0x0005, version);
    p = tlv64(p, 0x0010, features);
    p = tlv(p, 0x0101, 48);
    p = tlv32(p, 0x0020, 64 << 10);
    p = tlv32(p, 0x0021, 1 << 20);
    p = tlv32(p, 0x0022, LINK_WINDOW);
    p = tlv32(p, 0x0023, WINDOW);
    p = tlv16(p, 0x0024, 255);
    p = tlv64(p, 0x0011, now_ns() ^ (uint64_t)c->index << 48);
    p = tlv_bytes(p, 0x0012, account, (uint32_t)strlen(account));
    return (size_t)(p - body);
}

static void start(struct connection *c) {
    uint8_t body[512];
    c->state[BEGAN] = now_ns();
    c->state[CREDIT] = WINDOW;
    c->state[LINK_CREDIT] = LINK_WINDOW;
    frame(c, WIRE_HELLO, 0, 0, body, martlet_hello(c, body, 0x0100, 0));
}

static void open_session(struct connection *c) {
    uint8_t body[128], *p = body;
    char room[64];
    if (options.idle > 0 || options.senders > 0) snprintf(room, sizeof room, "%s.%u", options.room, c->index);
    else snprintf(room, sizeof room, "%s", options.room);
    p = tlv_bytes(p, 0x0050, room, (uint32_t)strlen(room));
    p = tlv8(p, 0x0051, 0);
    p = tlv64(p, 0x0052, 0);
    if (c->publishes) p = tlv8(p, 0x0058, 1);
    frame(c, WIRE_OPEN, WIRE_RELIABLE | WIRE_HIGH, 1, body, (size_t)(p - body));
}

static void acknowledge(struct connection *c) {
    uint8_t body[64], *p = body;
    if (c->state[ECHOED] != c->state[STAMP] + 1) {
        p = tlv64(p, 0x0030, c->state[STAMP] << 32);
        c->state[ECHOED] = c->state[STAMP] + 1;
    }
    p = tlv64(p, 0x0031, c->state[RECEIVED_BYTES] + LINK_WINDOW);
    p = tlv(p, 0x0032, 18);
    put16(p, 1);
    put64(p + 2, c->state[RECEIVED]);
    put64(p + 10, c->state[RECEIVED_BYTES] + WINDOW);
    frame(c, WIRE_ACK, 0, 0, body, (size_t)(p + 18 - body));
    c->state[ACKED_BYTES] = c->state[RECEIVED_BYTES];
    c->state[NEWS] = 0;
}

static void take_ack(struct connection *c, const uint8_t *p, const uint8_t *end) {
    while (end - p >= 6) {
        uint32_t count = get32(p + 2);
        const uint8_t *value = p + 6;
        if (get16(p) == 0x0031 && get64(value) > c->state[LINK_CREDIT]) c->state[LINK_CREDIT] = get64(value);
        if (get16(p) == 0x0032 && get16(value) == 1) {
            c->state[UNACKED] = get64(value + 2);
            if (get64(value + 10) > c->state[CREDIT]) c->state[CREDIT] = get64(value + 10);
        }
        p = value + count;
    }
}

static void take_accepted(struct connection *c, const uint8_t *p, const uint8_t *end) {
    while (end - p >= 6) {
        if (get16(p) == 0x0060) was_acknowledged(c, get32(p + 6 + 8));
        p += 6 + get32(p + 2);
    }
}

static void pong(struct connection *c, const uint8_t *p, const uint8_t *end, uint32_t stamp) {
    uint8_t body[64], *q = body;
    for (; end - p >= 6; p += 6 + get32(p + 2))
        if (get16(p) == 0x0033) q = tlv64(q, 0x0033, get64(p + 6));
    q = tlv64(q, 0x0030, (uint64_t)stamp << 32);
    frame(c, WIRE_PONG, 0, 0, body, (size_t)(q - body));
}

/// Ends with what the relay said: the frame's type, and the code and the offset in it if there are any.
static _Noreturn void refuse(const uint8_t *f, const uint8_t *p, uint32_t length) {
    static char text[128];
    unsigned long long code = 0, first = 0;
    for (const uint8_t *end = p + length; end - p >= 6; p += 6 + get32(p + 2)) {
        if (get16(p) == 0x0001) code = get16(p + 6);
        if (get16(p) == 0x0054) first = get64(p + 6);
    }
    snprintf(
        text, sizeof text, "the relay sent a frame of type 0x%04X on session %u, code 0x%04llX, first %llu",
        get16(f + 6), get16(f + 18), code, first);
    fail(text);
}

static size_t parse(struct connection *c, const uint8_t *bytes, size_t count) {
    size_t offset = 0;
    bool at_once = false;
    while (count - offset >= WIRE_HEADER) {
        const uint8_t *f = bytes + offset, *body = f + WIRE_HEADER;
        if (!wire_head_ok(f, 64 << 10)) fail("that is no frame");
        uint32_t length = get32(f + 20);
        if (count - offset < WIRE_HEADER + length) break;
        if (options.checks && !wire_sum_ok(f)) fail("a checksum is wrong");
        offset += WIRE_HEADER + length;
        if ((f[16] & WIRE_RELIABLE) != 0) {
            if (get32(f + 8) != (uint32_t)(c->state[RECEIVED] + 1)) fail("a sequence is missing");
            c->state[RECEIVED]++;
            c->state[STAMP] = get32(f + 12);
            c->state[NEWS]++;
        }
        if ((f[16] & WIRE_ACK_NOW) != 0) at_once = true;
        switch (get16(f + 6)) {
        case WIRE_DATA:
            c->state[RECEIVED_BYTES] += length;
            was_delivered(c, body + length - options.size, options.size);
            break;
        case WIRE_ACK: take_ack(c, body, body + length); break;
        case WIRE_ACCEPTED: take_accepted(c, body, body + length); break;
        case WIRE_PING: pong(c, body, body + length, get32(f + 12)); break;
        case WIRE_PONG: break;
        case WIRE_WELCOME: open_session(c); break;
        case WIRE_OPENED: c->is_ready = true; break;
        default: refuse(f, body, length);
        }
    }
    if (at_once) acknowledge(c);
    return offset;
}

static void after_read(struct connection *c, bool is_due) {
    if (c->state[NEWS] == 0) return;
    if (is_due || c->state[RECEIVED_BYTES] - c->state[ACKED_BYTES] >= WINDOW / 2) return acknowledge(c);
    call_at(c, now_ns() + ACK_DELAY_NS);
}

static bool may_publish(struct connection *c) {
    return c->state[USED] + options.size + 64 <= c->state[CREDIT]
        && c->state[USED] + options.size + 64 <= c->state[LINK_CREDIT]
        && c->state[SENT] - c->state[UNACKED] < MAX_KEPT;
}

static void publish(struct connection *c, const uint8_t *payload, size_t count) {
    size_t length = 14 + 8 + 6 + 6 + count;
    uint8_t *f = out_space(c, WIRE_HEADER + length), *p = f + WIRE_HEADER;
    p = tlv64(p, 0x0040, c->published + 1);
    p = tlv16(p, 0x0041, 0x1001);
    p = tlv(p, 0x0142, (uint32_t)(6 + count));
    tlv_bytes(p, 0x0201, payload, (uint32_t)count);
    c->state[USED] += length;
    wire_head(
        f, WIRE_DATA, (uint32_t)++c->state[SENT], clock_ms(c), WIRE_RELIABLE | WIRE_HIGH, 1, (uint32_t)length,
        libdeflate_crc32(0, f + WIRE_HEADER, length));
}

static void keep_alive(struct connection *c) {
    uint8_t body[16];
    tlv64(body, 0x0033, now_ns());
    frame(c, WIRE_PING, 0, 0, body, 14);
}

const struct protocol martlet = {"martlet", 7227, start, parse, may_publish, publish, after_read, keep_alive};
