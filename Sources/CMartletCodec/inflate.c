#include "CMartletCodec.h"

#include <limits.h>
#include <stdlib.h>
#include <zlib.h>

#include "fast_codec.h"

struct martlet_inflater {
    struct libdeflate_decompressor *fast;
    z_stream stream;
};

martlet_inflater *martlet_inflater_create(bool zlib_only) {
    martlet_inflater *inflater = calloc(1, sizeof *inflater);
    if (inflater == NULL) abort();
#if MARTLET_HAS_LIBDEFLATE
    if (!zlib_only) {
        inflater->fast = libdeflate_alloc_decompressor();
        if (inflater->fast == NULL) abort();
        return inflater;
    }
#else
    (void)zlib_only;
#endif
    if (inflateInit(&inflater->stream) != Z_OK) abort();
    return inflater;
}

void martlet_inflater_destroy(martlet_inflater *inflater) {
#if MARTLET_HAS_LIBDEFLATE
    libdeflate_free_decompressor(inflater->fast);
#endif
    if (inflater->fast == NULL) inflateEnd(&inflater->stream);
    free(inflater);
}

#if MARTLET_HAS_LIBDEFLATE
static martlet_inflate_outcome run_libdeflate(
    martlet_inflater *inflater, const void *input, size_t count, void *output, size_t capacity, size_t *written) {
    size_t consumed = 0, produced = 0;
    switch (libdeflate_zlib_decompress_ex(inflater->fast, input, count, output, capacity, &consumed, &produced)) {
    case LIBDEFLATE_SUCCESS:
        if (consumed != count) return MARTLET_INFLATE_DAMAGED;
        *written = produced;
        return MARTLET_INFLATE_DONE;
    case LIBDEFLATE_INSUFFICIENT_SPACE:
        return MARTLET_INFLATE_FULL;
    default:
        return MARTLET_INFLATE_DAMAGED;
    }
}
#endif

static martlet_inflate_outcome run_zlib(
    martlet_inflater *inflater, const void *input, size_t count, void *output, size_t capacity, size_t *written) {
    z_stream *stream = &inflater->stream;
    if (count > UINT_MAX || capacity > UINT_MAX || inflateReset(stream) != Z_OK) return MARTLET_INFLATE_DAMAGED;
    Bytef spare;
    stream->next_in = (Bytef *)input;
    stream->avail_in = (uInt)count;
    stream->next_out = output == NULL ? &spare : output;
    stream->avail_out = (uInt)capacity;
    int status = inflate(stream, Z_FINISH);
    if (stream->avail_out == 0 && (status == Z_OK || status == Z_BUF_ERROR)) {
        // The output may be full just in front of the stream's end: one further byte shows it.
        stream->next_out = &spare;
        stream->avail_out = 1;
        status = inflate(stream, Z_FINISH);
        if (stream->avail_out == 0) return MARTLET_INFLATE_FULL;
    }
    if (status != Z_STREAM_END || stream->avail_in != 0) return MARTLET_INFLATE_DAMAGED;
    *written = stream->total_out;
    return MARTLET_INFLATE_DONE;
}

martlet_inflate_outcome martlet_inflater_run(
    martlet_inflater *inflater, const void *input, size_t count, void *output, size_t capacity, size_t *written) {
    *written = 0;
#if MARTLET_HAS_LIBDEFLATE
    if (inflater->fast != NULL) return run_libdeflate(inflater, input, count, output, capacity, written);
#endif
    return run_zlib(inflater, input, count, output, capacity, written);
}
