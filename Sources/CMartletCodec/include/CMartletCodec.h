#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

// libdeflate does the work on Linux, elsewhere zlib. Everything below zlib can do alone, so that a test can hold the
// two against each other.

/// CRC-32 (IEEE 802.3, reflected) of `count` bytes, continuing `crc`; 0 starts anew.
uint32_t martlet_crc32(uint32_t crc, const void *_Nullable bytes, size_t count);
/// The same sum by zlib alone.
uint32_t martlet_crc32_zlib(uint32_t crc, const void *_Nullable bytes, size_t count);
/// The same sum over exactly 24 bytes, the part of a frame's header that is summed, as three words in the order of
/// memory.
uint32_t martlet_crc32_words(uint32_t crc, uint64_t first, uint64_t second, uint64_t third);

typedef struct martlet_deflater martlet_deflater;

/// Compressors that are kept while nobody uses them.
#define MARTLET_MAX_IDLE_DEFLATERS 4

/// A compressor of level 1 to 9, to be given back after use; from any thread. Without memory for it the program stops,
/// as it does in Swift.
martlet_deflater *_Nonnull martlet_deflater_take(int level, bool zlib_only);
void martlet_deflater_give(martlet_deflater *_Nonnull deflater);
/// How many there are in the process, used and idle.
size_t martlet_deflater_count(void);
/// Compresses into zlib format. The byte count of the output, 0 when it does not fit into `capacity`.
size_t martlet_deflater_run(
    martlet_deflater *_Nonnull deflater, const void *_Nullable input, size_t count, void *_Nullable output,
    size_t capacity);

typedef struct martlet_inflater martlet_inflater;

typedef enum {
    /// The input is one whole stream, and the output is all that comes of it.
    MARTLET_INFLATE_DONE,
    /// More than `capacity` bytes would come out.
    MARTLET_INFLATE_FULL,
    /// Truncated, damaged, wrong checksum, or bytes behind the stream's end.
    MARTLET_INFLATE_DAMAGED
} martlet_inflate_outcome;

/// A decompressor. Without memory for it the program stops, as it does in Swift.
martlet_inflater *_Nonnull martlet_inflater_create(bool zlib_only);
void martlet_inflater_destroy(martlet_inflater *_Nonnull inflater);
/// Decompresses zlib format. `written` is set to the byte count of the output, 0 unless done.
martlet_inflate_outcome martlet_inflater_run(
    martlet_inflater *_Nonnull inflater, const void *_Nullable input, size_t count, void *_Nullable output,
    size_t capacity, size_t *_Nonnull written);

/// What every stream begins with: chat text (Specs/dictionary).
#define MARTLET_CHAT_DICTIONARY_SIZE 4096
extern const unsigned char martlet_chat_dictionary[MARTLET_CHAT_DICTIONARY_SIZE];

typedef struct martlet_deflate_stream martlet_deflate_stream;

/// Raw deflate that goes on from one input to the next, with a window of 2^9 to 2^15 bytes and zlib's memory level 1 to
/// 9. Without memory for it the program stops.
martlet_deflate_stream *_Nonnull martlet_deflate_stream_create(int window_bits, int memory_level);
void martlet_deflate_stream_destroy(martlet_deflate_stream *_Nonnull deflater);
/// Deflates and flushes to a byte boundary, without the four bytes that a flush ends with. The byte count of the
/// output, 0 when it does not fit into `capacity`; the stream is of no use then.
size_t martlet_deflate_stream_run(
    martlet_deflate_stream *_Nonnull deflater, const void *_Nullable input, size_t count, void *_Nonnull output,
    size_t capacity);

typedef struct martlet_inflate_stream martlet_inflate_stream;

/// The other end, for every window there is.
martlet_inflate_stream *_Nonnull martlet_inflate_stream_create(void);
void martlet_inflate_stream_destroy(martlet_inflate_stream *_Nonnull inflater);
/// Inflates what one call has deflated. `output` has room for one byte more than `capacity`.
martlet_inflate_outcome martlet_inflate_stream_run(
    martlet_inflate_stream *_Nonnull inflater, const void *_Nullable input, size_t count, void *_Nonnull output,
    size_t capacity, size_t *_Nonnull written);
