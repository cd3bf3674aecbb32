// A handwritten loop over the same frames, with the same checks and checksum and without sessions.
#include "CBaselines.h"

#include <libdeflate.h>
#include <stdlib.h>
#include <string.h>

enum { HEADER = 28, MAX_BODY = 64 << 10, MAGIC = 0x8D4D5254, CHECKSUMMED = 0x08 };

struct baseline_framer {
    size_t count;
    uint8_t partial[HEADER + MAX_BODY];
};

static inline uint32_t get32(const uint8_t *p) {
    uint32_t v;
    memcpy(&v, p, 4);
    return __builtin_bswap32(v);
}

static inline void put16(uint8_t *p, uint16_t v) {
    v = __builtin_bswap16(v);
    memcpy(p, &v, 2);
}

static inline void put32(uint8_t *p, uint32_t v) {
    v = __builtin_bswap32(v);
    memcpy(p, &v, 4);
}

baseline_framer *baseline_framer_create(void) {
    baseline_framer *framer = malloc(sizeof *framer);
    if (framer == NULL) abort();
    framer->count = 0;
    return framer;
}

void baseline_framer_destroy(baseline_framer *framer) { free(framer); }

static inline bool head_ok(const uint8_t *p) {
    return get32(p) == MAGIC && p[4] == 1 && (p[16] & 0xC0) == 0 && p[17] <= 1 && get32(p + 20) <= MAX_BODY;
}

static inline bool sum_ok(const uint8_t *p, size_t body) {
    return (p[16] & CHECKSUMMED) != 0
        && libdeflate_crc32(libdeflate_crc32(0, p + HEADER, body), p, 24) == get32(p + 24);
}

bool baseline_framer_consume(
    baseline_framer *framer, const uint8_t *bytes, size_t count, uint64_t *frames, uint64_t *body_bytes) {
    size_t offset = 0;
    while (framer->count > 0) {
        size_t wanted = HEADER;
        if (framer->count >= HEADER) {
            if (!head_ok(framer->partial)) return false;
            wanted += get32(framer->partial + 20);
        }
        size_t missing = wanted - framer->count, part = missing < count - offset ? missing : count - offset;
        memcpy(framer->partial + framer->count, bytes + offset, part);
        framer->count += part;
        offset += part;
        if (part < missing) return true;
        if (framer->count == HEADER && get32(framer->partial + 20) > 0) continue;
        size_t body = framer->count - HEADER;
        if (!sum_ok(framer->partial, body)) return false;
        *frames += 1;
        *body_bytes += body;
        framer->count = 0;
    }
    while (count - offset >= HEADER) {
        const uint8_t *p = bytes + offset;
        if (!head_ok(p)) return false;
        size_t body = get32(p + 20);
        if (count - offset < HEADER + body) break;
        if (!sum_ok(p, body)) return false;
        *frames += 1;
        *body_bytes += body;
        offset += HEADER + body;
    }
    framer->count = count - offset;
    memcpy(framer->partial, bytes + offset, framer->count);
    return true;
}

size_t baseline_encode(
    uint8_t *output, size_t room, const uint8_t *body, size_t count, uint32_t *sequence, uint64_t *frames) {
    size_t offset = 0;
    while (room - offset >= HEADER + count) {
        uint8_t *p = output + offset;
        put32(p, MAGIC);
        put16(p + 4, 0x0100);
        put16(p + 6, 0x1000);
        put32(p + 8, ++*sequence);
        put32(p + 12, 1234);
        p[16] = 0x19;
        p[17] = 0;
        put16(p + 18, 1);
        put32(p + 20, (uint32_t)count);
        put32(p + 24, libdeflate_crc32(libdeflate_crc32(0, body, count), p, 24));
        memcpy(p + HEADER, body, count);
        *frames += 1;
        offset += HEADER + count;
    }
    return offset;
}
