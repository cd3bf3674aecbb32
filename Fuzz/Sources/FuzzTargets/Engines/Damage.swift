import MartletWire

/// Mutations of valid frames.
enum Damage {
    /// Changes some bytes. Usually the checksum is corrected, so that it does not reveal the change.
    static func mutate(_ frame: [UInt8], _ program: inout ByteProgram) -> [UInt8] {
        var bytes = frame
        for _ in 0...program.below(4) {
            let index = program.bool() ? program.below(60_000) : program.below(64)
            bytes[index % bytes.count] ^= program.byte()
        }
        switch program.byte() & 3 {
        case 0: return bytes
        case 1: return Array(bytes.dropLast(program.below(64)))
        default: return Sealing.seal(bytes)
        }
    }

    /// Splits a frame into small pieces.
    static func pieces(of frame: [UInt8], _ program: inout ByteProgram) -> [[UInt8]] {
        let size = 1 + program.below(24)
        return stride(from: 0, to: frame.count, by: size).map { Array(frame[$0..<min($0 + size, frame.count)]) }
    }
}
