internal import CMartletSQLite

/// A prepared statement. Parameters count from 1, columns from 0, as in SQLite.
///
/// A statement is used by the thread of its connection. `run` and the `first` methods reset it; a caller of `step` that
/// stops before the last row calls `reset`.
@safe
package final class Statement {
    private let handle: OpaquePointer
    private let database: Database
    /// The first error of a binding, which the next step throws.
    private var bindingFailure: Int32?

    @unsafe
    init(_ handle: OpaquePointer, of database: Database) {
        unsafe self.handle = handle
        self.database = database
    }

    deinit {
        unsafe sqlite3_finalize(handle)
    }

    // MARK: Parameters

    package func bind(_ index: Int32, _ value: Int64) {
        note(unsafe sqlite3_bind_int64(handle, index, value))
    }

    /// Stores the bits of the value. Such columns are compared for equality only, unless all values are below 2⁶³.
    package func bind(_ index: Int32, _ value: UInt64) {
        bind(index, Int64(bitPattern: value))
    }

    package func bind(_ index: Int32, _ value: String) {
        var value = value
        note(
            value.withUTF8 { bytes in
                unsafe bytes.withMemoryRebound(to: CChar.self) {
                    guard let bytes = $0.baseAddress else {
                        // SQLite would store NULL for an empty string without an address.
                        return unsafe martlet_sqlite_bind_text(handle, index, "", 0)
                    }
                    return unsafe martlet_sqlite_bind_text(handle, index, bytes, Int32(clamping: $0.count))
                }
            })
    }

    package func bind(_ index: Int32, _ value: [UInt8]) {
        note(
            unsafe value.withUnsafeBytes {
                unsafe martlet_sqlite_bind_blob(handle, index, $0.baseAddress, Int32(clamping: $0.count))
            })
    }

    package func bindNull(_ index: Int32) {
        note(unsafe sqlite3_bind_null(handle, index))
    }

    package func bind(_ index: Int32, _ value: Int64?) {
        if let value { bind(index, value) } else { bindNull(index) }
    }

    package func bind(_ index: Int32, _ value: UInt64?) {
        if let value { bind(index, value) } else { bindNull(index) }
    }

    package func bind(_ index: Int32, _ value: String?) {
        if let value { bind(index, value) } else { bindNull(index) }
    }

    package func bind(_ index: Int32, _ value: [UInt8]?) {
        if let value { bind(index, value) } else { bindNull(index) }
    }

    private func note(_ result: Int32) {
        if result != SQLITE_OK, bindingFailure == nil { bindingFailure = result }
    }

    // MARK: Execution

    /// Executes the statement, whose rows are ignored, and resets it.
    package func run() throws(DatabaseError) {
        defer { reset() }
        while try step() {}
    }

    /// Moves to the next row. Returns false after the last one; the statement is then reset.
    package func step() throws(DatabaseError) -> Bool {
        if let bindingFailure {
            self.bindingFailure = nil
            reset()
            throw database.error(bindingFailure)
        }
        let result = unsafe sqlite3_step(handle)
        switch result {
        case SQLITE_ROW: return true
        case SQLITE_DONE:
            reset()
            return false
        default:
            let error = database.error(result)
            reset()
            throw error
        }
    }

    /// Ends the execution. The parameters keep their values.
    package func reset() {
        unsafe sqlite3_reset(handle)
    }

    /// The integer in the first column of the first row; nil without a row.
    package func firstInt64() throws(DatabaseError) -> Int64? {
        defer { reset() }
        return try step() ? int64(0) : nil
    }

    /// The text in the first column of the first row; nil without a row.
    package func firstText() throws(DatabaseError) -> String? {
        defer { reset() }
        return try step() ? text(0) : nil
    }

    // MARK: Columns of the current row

    package func isNull(_ column: Int32) -> Bool {
        unsafe sqlite3_column_type(handle, column) == SQLITE_NULL
    }

    package func int64(_ column: Int32) -> Int64 {
        unsafe sqlite3_column_int64(handle, column)
    }

    /// The value of which `bind` has stored the bits.
    package func uint64(_ column: Int32) -> UInt64 {
        UInt64(bitPattern: int64(column))
    }

    package func optionalInt64(_ column: Int32) -> Int64? {
        isNull(column) ? nil : int64(column)
    }

    package func optionalUInt64(_ column: Int32) -> UInt64? {
        isNull(column) ? nil : uint64(column)
    }

    /// The text of the column; empty if it is NULL.
    package func text(_ column: Int32) -> String {
        guard let bytes = unsafe sqlite3_column_text(handle, column) else { return "" }
        let count = Int(unsafe sqlite3_column_bytes(handle, column))
        return unsafe String(decoding: UnsafeBufferPointer(start: bytes, count: count), as: UTF8.self)
    }

    package func optionalText(_ column: Int32) -> String? {
        isNull(column) ? nil : text(column)
    }

    /// The bytes of the column; empty if it is NULL.
    package func bytes(_ column: Int32) -> [UInt8] {
        guard let bytes = unsafe sqlite3_column_blob(handle, column) else { return [] }
        let count = Int(unsafe sqlite3_column_bytes(handle, column))
        return unsafe [UInt8](UnsafeRawBufferPointer(start: bytes, count: count))
    }
}
