import MartletWire

/// TLVs: a parsed body encodes to the same bytes, unknown tags are kept, and critical ones are refused.
///
/// Input: a byte for the type of the frame, and a body.
enum TLVTarget {
    static func run(_ input: RawSpan) {
        guard input.byteCount > 0 else { return }
        let type = FrameType.known[Int(input.loadUInt8(at: 0)) % FrameType.known.count]
        let body = input.extracting(droppingFirst: 1)
        let error = error { () throws(WireError) in try TLVValidator.validate(body) }
        hold(error == SimpleTLV.fault(of: body), "the validator reports \(error as Any), the reference reader differs")
        hold(
            error == Self.error { () throws(WireError) in _ = try TLVTree(parsing: body) },
            "the tree and the validator disagree")
        walk(body)
        if error == nil { checkTree(of: body) }
        checkFields(of: type, body)
    }

    private static func error(_ work: () throws(WireError) -> Void) -> WireError? {
        do throws(WireError) {
            try work()
            return nil
        } catch {
            return error
        }
    }

    /// The tree of a body encodes to the body.
    private static func checkTree(of body: RawSpan) {
        guard let tree = try? TLVTree(parsing: body) else { return hold(false, "a valid body has no tree") }
        hold(tree.encode().rawBytes.hasSameBytes(as: body), "the tree encodes to other bytes")
        hold((try? TLVTree(parsing: tree.encode().rawBytes)) == tree, "the encoded tree parses differently")
    }

    /// A reader returns fields within the body, in order, and nothing else.
    private static func walk(_ body: RawSpan) {
        var reader = TLVReader(body)
        var writer = TLVWriter()
        do throws(WireError) {
            while let field = try reader.next() {
                read(field)
                writer.append(field.tag, bytes: field.value)
                let byteCount = writer.byteCount
                hold(byteCount == reader.offset, "the reader is at \(reader.offset)")
            }
            hold(reader.offset == body.byteCount, "the reader ends before the body")
        } catch {
            let offset = reader.offset
            let again = Self.error { () throws(WireError) in _ = try reader.next() }
            hold(again == error && reader.offset == offset, "the reader continues after an error")
        }
        let isSame = writer.rawBytes.hasSameBytes(as: body.extracting(first: writer.byteCount))
        hold(isSame, "the reader returned bytes outside the body")
    }

    /// Reads a value as every type.
    private static func read(_ field: TLVView) {
        let count = field.value.byteCount
        hold(((try? field.uint8()) != nil) == (count == 1), "an integer of another length")
        hold(((try? field.uint16()) != nil) == (count == 2), "an integer of another length")
        hold(((try? field.uint32()) != nil) == (count == 4), "an integer of another length")
        hold(((try? field.uint64()) != nil) == (count == 8), "an integer of another length")
        let bytes = field.bytes()
        let isText = String(validating: bytes, as: UTF8.self) != nil
        hold(field.value.isValidUTF8 == isText, "the standard library judges \(bytes) differently")
        let text = try? field.string(maxByteCount: .max)
        hold(text.map { Array($0.utf8) } == (isText ? bytes : nil), "a text that differs from its bytes")
    }

    /// Checks the treatment of unknown tags for a type.
    private static func checkFields(of type: FrameType, _ body: RawSpan) {
        guard let frame = try? Frame.parse(type: type, body: body) else { return }
        var ignored = TLVWriter()
        ignored.append(encoded: body)
        ignored.append(Tag(rawValue: 0x7ABC), bytes: [1, 2, 3])
        do throws(WireError) {
            let again = try Frame.parse(type: type, body: ignored.bytes.rawBytes)
            hold(again == frame, "an unknown tag changes a frame")
        } catch {
            hold(error.code == .tooManyTLVs, "an unknown tag: \(error)")
        }
        if case .unknown = frame { return }
        let critical = Tag(rawValue: 0xFABC)
        var refused = TLVWriter()
        refused.append(critical, bytes: [])
        refused.append(encoded: body)
        let error = error { () throws(WireError) in _ = try Frame.parse(type: type, body: refused.bytes.rawBytes) }
        hold(
            error == .unknownCriticalTag(critical) || error?.code == .tooManyTLVs,
            "a critical tag that is not known: \(error as Any)")
    }
}

extension FrameType {
    /// The types with a body of their own, and two unknown types.
    static let known = registered + [FrameType(rawValue: 0x7ABC), FrameType(rawValue: 0xFABC)]
}

/// A recursive reference reader of TLVs.
enum SimpleTLV {
    static func fault(of body: RawSpan) -> WireError? {
        var count = 0
        return fault(in: body, 0..<body.byteCount, depth: 0, &count)
    }

    private static func fault(in body: RawSpan, _ range: Range<Int>, depth: Int, _ count: inout Int) -> WireError? {
        var start = range.lowerBound
        while start < range.upperBound {
            guard range.upperBound - start >= 6 else { return .malformedTLV(offset: start) }
            let tag = UInt16(body.loadUInt8(at: start)) << 8 | UInt16(body.loadUInt8(at: start + 1))
            let length = (2..<6).reduce(0) { $0 << 8 | Int(body.loadUInt8(at: start + $1)) }
            guard range.upperBound - start - 6 >= length else { return .malformedTLV(offset: start) }
            count += 1
            guard count <= 1024 else { return .tooManyTLVs(limit: 1024) }
            let value = start + 6..<start + 6 + length
            if tag & 0x7F00 == 0x0100 {
                guard depth < 8 else { return .tlvTooDeep(limit: 8) }
                if let fault = fault(in: body, value, depth: depth + 1, &count) { return fault }
            }
            start = value.upperBound
        }
        return nil
    }
}
