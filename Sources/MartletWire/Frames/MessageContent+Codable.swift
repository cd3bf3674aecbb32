extension ContentKind: Codable {}

extension MessageContent: Codable {
    private enum CodingKeys: CodingKey {
        case kind, text, bytes
    }

    /// Decodes a content.
    ///
    /// - Throws: `DecodingError`, also if the content violates ``ContentRules``.
    public init(from decoder: any Decoder) throws {
        let container = try decoder.container(keyedBy: CodingKeys.self)
        if let text = try container.decodeIfPresent(String.self, forKey: .text) {
            guard !text.isEmpty else {
                throw DecodingError.dataCorruptedError(
                    forKey: .text, in: container, debugDescription: "the text of a message is empty")
            }
            self.init(text: text)
            return
        }
        let kind = try container.decode(ContentKind.self, forKey: .kind)
        let bytes = try container.decode([UInt8].self, forKey: .bytes)
        do throws(WireError) { try self.init(kind: kind, bytes: bytes) } catch {
            throw DecodingError.dataCorruptedError(forKey: .bytes, in: container, debugDescription: "\(error)")
        }
    }

    /// Encodes the content: a text as `text`, any other content as `kind` and the `bytes` of its TLVs.
    public func encode(to encoder: any Encoder) throws {
        var container = encoder.container(keyedBy: CodingKeys.self)
        if let text, self == MessageContent(text: text) {
            try container.encode(text, forKey: .text)
        } else {
            try container.encode(kind, forKey: .kind)
            try container.encode(bytes, forKey: .bytes)
        }
    }
}
