extension DeviceID: Codable {}

extension MessageID: Codable {
    private enum CodingKeys: CodingKey {
        case sender, device, counter
    }

    /// Decodes an identity.
    ///
    /// - Throws: `DecodingError`, also if the counter is 0.
    public init(from decoder: any Decoder) throws {
        let container = try decoder.container(keyedBy: CodingKeys.self)
        self.init(
            sender: try container.decode(AccountName.self, forKey: .sender),
            device: try container.decode(DeviceID.self, forKey: .device),
            counter: try container.decode(UInt64.self, forKey: .counter))
        guard counter > 0 else {
            throw DecodingError.dataCorruptedError(
                forKey: .counter, in: container, debugDescription: "counters start at 1")
        }
    }

    /// Encodes the identity.
    public func encode(to encoder: any Encoder) throws {
        var container = encoder.container(keyedBy: CodingKeys.self)
        try container.encode(sender, forKey: .sender)
        try container.encode(device, forKey: .device)
        try container.encode(counter, forKey: .counter)
    }
}
