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

// Reads the first bytes of the main file by SQLite's own descriptor, before any statement. The end of another
// descriptor would release the locks of all connections of the process.
static inline int martlet_sqlite_read_header(sqlite3 *database, void *bytes, int count) {
    sqlite3_file *file = 0;
    int result = sqlite3_file_control(database, "main", SQLITE_FCNTL_FILE_POINTER, &file);
    if (result != SQLITE_OK || !file || !file->pMethods) return SQLITE_MISUSE;
    result = file->pMethods->xRead(file, bytes, count, 0);
    return result == SQLITE_IOERR_SHORT_READ ? SQLITE_OK : result;
}
