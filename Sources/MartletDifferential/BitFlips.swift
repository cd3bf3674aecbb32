import MartletWire

/// A stream with one bit flipped: it is refused, or comes to the same, and never to something else.
struct BitFlips {
    var sender: Side
    var established: (maxBodyByteCount: Int, zlib: Bool)?
    var bytes: [UInt8]

    /// The bits of these that may be flipped without an error and change what comes out: there should be none.
    func accepted(_ bits: some Sequence<Int>) -> [Int] {
        let usual = read(bytes)
        var changed = bytes
        return bits.filter { bit in
            changed[bit / 8] ^= 1 << UInt8(bit % 8)
            let found = read(changed)
            changed[bit / 8] ^= 1 << UInt8(bit % 8)
            let isPrefix = found.frames.count <= usual.frames.count && zip(found.frames, usual.frames).allSatisfy(==)
            return !isPrefix || found.isWhole && found.frames.count != usual.frames.count
        }
    }

    private func read(_ bytes: [UInt8]) -> (
        frames: [(header: FrameHeader, outcome: StreamReader.Outcome)], isWhole: Bool
    ) {
        var reader = StreamReader(from: sender, established: established)
        reader.consume(bytes.rawBytes)
        reader.finish()
        return (reader.frames, reader.failure == nil)
    }
}
