import CMartletPostgres

/// The rows that answer a statement, in the binary format of PostgreSQL. It never changes.
@safe final class PostgresResult: @unchecked Sendable {  // The result is never changed.
    private let result: OpaquePointer

    /// Takes ownership.
    init(_ result: OpaquePointer) {
        unsafe self.result = result
    }

    deinit { unsafe PQclear(result) }

    var rows: Range<Int32> { unsafe 0..<PQntuples(result) }

    func isNull(_ row: Int32, _ column: Int32) -> Bool { unsafe PQgetisnull(result, row, column) != 0 }

    /// The number in a column of the type bigint; 0 for NULL.
    func int64(_ row: Int32, _ column: Int32) -> Int64 {
        guard unsafe PQgetlength(result, row, column) == 8, let value = unsafe PQgetvalue(result, row, column) else {
            return 0
        }
        var number: UInt64 = 0
        for index in 0..<8 { number = number << 8 | UInt64(UInt8(bitPattern: unsafe value[index])) }
        return Int64(bitPattern: number)
    }

    func uint64(_ row: Int32, _ column: Int32) -> UInt64 { UInt64(bitPattern: int64(row, column)) }

    /// The bytes of a column of the type bytea or text; empty for NULL.
    func bytes(_ row: Int32, _ column: Int32) -> [UInt8] {
        let count = Int(unsafe PQgetlength(result, row, column))
        guard count > 0, let value = unsafe PQgetvalue(result, row, column) else { return [] }
        return unsafe Array(UnsafeRawBufferPointer(start: value, count: count))
    }

    /// Text; nil for bytes that are not UTF-8.
    func text(_ row: Int32, _ column: Int32) -> String? {
        String(validating: bytes(row, column), as: UTF8.self)
    }

    /// The error of a result that is not a success.
    var error: PostgresError {
        // The letters are those of PG_DIAG_SQLSTATE and PG_DIAG_MESSAGE_PRIMARY.
        let (code, text) = (field("C"), field("M"))
        return code.isEmpty ? .unavailable(text) : .refused(code: code, text)
    }

    private func field(_ letter: Unicode.Scalar) -> String {
        unsafe PQresultErrorField(result, Int32(letter.value)).map { unsafe String(cString: $0) } ?? ""
    }
}
