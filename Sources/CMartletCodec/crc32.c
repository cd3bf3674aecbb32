#include "CMartletCodec.h"

#include <zlib.h>

#include "fast_codec.h"

uint32_t martlet_crc32_zlib(uint32_t crc, const void *bytes, size_t count) {
    // A null pointer asks zlib for its starting value instead of continuing.
    if (count == 0) return crc;
    return (uint32_t)crc32_z(crc, bytes, count);
}

uint32_t martlet_crc32(uint32_t crc, const void *bytes, size_t count) {
#if MARTLET_HAS_LIBDEFLATE
    if (count == 0) return crc;
    return libdeflate_crc32(crc, bytes, count);
#else
    return martlet_crc32_zlib(crc, bytes, count);
#endif
}

uint32_t martlet_crc32_words(uint32_t crc, uint64_t first, uint64_t second, uint64_t third) {
    const uint64_t words[3] = {first, second, third};
    return martlet_crc32(crc, words, sizeof words);
}
