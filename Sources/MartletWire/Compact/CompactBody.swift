/// Bodies as compact TLVs, and back (W-89, W-90, W-91).
///
/// Nothing is lost on the way: a field whose value does not have the shape of its tag travels as it is, behind the code
/// 0. Nested containers are walked by recursion, never deeper than ``TLVLimits/maxDepth``.
enum CompactBody {
    /// The code in front of a tag of two bytes and a value as it is.
    private static let escape: UInt8 = 0

    // MARK: To compact TLVs

    /// Appends a body whose structure is sound. It never gets longer.
    static func append(_ body: RawSpan, to out: inout [UInt8]) {
        var reader = TLVReader(body)
        do throws(WireError) {
            while let field = try reader.next() { append(field, to: &out) }
        } catch {
            preconditionFailure("the body's structure is not sound: \(error)")
        }
    }

    private static func append(_ field: TLVView, to out: inout [UInt8]) {
        guard let code = field.tag.compactCode else { return appendEscaped(field, to: &out) }
        let value = field.value
        switch field.tag.compactShape {
        case .integer(let byteCount) where value.byteCount == byteCount:
            out.append(code)
            out.append(varint: integer(value, 0, byteCount))
        case .integers(let widths) where value.byteCount == widths.reduce(0, +):
            out.append(code)
            appendIntegers(value, widths, to: &out)
        case .sessionAck where isSessionAck(value):
            out.append(code)
            let rangeCount = (value.byteCount - 18) / 16
            appendIntegers(value.extracting(first: 18), [2, 8, 8], to: &out)
            out.append(varint: UInt64(rangeCount))
            appendIntegers(
                value.extracting(droppingFirst: 18), Array(repeating: 8, count: 2 * rangeCount), to: &out)
        case .container:
            out.append(code)
            let start = out.count
            append(value, to: &out)
            out.insert(varint: UInt64(out.count - start), at: start)
        case .bytes:
            out.append(code)
            out.append(varint: UInt64(value.byteCount))
            out.append(bytes: value)
        case .integer, .integers, .sessionAck:
            appendEscaped(field, to: &out)
        }
    }

    private static func appendEscaped(_ field: TLVView, to out: inout [UInt8]) {
        out.append(escape)
        out.append(bigEndian: field.tag.rawValue)
        out.append(varint: UInt64(field.value.byteCount))
        out.append(bytes: field.value)
    }

    private static func isSessionAck(_ value: RawSpan) -> Bool {
        value.byteCount >= 18 && (value.byteCount - 18) % 16 == 0
            && (value.byteCount - 18) / 16 <= SessionAck.maxRangeCount
    }

    private static func appendIntegers(_ value: RawSpan, _ widths: [Int], to out: inout [UInt8]) {
        var offset = 0
        for width in widths {
            out.append(varint: integer(value, offset, width))
            offset += width
        }
    }

    private static func integer(_ value: RawSpan, _ offset: Int, _ byteCount: Int) -> UInt64 {
        switch byteCount {
        case 1: UInt64(value.loadUInt8(at: offset))
        case 2: UInt64(value.loadUInt16(at: offset))
        case 4: UInt64(value.loadUInt32(at: offset))
        default: value.loadUInt64(at: offset)
        }
    }

    // MARK: From compact TLVs

    /// Appends the TLVs that `compact` stands for. A byte of it gives seven at the most, so the payload's bound is one
    /// here too.
    ///
    /// Throws `malformedPacket`, `tlvTooDeep`, and `tooManyTLVs` when there are more than `budget`.
    static func expand(
        _ compact: RawSpan, into out: inout [UInt8], budget: inout Int, depth: Int = 0
    ) throws(WireError) {
        var cursor = PacketCursor(compact)
        while !cursor.isAtEnd {
            guard budget > 0 else { throw .tooManyTLVs(limit: TLVLimits.maxCount) }
            budget -= 1
            let code = try cursor.uint8()
            if code == escape {
                let tag = Tag(rawValue: try cursor.uint16())
                let value = try cursor.bytes(try cursor.varint())
                appendHead(tag, value.byteCount, to: &out)
                out.append(bytes: value)
                continue
            }
            guard let tag = Tag(compactCode: code) else { throw cursor.fault }
            try expandValue(of: tag, from: &cursor, into: &out, budget: &budget, depth: depth)
        }
    }

    private static func expandValue(
        of tag: Tag, from cursor: inout PacketCursor, into out: inout [UInt8], budget: inout Int, depth: Int
    ) throws(WireError) {
        switch tag.compactShape {
        case .integer(let byteCount):
            appendHead(tag, byteCount, to: &out)
            try expandIntegers([byteCount], from: &cursor, into: &out)
        case .integers(let widths):
            appendHead(tag, widths.reduce(0, +), to: &out)
            try expandIntegers(widths, from: &cursor, into: &out)
        case .sessionAck:
            appendHead(tag, 0, to: &out)
            let start = out.count
            try expandIntegers([2, 8, 8], from: &cursor, into: &out)
            let rangeCount = try cursor.varint()
            guard rangeCount <= SessionAck.maxRangeCount else { throw cursor.fault }
            try expandIntegers(Array(repeating: 8, count: 2 * Int(rangeCount)), from: &cursor, into: &out)
            setLength(ofValueAt: start, in: &out)
        case .container:
            guard depth < TLVLimits.maxDepth else { throw .tlvTooDeep(limit: TLVLimits.maxDepth) }
            let value = try cursor.bytes(try cursor.varint())
            appendHead(tag, 0, to: &out)
            let start = out.count
            try expand(value, into: &out, budget: &budget, depth: depth + 1)
            setLength(ofValueAt: start, in: &out)
        case .bytes:
            let value = try cursor.bytes(try cursor.varint())
            appendHead(tag, value.byteCount, to: &out)
            out.append(bytes: value)
        }
    }

    private static func expandIntegers(
        _ widths: [Int], from cursor: inout PacketCursor, into out: inout [UInt8]
    ) throws(WireError) {
        for width in widths {
            switch width {
            case 1: out.append(try cursor.varint(as: UInt8.self))
            case 2: out.append(bigEndian: try cursor.varint(as: UInt16.self))
            case 4: out.append(bigEndian: try cursor.varint(as: UInt32.self))
            default: out.append(bigEndian: try cursor.varint())
            }
        }
    }

    static func appendHead(_ tag: Tag, _ byteCount: Int, to out: inout [UInt8]) {
        out.append(bigEndian: tag.rawValue)
        out.append(bigEndian: UInt32(byteCount))
    }

    static func setLength(ofValueAt start: Int, in out: inout [UInt8]) {
        let byteCount = UInt32(out.count - start)
        for index in 0..<4 { out[start - 4 + index] = UInt8(truncatingIfNeeded: byteCount >> (24 - 8 * index)) }
    }
}
