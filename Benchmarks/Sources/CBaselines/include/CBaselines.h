// What Martlet is measured against in its own process, and what measures it.
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#if defined(__clang__)
#pragma clang assume_nonnull begin
#endif

// MARK: frames

/// Cuts a stream into frames and checks each: header, then the checksum over body and header.
typedef struct baseline_framer baseline_framer;
baseline_framer *baseline_framer_create(void);
void baseline_framer_destroy(baseline_framer *framer);
/// Takes a piece of the stream; adds to the two sums. False when a frame is wrong.
bool baseline_framer_consume(
    baseline_framer *framer, const uint8_t *bytes, size_t count, uint64_t *frames, uint64_t *body_bytes);

/// Writes frames of `body` one behind another until the next would not fit, and returns how many bytes that were.
size_t baseline_encode(
    uint8_t *output, size_t room, const uint8_t *body, size_t count, uint32_t *sequence, uint64_t *frames);

// MARK: compression

typedef struct baseline_deflater baseline_deflater;
/// libdeflate of that level.
baseline_deflater *baseline_deflater_create(int level);
void baseline_deflater_destroy(baseline_deflater *deflater);
size_t baseline_deflate(
    baseline_deflater *deflater, const uint8_t *bytes, size_t count, uint8_t *output, size_t room);

/// zlib's stream as permessage-deflate uses it: raw, one context for all messages, flushed and its tail cut off.
typedef struct baseline_stream baseline_stream;
baseline_stream *baseline_stream_create(int level, int window_bits, int memory_level);
void baseline_stream_destroy(baseline_stream *stream);
/// How many bytes the message takes.
size_t baseline_stream_add(baseline_stream *stream, const uint8_t *bytes, size_t count);

// MARK: measuring

/// Counts what is allocated by whatever thread between these two calls.
void measure_allocations_begin(void);
uint64_t measure_allocations_end(void);
/// Nanoseconds of a clock that only runs forward.
uint64_t measure_now(void);
/// Calls `work` where an instruction counter can find it: callgrind counts inside this function only.
void measure_counted(void (*work)(void *), void *context);
/// Keeps the compiler from knowing that a value is not used.
void measure_keep(uint64_t value);

// MARK: a library that is there only where it was built

/// Opens a shared library; null when it cannot be.
void *_Nullable baseline_library_open(const char *path);
void *_Nullable baseline_library_symbol(void *library, const char *name);

#if defined(__clang__)
#pragma clang assume_nonnull end
#endif
