/// The head and the checksum of a packet (W-77, W-78).
enum Packet {
    /// The maximum number of bytes of a payload, before and after deflating.
    static let maxPayloadByteCount = 4096
    static let checksumByteCount = 4
    /// The maximum number of bytes of a head.
    static let maxHeadByteCount = 2

    /// The first one or two bytes of a packet.
    struct Head: Equatable {
        var isDeflated: Bool
        var payloadByteCount: Int
        var byteCount: Int

        /// The number of bytes of head, payload and checksum.
        var packetByteCount: Int { byteCount + payloadByteCount + Packet.checksumByteCount }

        /// Creates the shortest head for a payload.
        init(payloadByteCount: Int, isDeflated: Bool) {
            self.isDeflated = isDeflated
            self.payloadByteCount = payloadByteCount
            byteCount = isDeflated || payloadByteCount > 0x7F ? 2 : 1
        }

        /// Parses a head; nil if its second byte is missing.
        ///
        /// - Throws: `badMagic` if the first byte does not begin a packet, `malformedPacket` if a required payload is
        ///   empty, or `frameTooLarge`.
        init?(parsing bytes: RawSpan, allowsDeflate: Bool) throws(WireError) {
            let first = bytes.loadUInt8(at: 0)
            switch first {
            case 0x01...0x7F:
                isDeflated = false
                payloadByteCount = Int(first)
                byteCount = 1
                return
            case 0xA0...0xBF where allowsDeflate: isDeflated = true
            case 0xC0...0xFF: isDeflated = false
            default: throw .badMagic(UInt32(first) << 24)
            }
            guard bytes.byteCount >= 2 else { return nil }
            let length = bytes.loadUInt16(at: 0)
            payloadByteCount = Int(length & (isDeflated ? 0x1FFF : 0x3FFF))
            byteCount = 2
            guard payloadByteCount > 0 || isDeflated else { throw .malformedPacket(offset: 0) }
            guard payloadByteCount <= Packet.maxPayloadByteCount else {
                throw .frameTooLarge(byteCount: UInt64(payloadByteCount), limit: Packet.maxPayloadByteCount)
            }
        }

        @_lifetime(out: copy out)
        func append(to out: inout OutputRawSpan) {
            guard byteCount == 2 else { return out.append(bigEndian: UInt8(payloadByteCount)) }
            out.append(bigEndian: long)
        }

        /// Overwrites bytes that were appended before with the head.
        @_lifetime(out: copy out)
        func store(at offset: Int, in out: inout OutputRawSpan) {
            guard byteCount == 2 else { return out.store(bigEndian: UInt8(payloadByteCount), at: offset) }
            out.store(bigEndian: long, at: offset)
        }

        private var long: UInt16 { UInt16(payloadByteCount) | (isDeflated ? 0xA000 : 0xC000) }
    }
}
