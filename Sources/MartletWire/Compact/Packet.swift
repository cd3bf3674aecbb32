/// What a packet begins and ends with (W-77, W-78).
enum Packet {
    /// Bytes of a payload at the most, before deflating and after.
    static let maxPayloadByteCount = 4096
    static let checksumByteCount = 4
    static let maxHeadByteCount = 2

    /// The first one or two bytes.
    struct Head: Equatable {
        var isDeflated: Bool
        var payloadByteCount: Int
        var byteCount: Int

        /// Head, payload and checksum.
        var packetByteCount: Int { byteCount + payloadByteCount + Packet.checksumByteCount }

        /// The shortest head of a payload.
        init(payloadByteCount: Int, isDeflated: Bool) {
            self.isDeflated = isDeflated
            self.payloadByteCount = payloadByteCount
            byteCount = isDeflated || payloadByteCount > 0x7F ? 2 : 1
        }

        /// Reads a head; nil while its second byte is not there.
        ///
        /// Throws `badMagic` when it is not a packet's, `malformedPacket` when it has no payload and needs one,
        /// `frameTooLarge`.
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

        /// Stores it over bytes that were appended.
        @_lifetime(out: copy out)
        func store(at offset: Int, in out: inout OutputRawSpan) {
            guard byteCount == 2 else { return out.store(bigEndian: UInt8(payloadByteCount), at: offset) }
            out.store(bigEndian: long, at: offset)
        }

        private var long: UInt16 { UInt16(payloadByteCount) | (isDeflated ? 0xA000 : 0xC000) }
    }
}
