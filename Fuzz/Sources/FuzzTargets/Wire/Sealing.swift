import MartletWire

/// Corrects what a mutation cannot guess: the lengths and checksums of frames.
enum Sealing {
    /// Corrects the checksum of each frame in a sequence of whole frames.
    static func seal(_ stream: [UInt8]) -> [UInt8] {
        var bytes = stream
        var offset = 0
        while bytes.count - offset >= FrameHeader.byteCount {
            let rest = bytes[offset...]
            let end = FrameHeader.byteCount + Int(rest.rawBytes.loadUInt32(at: 20))
            guard rest.count >= end else { break }
            let checksum = FrameHeader.checksum(
                bodyChecksum: CRC32.checksum(rest.rawBytes.extracting(FrameHeader.byteCount..<end)),
                header: rest.rawBytes)
            for byte in 0..<4 { bytes[offset + 24 + byte] = UInt8(truncatingIfNeeded: checksum >> (24 - 8 * byte)) }
            offset += end
        }
        return bytes
    }
}
