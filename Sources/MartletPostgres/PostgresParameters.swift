import MartletWire

/// A statement with a name, by which each connection prepares it once.
struct PostgresStatement: Hashable {
    let name: String
    let text: String

    init(_ name: String, _ text: String) {
        self.name = name
        self.text = text
    }
}

/// A statement with the values of its parameters in the binary format of PostgreSQL.
struct PostgresQuery {
    /// The OIDs of the types of elements of arrays.
    private static let (bigintType, byteaType) = (UInt32(20), UInt32(17))

    let statement: PostgresStatement
    /// The values one after another.
    private(set) var bytes: [UInt8] = []
    /// The place of each value; nil for NULL.
    private(set) var ranges: [Range<Int>?] = []

    init(_ statement: PostgresStatement) {
        self.statement = statement
    }

    mutating func add(_ value: Int64) { add { $0.append(bigEndian: UInt64(bitPattern: value)) } }

    mutating func add(_ value: Int64?) {
        if let value { add(value) } else { ranges.append(nil) }
    }

    /// Adds the bits of a number. Those from 2⁶³ on are negative in the database.
    mutating func add(_ value: UInt64) { add(Int64(bitPattern: value)) }

    mutating func add(_ value: [UInt8]?) {
        guard let value else { return ranges.append(nil) }
        add { $0 += value }
    }

    mutating func add(_ text: String) { add(Array(text.utf8)) }

    mutating func add(_ values: [Int64]) {
        add { bytes in
            Self.appendHead(values.count, Self.bigintType, hasNulls: false, to: &bytes)
            for value in values {
                bytes.append(bigEndian: UInt32(8))
                bytes.append(bigEndian: UInt64(bitPattern: value))
            }
        }
    }

    mutating func add(_ values: [UInt64]) { add(values.map { Int64(bitPattern: $0) }) }

    mutating func add(_ values: [[UInt8]?]) {
        add { bytes in
            let hasNulls = values.contains { $0 == nil }
            Self.appendHead(values.count, Self.byteaType, hasNulls: hasNulls, to: &bytes)
            for value in values {
                bytes.append(bigEndian: value.map { UInt32($0.count) } ?? .max)
                bytes += value ?? []
            }
        }
    }

    private mutating func add(_ append: (inout [UInt8]) -> Void) {
        let start = bytes.count
        append(&bytes)
        ranges.append(start..<bytes.count)
    }

    /// The head of an array with one dimension, whose first index is 1.
    private static func appendHead(_ count: Int, _ type: UInt32, hasNulls: Bool, to bytes: inout [UInt8]) {
        for number in [count > 0 ? 1 : 0, hasNulls ? 1 : 0, type] as [UInt32] { bytes.append(bigEndian: number) }
        if count > 0 {
            bytes.append(bigEndian: UInt32(count))
            bytes.append(bigEndian: UInt32(1))
        }
    }
}
