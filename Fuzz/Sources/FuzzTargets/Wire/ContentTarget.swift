import MartletWire

/// Contents of messages: a content that parses encodes to another that parses to the same, and a value has one
/// encoding.
///
/// Input: a byte for the kind, then the content.
enum ContentTarget {
    static func run(_ input: RawSpan) {
        guard input.byteCount > 0 else { return }
        let kind = ContentKind.registered[Int(input.loadUInt8(at: 0)) % ContentKind.registered.count]
        let bytes = [UInt8](copying: input.extracting(droppingFirst: 1))
        guard let content = try? MessageContent(kind: kind, bytes: bytes), let body = try? MessageBody(content) else {
            return
        }
        guard let encoded = try? body.content else { return hold(false, "a parsed body is not encoded") }
        hold((try? MessageBody(encoded).content.bytes) == encoded.bytes, "a body encodes to other bytes")
        guard case .command(let value) = body else { return }
        hold(encoded.bytes == bytes, "a value has two encodings")
        _ = try? value.decode([String: [Int]].self)
        _ = try? value.decode([[UInt8]].self)
        _ = try? value.decode([String: [String: Float]].self)
    }
}
