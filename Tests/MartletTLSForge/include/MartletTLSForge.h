// Records that a client of TLS 1.3 could send and OpenSSL does not, for tests of a server.
#pragma once

#include "CMartletTLS.h"

#if defined(__clang__)
#pragma clang assume_nonnull begin
#endif

/// Writes the record that the server expects as number `ahead` from its next one, with any type and `padding` zeros.
/// `record` has room for `count`, `padding` and 22 bytes. Returns the length; -1 if the server does not read records
/// itself.
ptrdiff_t martlet_tls_forge_record(
    martlet_tls_connection *server, uint8_t type, const void *bytes, size_t count, size_t padding, uint64_t ahead,
    uint8_t *record);

#if defined(__clang__)
#pragma clang assume_nonnull end
#endif
