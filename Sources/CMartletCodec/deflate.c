#include "CMartletCodec.h"

#include <limits.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <zlib.h>

#include "fast_codec.h"

struct martlet_deflater {
    struct libdeflate_compressor *fast;
    z_stream stream;
    int level;
    bool zlib_only;
};

// Deflaters without a current user. Each is taken and put back by exchange, so that there is no lock.
static _Atomic(martlet_deflater *) idle[MARTLET_MAX_IDLE_DEFLATERS];
static atomic_size_t deflater_count;

static martlet_deflater *create(int level, bool zlib_only) {
    martlet_deflater *deflater = calloc(1, sizeof *deflater);
    if (deflater == NULL) abort();
    atomic_fetch_add_explicit(&deflater_count, 1, memory_order_relaxed);
    deflater->level = level;
    deflater->zlib_only = zlib_only;
#if MARTLET_HAS_LIBDEFLATE
    if (!zlib_only) {
        deflater->fast = libdeflate_alloc_compressor(level);
        if (deflater->fast == NULL) abort();
        return deflater;
    }
#endif
    if (deflateInit(&deflater->stream, level) != Z_OK) abort();
    return deflater;
}

static void destroy(martlet_deflater *deflater) {
    atomic_fetch_sub_explicit(&deflater_count, 1, memory_order_relaxed);
#if MARTLET_HAS_LIBDEFLATE
    libdeflate_free_compressor(deflater->fast);
#endif
    if (deflater->fast == NULL) deflateEnd(&deflater->stream);
    free(deflater);
}

martlet_deflater *martlet_deflater_take(int level, bool zlib_only) {
    for (size_t index = 0; index < MARTLET_MAX_IDLE_DEFLATERS; index++) {
        martlet_deflater *deflater = atomic_exchange(&idle[index], NULL);
        if (deflater == NULL) continue;
        if (deflater->level == level && deflater->zlib_only == zlib_only) return deflater;
        martlet_deflater_give(deflater);
    }
    return create(level, zlib_only);
}

void martlet_deflater_give(martlet_deflater *deflater) {
    for (size_t index = 0; index < MARTLET_MAX_IDLE_DEFLATERS; index++) {
        martlet_deflater *empty = NULL;
        if (atomic_compare_exchange_strong(&idle[index], &empty, deflater)) return;
    }
    destroy(deflater);
}

size_t martlet_deflater_count(void) {
    return atomic_load_explicit(&deflater_count, memory_order_relaxed);
}

size_t martlet_deflater_run(
    martlet_deflater *deflater, const void *input, size_t count, void *output, size_t capacity) {
#if MARTLET_HAS_LIBDEFLATE
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
