#include "CBaselines.h"

#include <fcntl.h>
#include <sqlite3.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

static int execute(sqlite3 *database, const char *sql) {
    return sqlite3_exec(database, sql, NULL, NULL, NULL) == SQLITE_OK;
}

static uint64_t insert_rows(sqlite3 *database, size_t commits, size_t rows, const uint8_t *bytes, size_t count) {
    sqlite3_stmt *insert = NULL;
    // The table of the outbox, its index, and the columns of a new message.
    if (!execute(database, "PRAGMA journal_mode=WAL; PRAGMA synchronous=FULL; PRAGMA foreign_keys=ON;"
                           "CREATE TABLE message ("
                           "counter INTEGER PRIMARY KEY, sender TEXT NOT NULL, room TEXT NOT NULL,"
                           "state INTEGER NOT NULL, kind INTEGER NOT NULL, content BLOB, lifetime INTEGER,"
                           "expires_at INTEGER, is_compressible INTEGER NOT NULL, settled_at INTEGER, offset INTEGER,"
                           "failure INTEGER, failure_code INTEGER, failure_reason TEXT, in_flight_at INTEGER);"
                           "CREATE INDEX message_settled ON message (state, settled_at) WHERE state >= 2")
        || sqlite3_prepare_v2(
               database,
               "INSERT INTO message (counter, sender, room, state, kind, content, lifetime, expires_at, "
               "is_compressible, in_flight_at) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
               -1, &insert, NULL)
            != SQLITE_OK)
        return 0;
    uint64_t begin = measure_now();
    int is_done = 1;
    for (size_t commit = 0; commit < commits && is_done; commit++) {
        is_done = execute(database, "BEGIN IMMEDIATE");
        for (size_t row = 0; row < rows && is_done; row++) {
            sqlite3_bind_int64(insert, 1, (sqlite3_int64)(commit * rows + row + 1));
            sqlite3_bind_text(insert, 2, "bench", 5, SQLITE_STATIC);
            sqlite3_bind_text(insert, 3, "bench", 5, SQLITE_STATIC);
            sqlite3_bind_int64(insert, 4, 0);
            sqlite3_bind_int64(insert, 5, 1);
            sqlite3_bind_blob(insert, 6, bytes, (int)count, SQLITE_STATIC);
            sqlite3_bind_int64(insert, 9, 1);
            is_done = sqlite3_step(insert) == SQLITE_DONE;
            sqlite3_reset(insert);
        }
        is_done = is_done && execute(database, "COMMIT");
    }
    uint64_t elapsed = measure_now() - begin;
    sqlite3_finalize(insert);
    return is_done ? elapsed : 0;
}

uint64_t baseline_sqlite_insert(
    const char *path, size_t commits, size_t rows, const uint8_t *bytes, size_t count) {
    sqlite3 *database = NULL;
    uint64_t elapsed = 0;
    if (sqlite3_open(path, &database) == SQLITE_OK) elapsed = insert_rows(database, commits, rows, bytes, count);
    sqlite3_close(database);
    return elapsed;
}

uint64_t baseline_sync(const char *path, size_t count) {
    int file = open(path, O_RDWR | O_CREAT | O_TRUNC, 0600);
    if (file < 0) return 0;
    static const uint8_t page[4096];
    uint64_t begin = measure_now();
    for (size_t index = 0; index < count; index++) {
        if (pwrite(file, page, sizeof page, (off_t)(index * sizeof page)) < 0 || fdatasync(file) != 0) {
            close(file);
            return 0;
        }
    }
    uint64_t elapsed = measure_now() - begin;
    close(file);
    return elapsed;
}
