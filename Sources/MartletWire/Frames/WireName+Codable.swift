extension WireName {
    /// Decodes the text of a name.
    ///
    /// - Throws: `DecodingError.dataCorrupted` if the text violates W-31.
    public init(from decoder: any Decoder) throws {
        let container = try decoder.singleValueContainer()
        let text = try container.decode(String.self)
        guard let name = Self(text) else {
            throw DecodingError.dataCorruptedError(in: container, debugDescription: "not a name")
        }
        self = name
    }

    /// Encodes the text of the name.
    public func encode(to encoder: any Encoder) throws {
        var container = encoder.singleValueContainer()
        try container.encode(text)
    }
}

extension AccountName: Codable {}
extension RoomName: Codable {}
extension MethodName: Codable {}
