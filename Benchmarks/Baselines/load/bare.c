// The bare relay in C beside this: frames without sessions.
#include "load.h"

static void start(struct connection *c) {
    uint8_t *p = out_space(c, WIRE_HEADER);
    wire_head(p, WIRE_OPEN, 0, 0, c->publishes ? 0 : WIRE_RELIABLE, 1, 0, 0);
}

// state[0]: what was acknowledged, of either side; state[1]: received since
static size_t parse(struct connection *c, const uint8_t *bytes, size_t count) {
    size_t offset = 0;
    while (count - offset >= WIRE_HEADER) {
        const uint8_t *f = bytes + offset;
        if (!wire_head_ok(f, 1 << 20)) fail("that is no frame");
        uint32_t length = get32(f + 20);
        if (count - offset < WIRE_HEADER + length) break;
        if (options.checks && !wire_sum_ok(f)) fail("a checksum is wrong");
        offset += WIRE_HEADER + length;
        switch (get16(f + 6)) {
        case WIRE_DATA:
            c->state[1]++;
            was_delivered(c, f + WIRE_HEADER, length);
            break;
        case WIRE_ACK: {
            uint32_t cumulative = get32(f + 8);
            was_acknowledged(c, (uint32_t)(cumulative - (uint32_t)c->state[0]));
            c->state[0] = cumulative;
            break;
        }
        case WIRE_OPENED: c->is_ready = true; break;
        default: fail("a frame that was not expected");
        }
    }
    if (c->state[1] > 0) {
        c->state[0] += c->state[1];
        c->state[1] = 0;
        wire_head(out_space(c, WIRE_HEADER), WIRE_ACK, (uint32_t)c->state[0], 0, 0, 1, 0, 0);
    }
    return offset;
}

static bool may_publish(struct connection *c) { return true; }

static void publish(struct connection *c, const uint8_t *payload, size_t count) {
    uint8_t *f = out_space(c, WIRE_HEADER + count);
    memcpy(f + WIRE_HEADER, payload, count);
    wire_head(
        f, WIRE_DATA, (uint32_t)c->published + 1, 0, WIRE_RELIABLE | WIRE_HIGH, 1, (uint32_t)count,
        libdeflate_crc32(0, f + WIRE_HEADER, count));
}

const struct protocol bare = {"bare", 7327, start, parse, may_publish, publish, NULL, NULL};
