// SQLite, of which MartletSQLite uses the C interface.
#include <sqlite3.h>

// SQLITE_TRANSIENT is a cast, which Swift does not import. SQLite copies the bytes.
static inline int martlet_sqlite_bind_text(sqlite3_stmt *statement, int index, const char *bytes, int count) {
    return sqlite3_bind_text(statement, index, bytes, count, SQLITE_TRANSIENT);
}

static inline int martlet_sqlite_bind_blob(sqlite3_stmt *statement, int index, const void *bytes, int count) {
    if (count == 0) return sqlite3_bind_zeroblob(statement, index, 0);
    return sqlite3_bind_blob(statement, index, bytes, count, SQLITE_TRANSIENT);
}
