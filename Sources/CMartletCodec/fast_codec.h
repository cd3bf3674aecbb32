#pragma once

// Where the package links libdeflate. Not where its header is: a build that began before it was installed would keep
// objects without it, ten times slower in CRC-32, and nobody would notice.
#if defined(__linux__) && !defined(__ANDROID__)
#include <libdeflate.h>
#define MARTLET_HAS_LIBDEFLATE 1
#else
#define MARTLET_HAS_LIBDEFLATE 0
struct libdeflate_compressor;
struct libdeflate_decompressor;
#endif
