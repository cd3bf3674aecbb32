#include "CMartletCodec.h"

#include <zlib.h>

#if __has_include(<libdeflate.h>)
#include <libdeflate.h>
#endif

uint32_t martlet_crc32_zlib(uint32_t crc, const void *bytes, size_t count) {
    // A null pointer asks zlib for its starting value instead of continuing.
    if (count == 0) return crc;
    return (uint32_t)crc32_z(crc, bytes, count);
}

uint32_t martlet_crc32(uint32_t crc, const void *bytes, size_t count) {
#if __has_include(<libdeflate.h>)
    if (count == 0) return crc;
    return libdeflate_crc32(crc, bytes, count);
#else
    return martlet_crc32_zlib(crc, bytes, count);
#endif
}
