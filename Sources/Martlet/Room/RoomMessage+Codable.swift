import MartletLink
import MartletWire

extension RoomMessage: Codable {
    private enum CodingKeys: CodingKey {
        case id, cursor, content, acceptedAt, timeToLive
    }

    /// Decodes a message that ``encode(to:)`` has encoded.
    ///
    /// - Throws: `DecodingError`, including the cases that the offset is 0 or that the content is not valid.
    public init(from decoder: any Decoder) throws {
        let container = try decoder.container(keyedBy: CodingKeys.self)
        let cursor = try container.decode(RoomCursor.self, forKey: .cursor)
        guard cursor.offset > 0 else {
            throw DecodingError.dataCorruptedError(
                forKey: .cursor, in: container, debugDescription: "offsets start at 1")
        }
        let timeToLive = try container.decodeIfPresent(UInt32.self, forKey: .timeToLive)
        self.init(
            id: try container.decode(MessageID.self, forKey: .id), at: cursor,
            content: try container.decode(MessageContent.self, forKey: .content),
            acceptedAt: try container.decode(UInt64.self, forKey: .acceptedAt),
            timeToLive: timeToLive.map { .milliseconds($0) })
    }

    /// Encodes the message with its stamp. `acceptedAt` and `timeToLive` are in milliseconds.
    public func encode(to encoder: any Encoder) throws {
        var container = encoder.container(keyedBy: CodingKeys.self)
        try container.encode(id, forKey: .id)
        try container.encode(cursor, forKey: .cursor)
        try container.encode(content, forKey: .content)
        try container.encode(acceptedAt, forKey: .acceptedAt)
        try container.encodeIfPresent(timeToLive.map { $0 / .milliseconds(1) }.map { UInt32($0) }, forKey: .timeToLive)
    }
}
