/// A splitter of a stream of bytes into lines. Every piece ends with a newline, except the pieces of a line that
/// exceeds the maximum, and a last line without a newline. No byte is lost.
package struct LineSplitter: Sendable {
    /// The maximum number of bytes of a piece.
    package let maxPieceByteCount: Int
    private var partial: [UInt8] = []

    /// Creates a splitter. `maxPieceByteCount` is at least 1.
    package init(maxPieceByteCount: Int) {
        self.maxPieceByteCount = maxPieceByteCount
    }

    /// Consumes bytes and returns the completed pieces.
    package mutating func split(_ bytes: some Sequence<UInt8>) -> [[UInt8]] {
        var pieces: [[UInt8]] = []
        for byte in bytes {
            partial.append(byte)
            if byte == UInt8(ascii: "\n") || partial.count == maxPieceByteCount {
                pieces.append(partial)
                partial.removeAll(keepingCapacity: true)
            }
        }
        return pieces
    }

    /// Returns the last piece at the end of the stream; nil if there is none.
    package mutating func finish() -> [UInt8]? {
        defer { partial = [] }
        return partial.isEmpty ? nil : partial
    }
}
