#include "CMartletCodec.h"

#include <limits.h>
#include <stdlib.h>
#include <zlib.h>

#if __has_include(<libdeflate.h>)
#include <libdeflate.h>
#else
struct libdeflate_compressor;
#endif

struct martlet_deflater {
    struct libdeflate_compressor *fast;
    z_stream stream;
};

martlet_deflater *martlet_deflater_create(int level, bool zlib_only) {
    martlet_deflater *deflater = calloc(1, sizeof *deflater);
    if (deflater == NULL) abort();
#if __has_include(<libdeflate.h>)
    if (!zlib_only) {
        deflater->fast = libdeflate_alloc_compressor(level);
        if (deflater->fast == NULL) abort();
        return deflater;
    }
#else
    (void)zlib_only;
#endif
    if (deflateInit(&deflater->stream, level) != Z_OK) abort();
    return deflater;
}

void martlet_deflater_destroy(martlet_deflater *deflater) {
#if __has_include(<libdeflate.h>)
    libdeflate_free_compressor(deflater->fast);
#endif
    if (deflater->fast == NULL) deflateEnd(&deflater->stream);
    free(deflater);
}

size_t martlet_deflater_run(
    martlet_deflater *deflater, const void *input, size_t count, void *output, size_t capacity) {
#if __has_include(<libdeflate.h>)
    if (deflater->fast != NULL) return libdeflate_zlib_compress(deflater->fast, input, count, output, capacity);
#endif
    z_stream *stream = &deflater->stream;
    if (count > UINT_MAX || deflateReset(stream) != Z_OK) return 0;
    stream->next_in = (Bytef *)input;
    stream->avail_in = (uInt)count;
    stream->next_out = output;
    stream->avail_out = capacity > UINT_MAX ? UINT_MAX : (uInt)capacity;
    return deflate(stream, Z_FINISH) == Z_STREAM_END ? stream->total_out : 0;
}
