// What the baselines need of the wire, version 1.0: a header of 28 bytes and its checksum (Specs/wire.md §3).
#pragma once

#include <libdeflate.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

enum {
    WIRE_HEADER = 28,
    WIRE_MAGIC = 0x8D4D5254,
    WIRE_DATA = 0x1000,
    WIRE_ACK = 0x2001,
    WIRE_ACCEPTED = 0x2003,
    WIRE_PING = 0x3001,
    WIRE_PONG = 0x3002,
    WIRE_HELLO = 0x4001,
    WIRE_WELCOME = 0x4002,
    WIRE_OPEN = 0x5001,
    WIRE_OPENED = 0x5002,
    WIRE_RELIABLE = 0x01,
    WIRE_ACK_NOW = 0x04,
    WIRE_CHECKSUMMED = 0x08,
    WIRE_HIGH = 0x10
};

static inline void put16(uint8_t *p, uint16_t v) {
    v = __builtin_bswap16(v);
    memcpy(p, &v, 2);
}
static inline void put32(uint8_t *p, uint32_t v) {
    v = __builtin_bswap32(v);
    memcpy(p, &v, 4);
}
static inline void put64(uint8_t *p, uint64_t v) {
    v = __builtin_bswap64(v);
    memcpy(p, &v, 8);
}
static inline uint16_t get16(const uint8_t *p) {
    uint16_t v;
    memcpy(&v, p, 2);
    return __builtin_bswap16(v);
}
static inline uint32_t get32(const uint8_t *p) {
    uint32_t v;
    memcpy(&v, p, 4);
    return __builtin_bswap32(v);
}
static inline uint64_t get64(const uint8_t *p) {
    uint64_t v;
    memcpy(&v, p, 8);
    return __builtin_bswap64(v);
}

/// Writes a header, its checksum included; the body's own checksum is `body_sum`.
static inline void wire_head(
    uint8_t *p, uint16_t type, uint32_t sequence, uint32_t timestamp, uint8_t flags, uint16_t session, uint32_t count,
    uint32_t body_sum) {
    put32(p, WIRE_MAGIC);
    p[4] = 1;
    p[5] = 0;
    put16(p + 6, type);
    put32(p + 8, sequence);
    put32(p + 12, timestamp);
    p[16] = flags | WIRE_CHECKSUMMED;
    p[17] = 0;
    put16(p + 18, session);
    put32(p + 20, count);
    put32(p + 24, libdeflate_crc32(body_sum, p, 24));
}

/// Whether a header may stand at the start of a frame: magic, major version, reserved bits, length.
static inline bool wire_head_ok(const uint8_t *p, uint32_t max_body) {
    return get32(p) == WIRE_MAGIC && p[4] == 1 && (p[16] & 0xC0) == 0 && p[17] <= 1 && get32(p + 20) <= max_body;
}

/// Whether the checksum of a whole frame is right.
static inline bool wire_sum_ok(const uint8_t *p) {
    uint32_t sum = libdeflate_crc32(0, p + WIRE_HEADER, get32(p + 20));
    return (p[16] & WIRE_CHECKSUMMED) != 0 && libdeflate_crc32(sum, p, 24) == get32(p + 24);
}

/// Appends a field's head and returns where its value begins.
static inline uint8_t *tlv(uint8_t *p, uint16_t tag, uint32_t count) {
    put16(p, tag);
    put32(p + 2, count);
    return p + 6;
}
static inline uint8_t *tlv64(uint8_t *p, uint16_t tag, uint64_t value) {
    p = tlv(p, tag, 8);
    put64(p, value);
    return p + 8;
}
static inline uint8_t *tlv32(uint8_t *p, uint16_t tag, uint32_t value) {
    p = tlv(p, tag, 4);
    put32(p, value);
    return p + 4;
}
static inline uint8_t *tlv16(uint8_t *p, uint16_t tag, uint16_t value) {
    p = tlv(p, tag, 2);
    put16(p, value);
    return p + 2;
}
static inline uint8_t *tlv8(uint8_t *p, uint16_t tag, uint8_t value) {
    p = tlv(p, tag, 1);
    *p = value;
    return p + 1;
}
static inline uint8_t *tlv_bytes(uint8_t *p, uint16_t tag, const void *bytes, uint32_t count) {
    p = tlv(p, tag, count);
    memcpy(p, bytes, count);
    return p + count;
}
