#pragma once

#include <stddef.h>
#include <stdint.h>

/// 1 when libdeflate was there at build time, else 0: zlib then does everything.
#if __has_include(<libdeflate.h>)
#define MARTLET_HAS_LIBDEFLATE 1
#else
#define MARTLET_HAS_LIBDEFLATE 0
#endif

/// CRC-32 (IEEE 802.3, reflected) of `count` bytes, continuing `crc`; 0 starts anew.
uint32_t martlet_crc32(uint32_t crc, const void *bytes, size_t count);
/// The same sum by zlib alone, for the test that holds the two against each other.
uint32_t martlet_crc32_zlib(uint32_t crc, const void *bytes, size_t count);
