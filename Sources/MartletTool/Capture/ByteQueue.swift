internal import MartletWire

/// Bytes of a file that wait to be read, with integers in either order.
struct ByteQueue: Sendable {
    private var bytes: [UInt8] = []
    private var first = 0
    /// How many bytes were taken so far: where in the file the rest begins.
    private(set) var takenByteCount = 0

    /// How many bytes wait.
    var count: Int { bytes.count - first }

    /// Puts bytes behind those that wait.
    mutating func append(_ more: [UInt8]) {
        bytes.removeFirst(first)
        first = 0
        bytes += more
    }

    /// Takes the next bytes; so many must wait.
    mutating func take(_ byteCount: Int) -> [UInt8] {
        precondition(byteCount <= count, "bytes that have not come")
        defer { drop(byteCount) }
        return Array(bytes[first..<first + byteCount])
    }

    /// Passes bytes over; so many must wait.
    mutating func drop(_ byteCount: Int) {
        precondition(byteCount <= count, "bytes that have not come")
        first += byteCount
        takenByteCount += byteCount
    }

    /// The integer that begins so many bytes behind the first that waits; all of it must wait.
    func integer<Value: FixedWidthInteger & BitwiseCopyable>(at offset: Int, isLittleEndian: Bool) -> Value {
        let value = bytes.rawBytes.loadBigEndian(at: first + offset, as: Value.self)
        return isLittleEndian ? value.byteSwapped : value
    }

    /// What is wrong at the first byte that waits.
    func error(_ problem: String) -> CaptureError {
        CaptureError(place: "at byte \(takenByteCount)", problem: problem)
    }
}
