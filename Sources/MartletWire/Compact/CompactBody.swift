/// The conversion between the TLVs of a body and compact TLVs (W-89, W-90, W-91).
///
/// The conversion is lossless: a field whose value does not have the shape of its tag is written unchanged after the
/// code 0. Nested containers are processed by recursion, to a depth of at most ``TLVLimits/maxDepth``.
enum CompactBody {
    /// The code before a two-byte tag and an unchanged value.
    private static let escape: UInt8 = 0

    // MARK: Compacting

    /// Appends the TLVs of a body as compact TLVs, which are never longer than the body.
    ///
    /// - Throws: The errors of ``TLVValidator`` if the structure of the body is invalid. A part of the output has been
    ///   appended in this case.
    @_lifetime(out: copy out)
    static func append(_ body: RawSpan, to out: inout OutputRawSpan) throws(WireError) {
        var budget = TLVLimits.maxCount
        try append(body, depth: 0, budget: &budget, to: &out)
    }

    @_lifetime(out: copy out)
    private static func append(
        _ tlvs: RawSpan, depth: Int, budget: inout Int, to out: inout OutputRawSpan
    ) throws(WireError) {
        var reader = TLVReader(tlvs, budget: budget)
        while let field = try reader.next() {
            budget = reader.budget
            guard field.tag.isContainer else {
                append(field, to: &out)
                continue
            }
            guard depth < TLVLimits.maxDepth else { throw .tlvTooDeep(limit: TLVLimits.maxDepth) }
            if let code = field.tag.compactCode {
                out.append(code)
                let start = out.byteCount
                try append(field.value, depth: depth + 1, budget: &budget, to: &out)
                out.insertByteCount(at: start)
            } else {
                try TLVValidator.validate(field.value, depth: depth + 1, budget: &budget)
                appendEscaped(field, to: &out)
            }
            reader.budget = budget
        }
    }

    /// Appends a field that is not a container.
    @_lifetime(out: copy out)
    private static func append(_ field: TLVView, to out: inout OutputRawSpan) {
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
            appendIntegers(value, [2, 8, 8], to: &out)
            out.append(varint: UInt64(value.byteCount - 18) / 16)
            for offset in stride(from: 18, to: value.byteCount, by: 8) { out.append(varint: integer(value, offset, 8)) }
        case .bytes:
            out.append(code)
            out.append(varint: UInt64(value.byteCount))
            out.append(bytes: value)
        case .integer, .integers, .sessionAck, .container:
            appendEscaped(field, to: &out)
        }
    }

    @_lifetime(out: copy out)
    private static func appendEscaped(_ field: TLVView, to out: inout OutputRawSpan) {
        out.append(escape)
        out.append(bigEndian: field.tag.rawValue)
        out.append(varint: UInt64(field.value.byteCount))
        out.append(bytes: field.value)
    }

    /// Returns whether the value is a `sessionAck` whose compact form is not longer: a varint of 2⁵⁶ or more would
    /// exceed the 8 bytes of the plain form (W-90).
    private static func isSessionAck(_ value: RawSpan) -> Bool {
        guard value.byteCount >= 18, (value.byteCount - 18) % 16 == 0,
            (value.byteCount - 18) / 16 <= SessionAck.maxRangeCount
        else { return false }
        return stride(from: 2, to: value.byteCount, by: 8).allSatisfy { value.loadUInt8(at: $0) == 0 }
    }

    @_lifetime(out: copy out)
    private static func appendIntegers(_ value: RawSpan, _ widths: [Int], to out: inout OutputRawSpan) {
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

    // MARK: Expanding

    /// Appends the TLVs that compact TLVs represent. One byte of `compact` expands to at most seven, so the bound of a
    /// packet's payload also bounds the output.
    ///
    /// - Throws: `malformedPacket`, `tlvTooDeep`, or `tooManyTLVs` if there are more than `budget` TLVs.
    static func expand(
        _ compact: RawSpan, into out: inout TLVWriter, budget: inout Int, depth: Int = 0
    ) throws(WireError) {
        var cursor = PacketCursor(compact)
        while !cursor.isAtEnd {
            guard budget > 0 else { throw .tooManyTLVs(limit: TLVLimits.maxCount) }
            budget -= 1
            let code = try cursor.uint8()
            if code == escape {
                let tag = Tag(rawValue: try cursor.uint16())
                out.append(tag, bytes: try cursor.bytes(try cursor.varint()))
                continue
            }
            guard let tag = Tag(compactCode: code) else { throw cursor.fault }
            switch tag.compactShape {
            case .integer(let byteCount):
                out.appendHead(tag, followedBy: byteCount)
                try expandInteger(byteCount, from: &cursor, into: &out)
            case .integers(let widths):
                out.appendHead(tag, followedBy: widths.reduce(0, +))
                for width in widths { try expandInteger(width, from: &cursor, into: &out) }
            case .sessionAck:
                try expandSessionAck(from: &cursor, into: &out)
            case .container:
                guard depth < TLVLimits.maxDepth else { throw .tlvTooDeep(limit: TLVLimits.maxDepth) }
                let value = try cursor.bytes(try cursor.varint())
                try out.container(tag) { inner throws(WireError) in
                    try expand(value, into: &inner, budget: &budget, depth: depth + 1)
                }
            case .bytes:
                out.append(tag, bytes: try cursor.bytes(try cursor.varint()))
            }
        }
    }

    private static func expandSessionAck(
        from cursor: inout PacketCursor, into out: inout TLVWriter
    ) throws(WireError) {
        let session = try cursor.varint(as: UInt16.self)
        let (cumulative, creditLimit, rangeCount) = (try cursor.varint(), try cursor.varint(), try cursor.varint())
        guard rangeCount <= SessionAck.maxRangeCount else { throw cursor.fault }
        out.appendHead(.sessionAck, followedBy: 18 + 16 * Int(rangeCount))
        out.appendRaw(session)
        out.appendRaw(cumulative)
        out.appendRaw(creditLimit)
        for _ in 0..<2 * rangeCount { out.appendRaw(try cursor.varint()) }
    }

    private static func expandInteger(
        _ byteCount: Int, from cursor: inout PacketCursor, into out: inout TLVWriter
    ) throws(WireError) {
        switch byteCount {
        case 1: out.appendRaw(try cursor.varint(as: UInt8.self))
        case 2: out.appendRaw(try cursor.varint(as: UInt16.self))
        case 4: out.appendRaw(try cursor.varint(as: UInt32.self))
        default: out.appendRaw(try cursor.varint())
        }
    }
}

/// The form of a field's value in a compact TLV (W-90).
enum CompactShape {
    /// One integer with a width in bytes.
    case integer(byteCount: Int)
    /// Consecutive integers with their widths in bytes.
    case integers([Int])
    /// A `sessionAck`: three integers, then ranges.
    case sessionAck
    /// A container of compact TLVs.
    case container
    /// A byte count, then bytes.
    case bytes
}

extension Tag {
    /// The code of the tag in a compact TLV; nil if the tag has none.
    var compactCode: UInt8? {
        for row in Self.compactRows where rawValue >= row.tag && rawValue - row.tag < UInt16(row.count) {
            return row.code + UInt8(rawValue - row.tag)
        }
        return nil
    }

    /// Creates the tag with a compact code; nil if no tag has the code.
    init?(compactCode code: UInt8) {
        for row in Self.compactRows where code >= row.code && code - row.code < row.count {
            self.init(rawValue: row.tag + UInt16(code - row.code))
            return
        }
        return nil
    }
}
