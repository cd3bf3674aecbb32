import MartletWire

/// A stream with one flipped bit. The framing either refuses it or gives the original result.
struct BitFlips {
    var sender: Side
    var established: (maxBodyByteCount: Int, zlib: Bool)?
    var bytes: [UInt8]

    /// Returns those of `bits` that can be flipped without an error and that change the result. The expected result is
    /// empty.
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
