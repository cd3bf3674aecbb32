import MartletWire

/// Handmade bodies, valid or invalid.
enum TLVBytes {
    static func leaf(_ tag: Tag, _ value: [UInt8]) -> [UInt8] {
        var bytes: [UInt8] = []
        bytes.append(bigEndian: tag.rawValue)
        bytes.append(bigEndian: UInt32(value.count))
        return bytes + value
    }

    static func counter(_ counter: UInt8) -> [UInt8] { leaf(.counter, [0, 0, 0, 0, 0, 0, 0, counter]) }

    static func kind(_ kind: ContentKind) -> [UInt8] {
        leaf(.kind, [UInt8(kind.rawValue >> 8), UInt8(kind.rawValue & 0xFF)])
    }

    static func container(_ value: [UInt8]) -> [UInt8] { leaf(.content, value) }

    /// Nested containers.
    static func nested(_ depth: Int) -> [UInt8] {
        var bytes: [UInt8] = []
        for level in 0..<depth {
            bytes.append(bigEndian: Tag.content.rawValue)
            bytes.append(bigEndian: UInt32(TLVLimits.headByteCount * (depth - 1 - level)))
        }
        return bytes
    }

    /// Empty fields with an unknown tag.
    static func empty(_ count: Int) -> [UInt8] {
        var bytes: [UInt8] = [0x40, 0, 0, 0, 0, 0]
        while bytes.count < count * TLVLimits.headByteCount { bytes += bytes }
        return Array(bytes.prefix(count * TLVLimits.headByteCount))
    }
}

extension Welcome {
    /// The resume point of a device that has received `received` on each session.
    func resumePoint(_ received: [SessionID: UInt64]) -> ResumePoint {
        var positions = received.map { SessionPosition(session: $0.key, received: $0.value) }
        positions.append(SessionPosition(session: .control, received: 0))
        return ResumePoint(link: link, token: resumeToken, positions: positions)
    }
}
