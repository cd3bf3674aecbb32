#include "CBaselines.h"

#include <libdeflate.h>
#include <stdlib.h>
#include <zlib.h>

struct baseline_deflater {
    struct libdeflate_compressor *compressor;
};

baseline_deflater *baseline_deflater_create(int level) {
    baseline_deflater *deflater = malloc(sizeof *deflater);
    if (deflater == NULL || (deflater->compressor = libdeflate_alloc_compressor(level)) == NULL) abort();
    return deflater;
}

void baseline_deflater_destroy(baseline_deflater *deflater) {
    libdeflate_free_compressor(deflater->compressor);
    free(deflater);
}

size_t baseline_deflate(
    baseline_deflater *deflater, const uint8_t *bytes, size_t count, uint8_t *output, size_t room) {
    return libdeflate_zlib_compress(deflater->compressor, bytes, count, output, room);
}

struct baseline_stream {
    z_stream stream;
    uint8_t output[1 << 16];
};

baseline_stream *baseline_stream_create(int level, int window_bits, int memory_level) {
    baseline_stream *stream = calloc(1, sizeof *stream);
    if (stream == NULL
        || deflateInit2(&stream->stream, level, Z_DEFLATED, -window_bits, memory_level, Z_DEFAULT_STRATEGY) != Z_OK)
        abort();
    return stream;
}

void baseline_stream_destroy(baseline_stream *stream) {
    deflateEnd(&stream->stream);
    free(stream);
}

size_t baseline_stream_add(baseline_stream *stream, const uint8_t *bytes, size_t count) {
    stream->stream.next_in = (uint8_t *)(uintptr_t)bytes;
    stream->stream.avail_in = (unsigned)count;
    stream->stream.next_out = stream->output;
    stream->stream.avail_out = sizeof stream->output;
    if (deflate(&stream->stream, Z_SYNC_FLUSH) != Z_OK) abort();
    // RFC 7692 §7.2.1: the four bytes at the end of a flush are removed.
    return sizeof stream->output - stream->stream.avail_out - 4;
}
