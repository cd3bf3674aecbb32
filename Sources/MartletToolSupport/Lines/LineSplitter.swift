/// Cuts a stream of bytes into lines without losing one byte: every piece ends in a newline, but for the pieces of a
/// line that is too long and for the end of a stream that lacks one.
package struct LineSplitter: Sendable {
    /// The longest piece, in bytes.
    package let maxPieceByteCount: Int
    private var partial: [UInt8] = []

    /// A splitter that cuts lines longer than `maxPieceByteCount`, which is at least 1.
    package init(maxPieceByteCount: Int) {
        self.maxPieceByteCount = maxPieceByteCount
    }

    /// The pieces that are complete with these bytes.
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

    /// What is left when the stream has ended, if anything.
    package mutating func finish() -> [UInt8]? {
        defer { partial = [] }
        return partial.isEmpty ? nil : partial
    }
}
