#include "MartletTLSForge.h"

#ifndef __APPLE__
#include "../../Sources/CMartletTLS/internal.h"

#include <stdlib.h>
#include <string.h>

ptrdiff_t martlet_tls_forge_record(
    martlet_tls_connection *server, uint8_t type, const void *bytes, size_t count, size_t padding, uint64_t ahead,
    uint8_t *record) {
    if (!server->records) return -1;
    struct martlet_tls_direction direction = {0};
    uint8_t *content = calloc(1, count + 1 + padding);
    if (!content) return -1;
    if (count) memcpy(content, bytes, count);
    content[count] = type;
    int is_done = martlet_tls_start_direction(
        &server->records->suite, &direction, server->records->read.secret, 1, server->records->read.sequence + ahead);
    // The last byte of the content stands for its type.
    size_t last = count + padding;
    is_done = is_done && martlet_tls_seal(&direction, content[last], content, last, record);
    martlet_tls_end_direction(&direction);
    free(content);
    return is_done ? (ptrdiff_t)(last + martlet_tls_record_overhead) : -1;
}
#endif
