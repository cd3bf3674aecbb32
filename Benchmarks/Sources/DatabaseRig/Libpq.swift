import CMartletPostgres
package import MartletWire

/// A connection of libpq that blocks.
@safe package final class Libpq {
    private let connection: OpaquePointer
    private var isPrepared = false

    package init(_ uri: String) throws {
        guard let connection = unsafe PQconnectdb(uri), unsafe PQstatus(connection) == CONNECTION_OK else {
            throw Failed(text: "no connection to \(uri)")
        }
        unsafe self.connection = connection
        execute("SET search_path = martlet")
        // The settings of the store's sessions.
        for name in ["jit", "enable_seqscan", "enable_hashjoin", "enable_mergejoin"] { execute("SET \(name) = off") }
        execute("SET plan_cache_mode = force_generic_plan")
    }

    deinit { unsafe PQfinish(connection) }

    package func execute(_ statement: String) {
        let result = unsafe PQexec(connection, statement)
        let status = unsafe PQresultStatus(result)
        precondition(
            status == PGRES_COMMAND_OK || status == PGRES_TUPLES_OK, unsafe String(cString: PQerrorMessage(connection)))
        unsafe PQclear(result)
    }

    package func id(of room: RoomName) -> Int64 { number("SELECT id FROM rooms WHERE name = '\(room.text)'") }

    /// The first value of the result of a statement; 0 without one.
    package func number<Number: LosslessStringConvertible & Numeric>(_ statement: String) -> Number {
        let result = unsafe PQexec(connection, statement)
        defer { unsafe PQclear(result) }
        return Number(unsafe String(cString: PQgetvalue(result, 0, 0))) ?? 0
    }

    /// Performs a prepared statement, and checks the number of its rows.
    package func run(_ text: String, _ values: [[UInt8]?], expecting count: Int) {
        if !isPrepared { unsafe PQclear(PQprepare(connection, "append", text, 0, nil)) }
        isPrepared = true
        let bytes = values.map { $0 ?? [] }.reduce(into: [UInt8]()) { $0 += $1 } + [0]
        let lengths = values.map { Int32($0?.count ?? 0) }
        let formats = [Int32](repeating: 1, count: values.count)
        let result = unsafe bytes.withUnsafeBytes { bytes in
            var place = bytes.baseAddress!
            let pointers: [UnsafePointer<CChar>?] = unsafe lengths.map { length in
                defer { unsafe place += Int(length) }
                return unsafe place.assumingMemoryBound(to: CChar.self)
            }
            return unsafe PQexecPrepared(
                connection, "append", Int32(values.count), pointers, lengths, formats, 1)
        }
        precondition(
            unsafe Int(PQntuples(result)) == count, unsafe String(cString: PQerrorMessage(connection)))
        unsafe PQclear(result)
    }
}
