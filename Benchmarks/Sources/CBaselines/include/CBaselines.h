// The baselines that are measured in Martlet's process, and the functions that measure.
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#if defined(__clang__)
#pragma clang assume_nonnull begin
#endif

// MARK: frames

/// Splits a stream into frames and checks each: header, then the checksum over body and header.
typedef struct baseline_framer baseline_framer;
baseline_framer *baseline_framer_create(void);
void baseline_framer_destroy(baseline_framer *framer);
/// Reads a piece of the stream and adds to the two sums. False if a frame is invalid.
bool baseline_framer_consume(
    baseline_framer *framer, const uint8_t *bytes, size_t count, uint64_t *frames, uint64_t *body_bytes);

/// Writes frames of `body` until the next one would not fit, and returns the number of written bytes.
size_t baseline_encode(
    uint8_t *output, size_t room, const uint8_t *body, size_t count, uint32_t *sequence, uint64_t *frames);

// MARK: compression

typedef struct baseline_deflater baseline_deflater;
/// Creates a libdeflate compressor of a level.
baseline_deflater *baseline_deflater_create(int level);
void baseline_deflater_destroy(baseline_deflater *deflater);
size_t baseline_deflate(
    baseline_deflater *deflater, const uint8_t *bytes, size_t count, uint8_t *output, size_t room);

/// A zlib stream as in permessage-deflate: raw, one context for all messages, flushed, without the tail of the flush.
typedef struct baseline_stream baseline_stream;
baseline_stream *baseline_stream_create(int level, int window_bits, int memory_level);
void baseline_stream_destroy(baseline_stream *stream);
/// Returns the number of bytes of the deflated message.
size_t baseline_stream_add(baseline_stream *stream, const uint8_t *bytes, size_t count);

// MARK: durable writes

/// Inserts rows into a new database in WAL mode with synchronous=FULL, so many in each commit. Returns the nanoseconds
/// without the opening of the file; 0 on failure.
uint64_t baseline_sqlite_insert(
    const char *path, size_t commits, size_t rows, const uint8_t *bytes, size_t count);
/// Appends pages of 4 KiB to a file with one fdatasync for each. Returns the nanoseconds; 0 on failure.
uint64_t baseline_sync(const char *path, size_t count);

// MARK: measuring

/// Counts the allocations of all threads between these two calls.
void measure_allocations_begin(void);
uint64_t measure_allocations_end(void);
/// Nanoseconds of a monotonic clock.
uint64_t measure_now(void);
/// Calls `work`. Callgrind counts inside this function only.
void measure_counted(void (*work)(void *), void *context);
/// Prevents the compiler from removing an unused value.
void measure_keep(uint64_t value);

// MARK: an optional library

/// Opens a shared library; null on failure.
void *_Nullable baseline_library_open(const char *path);
void *_Nullable baseline_library_symbol(void *library, const char *name);

#if defined(__clang__)
#pragma clang assume_nonnull end
#endif
