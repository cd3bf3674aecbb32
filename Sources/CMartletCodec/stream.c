#include "CMartletCodec.h"

#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <zlib.h>

// What a flush to a byte boundary ends with (RFC 7692 §7.2.1).
static const unsigned char flush_tail[4] = {0x00, 0x00, 0xFF, 0xFF};
// The `data_type` of an inflater behind the end of a block that is not the final one, without unused bits (W-92).
static const int between_blocks = 128;

struct martlet_deflate_stream {
    z_stream stream;
};

struct martlet_inflate_stream {
    z_stream stream;
};

martlet_deflate_stream *martlet_deflate_stream_create(int window_bits, int memory_level) {
    martlet_deflate_stream *deflater = calloc(1, sizeof *deflater);
    if (deflater == NULL) abort();
    z_stream *stream = &deflater->stream;
    if (deflateInit2(stream, 6, Z_DEFLATED, -window_bits, memory_level, Z_DEFAULT_STRATEGY) != Z_OK) abort();
    if (deflateSetDictionary(stream, martlet_chat_dictionary, MARTLET_CHAT_DICTIONARY_SIZE) != Z_OK) abort();
    return deflater;
}

void martlet_deflate_stream_destroy(martlet_deflate_stream *deflater) {
    deflateEnd(&deflater->stream);
    free(deflater);
}

size_t martlet_deflate_stream_run(
    martlet_deflate_stream *deflater, const void *input, size_t count, void *output, size_t capacity) {
    z_stream *stream = &deflater->stream;
    if (count > UINT_MAX || capacity > UINT_MAX) return 0;
    stream->next_in = (Bytef *)input;
    stream->avail_in = (uInt)count;
    stream->next_out = output;
    stream->avail_out = (uInt)capacity;
    if (deflate(stream, Z_SYNC_FLUSH) != Z_OK || stream->avail_in > 0 || stream->avail_out == 0) return 0;
    return capacity - stream->avail_out - sizeof flush_tail;
}

martlet_inflate_stream *martlet_inflate_stream_create(void) {
    martlet_inflate_stream *inflater = calloc(1, sizeof *inflater);
    if (inflater == NULL) abort();
    z_stream *stream = &inflater->stream;
    if (inflateInit2(stream, -MAX_WBITS) != Z_OK) abort();
    if (inflateSetDictionary(stream, martlet_chat_dictionary, MARTLET_CHAT_DICTIONARY_SIZE) != Z_OK) abort();
    return inflater;
}

void martlet_inflate_stream_destroy(martlet_inflate_stream *inflater) {
    inflateEnd(&inflater->stream);
    free(inflater);
}

// Takes all of `input`; false when the stream is damaged, ends, or has more to say than there is room.
static martlet_inflate_outcome feed(z_stream *stream, const void *input, size_t count) {
    stream->next_in = (Bytef *)input;
    stream->avail_in = (uInt)count;
    while (stream->avail_in > 0) {
        uInt before = stream->avail_in;
        int status = inflate(stream, Z_SYNC_FLUSH);
        if (status == Z_BUF_ERROR || (status == Z_OK && stream->avail_out == 0 && stream->avail_in > 0)) {
            if (stream->avail_out == 0) return MARTLET_INFLATE_FULL;
        }
        if (status != Z_OK || stream->avail_in == before) return MARTLET_INFLATE_DAMAGED;
    }
    return MARTLET_INFLATE_DONE;
}

martlet_inflate_outcome martlet_inflate_stream_run(
    martlet_inflate_stream *inflater, const void *input, size_t count, void *output, size_t capacity,
    size_t *written) {
    z_stream *stream = &inflater->stream;
    *written = 0;
    if (count > UINT_MAX || capacity >= UINT_MAX) return MARTLET_INFLATE_DAMAGED;
    // One byte more than there may be, so that what fits exactly is distinguished from what does not fit.
    stream->next_out = output;
    stream->avail_out = (uInt)capacity + 1;
    martlet_inflate_outcome outcome = feed(stream, input, count);
    if (outcome == MARTLET_INFLATE_DONE) outcome = feed(stream, flush_tail, sizeof flush_tail);
    if (outcome != MARTLET_INFLATE_DONE) return outcome;
    if (stream->avail_out == 0) return MARTLET_INFLATE_FULL;
    if (stream->data_type != between_blocks) return MARTLET_INFLATE_DAMAGED;
    *written = capacity + 1 - stream->avail_out;
    return MARTLET_INFLATE_DONE;
}
