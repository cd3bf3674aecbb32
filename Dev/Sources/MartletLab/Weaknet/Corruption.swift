import MartletWire

/// A fault that flips one bit in every block of bytes, at a position that the seed determines.
struct Corruption: Equatable, Sendable {
    private let blockByteCount: Int
    private var random: SeededRandom
    private var position = 0
    private var target: Int
    /// The number of flipped bits.
    private(set) var flippedCount = 0

    /// Creates a corruption of one byte in `blockByteCount`, which is at least 1.
    init(oneIn blockByteCount: Int, seed: UInt64) {
        self.blockByteCount = blockByteCount
        random = SeededRandom(seed: seed)
        target = Int.random(in: 0..<blockByteCount, using: &random)
    }

    /// Applies the corruption to the next bytes of the stream.
    mutating func apply(to bytes: inout [UInt8]) {
        var next = 0
        while next < bytes.count {
            let step = min(blockByteCount - position, bytes.count - next)
            if (position..<position + step).contains(target) {
                bytes[next + target - position] ^= 1 << UInt8.random(in: 0..<8, using: &random)
                flippedCount += 1
            }
            next += step
            position += step
            if position == blockByteCount {
                position = 0
                target = Int.random(in: 0..<blockByteCount, using: &random)
            }
        }
    }
}
