// Generated from Specs/registry.json by Scripts/generate-registries. Do not edit.

extension Tag {
    /// u16, an `ErrorCode`.
    @inlinable
    package static var code: Tag { Tag(rawValue: 0x0001) }
    /// UTF-8 for people, at most 256 bytes.
    @inlinable
    package static var reason: Tag { Tag(rawValue: 0x0002) }
    /// u32, milliseconds.
    @inlinable
    package static var retryAfter: Tag { Tag(rawValue: 0x0003) }
    /// UTF-8, an endpoint of at most 512 bytes.
    @inlinable
    package static var redirect: Tag { Tag(rawValue: 0x0004) }
    /// u16, major in the high byte; repeats.
    @inlinable
    package static var spokenVersion: Tag { Tag(rawValue: 0x0005) }
    /// u64, a bit set.
    @inlinable
    package static var features: Tag { Tag(rawValue: 0x0010) }
    /// u64, a `DeviceID`.
    @inlinable
    package static var device: Tag { Tag(rawValue: 0x0011) }
    /// UTF-8, 1 to 128 bytes.
    @inlinable
    package static var account: Tag { Tag(rawValue: 0x0012) }
    /// At most 4,096 bytes, never compressed.
    @inlinable
    package static var credential: Tag { Tag(rawValue: 0x0013) }
    /// UTF-8, the name of the program, at most 128 bytes.
    @inlinable
    package static var agent: Tag { Tag(rawValue: 0x0014) }
    /// u64, a `LinkID`.
    @inlinable
    package static var link: Tag { Tag(rawValue: 0x0015) }
    /// Exactly 32 bytes.
    @inlinable
    package static var resumeToken: Tag { Tag(rawValue: 0x0016) }
    /// u16 session, u64 highest sequence received in order; repeats up to 256 times.
    @inlinable
    package static var sessionPosition: Tag { Tag(rawValue: 0x0017) }
    /// u32, an `Epoch`.
    @inlinable
    package static var epoch: Tag { Tag(rawValue: 0x0018) }
    /// u32, seconds.
    @inlinable
    package static var resumeLifetime: Tag { Tag(rawValue: 0x0019) }
    /// u32, milliseconds, recommended by the server.
    @inlinable
    package static var heartbeatInterval: Tag { Tag(rawValue: 0x001A) }
    /// u32, milliseconds until the credential of the connection expires.
    @inlinable
    package static var credentialLifetime: Tag { Tag(rawValue: 0x001B) }
    /// UTF-8, 1 to 32 bytes, the name of an authentication mechanism.
    @inlinable
    package static var mechanism: Tag { Tag(rawValue: 0x001C) }
    /// u32, bytes.
    @inlinable
    package static var maxBody: Tag { Tag(rawValue: 0x0020) }
    /// u32, bytes.
    @inlinable
    package static var maxMessage: Tag { Tag(rawValue: 0x0021) }
    /// u32, bytes.
    @inlinable
    package static var linkWindow: Tag { Tag(rawValue: 0x0022) }
    /// u32, bytes.
    @inlinable
    package static var sessionWindow: Tag { Tag(rawValue: 0x0023) }
    /// u16.
    @inlinable
    package static var maxSessions: Tag { Tag(rawValue: 0x0024) }
    /// u32 returned timestamp, u32 microseconds between its receipt and its return.
    @inlinable
    package static var echo: Tag { Tag(rawValue: 0x0030) }
    /// u64, an absolute limit in bytes.
    @inlinable
    package static var linkCredit: Tag { Tag(rawValue: 0x0031) }
    /// u16 session, u64 cumulative, u64 credit limit, then up to 32 ranges; repeats up to 256 times.
    @inlinable
    package static var sessionAck: Tag { Tag(rawValue: 0x0032) }
    /// u64, repeated by the pong.
    @inlinable
    package static var nonce: Tag { Tag(rawValue: 0x0033) }
    /// u64, bytes of credit used since the session was opened.
    @inlinable
    package static var creditUsed: Tag { Tag(rawValue: 0x0034) }
    /// u64 from 1, assigned by the device.
    @inlinable
    package static var counter: Tag { Tag(rawValue: 0x0040) }
    /// u16, a content kind.
    @inlinable
    package static var kind: Tag { Tag(rawValue: 0x0041) }
    /// u32, milliseconds.
    @inlinable
    package static var timeToLive: Tag { Tag(rawValue: 0x0043) }
    /// u64 from 1, the position in the room's log.
    @inlinable
    package static var offset: Tag { Tag(rawValue: 0x0048) }
    /// u64, milliseconds since 1970 by the relay's clock.
    @inlinable
    package static var acceptedAt: Tag { Tag(rawValue: 0x0049) }
    /// UTF-8 account, 1 to 128 bytes.
    @inlinable
    package static var sender: Tag { Tag(rawValue: 0x004A) }
    /// UTF-8, 1 to 128 bytes.
    @inlinable
    package static var room: Tag { Tag(rawValue: 0x0050) }
    /// u8: 0 chat, 1 media, 2 signaling, 3 file, 4 attachment, 5 account.
    @inlinable
    package static var sessionKind: Tag { Tag(rawValue: 0x0051) }
    /// u64: offsets greater than this are delivered.
    @inlinable
    package static var cursor: Tag { Tag(rawValue: 0x0052) }
    /// u64, the highest offset of the room; 0 if it is empty.
    @inlinable
    package static var head: Tag { Tag(rawValue: 0x0053) }
    /// u64, the lowest offset that is kept, or the first offset of a gap.
    @inlinable
    package static var first: Tag { Tag(rawValue: 0x0054) }
    /// UTF-8 account; repeats up to 256 times.
    @inlinable
    package static var member: Tag { Tag(rawValue: 0x0055) }
    /// u32, number of messages before the head at which delivery begins.
    @inlinable
    package static var tail: Tag { Tag(rawValue: 0x0056) }
    /// u16, a `SessionID`.
    @inlinable
    package static var session: Tag { Tag(rawValue: 0x0057) }
    /// u8, 0 or 1: whether the device's own messages are omitted.
    @inlinable
    package static var noLocal: Tag { Tag(rawValue: 0x0058) }
    /// u64, a `LogID`.
    @inlinable
    package static var log: Tag { Tag(rawValue: 0x0059) }
    /// u8: 1 reader, 2 member, 3 moderator, 4 owner.
    @inlinable
    package static var role: Tag { Tag(rawValue: 0x005A) }
    /// u8: 0 open, 1 inviteOnly, 2 closed.
    @inlinable
    package static var access: Tag { Tag(rawValue: 0x005B) }
    /// u32, seconds.
    @inlinable
    package static var duration: Tag { Tag(rawValue: 0x005C) }
    /// u8 role, u8 banned, u64 end of a mute, name of the account; repeats up to 64 times.
    @inlinable
    package static var standing: Tag { Tag(rawValue: 0x005D) }
    /// u64: messages with lower offsets.
    @inlinable
    package static var before: Tag { Tag(rawValue: 0x005E) }
    /// u16 from 1, the maximum number of messages or entries.
    @inlinable
    package static var limit: Tag { Tag(rawValue: 0x005F) }
    /// u64 first counter, u32 count, u64 first offset; repeats up to 256 times.
    @inlinable
    package static var acceptedRun: Tag { Tag(rawValue: 0x0060) }
    /// u8: 1 delivered, 2 read, 3 refused.
    @inlinable
    package static var receiptKind: Tag { Tag(rawValue: 0x0061) }
    /// u64, an offset.
    @inlinable
    package static var upTo: Tag { Tag(rawValue: 0x0062) }
    /// The body of a message with the relay's fields; repeats up to 256 times.
    @inlinable
    package static var message: Tag { Tag(rawValue: 0x0063) }
    /// u64, milliseconds for which the messages of a room are kept.
    @inlinable
    package static var maxAge: Tag { Tag(rawValue: 0x0064) }
    /// u64, the number of messages of a room that are kept.
    @inlinable
    package static var maxCount: Tag { Tag(rawValue: 0x0065) }
    /// u64, the bytes of the messages of a room that are kept.
    @inlinable
    package static var maxByteCount: Tag { Tag(rawValue: 0x0066) }
    /// u64, the number of a request, repeated in its response.
    @inlinable
    package static var correlation: Tag { Tag(rawValue: 0x0070) }
    /// UTF-8, 1 to 64 bytes.
    @inlinable
    package static var method: Tag { Tag(rawValue: 0x0071) }
    /// u32, milliseconds.
    @inlinable
    package static var deadline: Tag { Tag(rawValue: 0x0072) }
    /// UTF-8 account.
    @inlinable
    package static var recipient: Tag { Tag(rawValue: 0x0073) }
    /// u16, an `ErrorCode`; 0 is success.
    @inlinable
    package static var status: Tag { Tag(rawValue: 0x0074) }
    /// u8: 0 left, 1 online, 2 away.
    @inlinable
    package static var presence: Tag { Tag(rawValue: 0x0080) }
    /// u8, 0 or 1.
    @inlinable
    package static var typing: Tag { Tag(rawValue: 0x0081) }
    /// u64, the number of an attachment's bytes before it.
    @inlinable
    package static var position: Tag { Tag(rawValue: 0x0090) }
    /// u32 from 1, the maximum number of an attachment's bytes.
    @inlinable
    package static var length: Tag { Tag(rawValue: 0x0091) }
    /// The body of an `update` with a room; repeats up to 64 times.
    @inlinable
    package static var entry: Tag { Tag(rawValue: 0x00A0) }
    /// u8: 0 none, 1 invited, 2 joined.
    @inlinable
    package static var membership: Tag { Tag(rawValue: 0x00A1) }
    /// UTF-8 account, 1 to 128 bytes.
    @inlinable
    package static var inviter: Tag { Tag(rawValue: 0x00A2) }
    /// u64, milliseconds since 1970 by the relay's clock.
    @inlinable
    package static var changedAt: Tag { Tag(rawValue: 0x00A3) }
    /// u64, the read offset of the account.
    @inlinable
    package static var readUpTo: Tag { Tag(rawValue: 0x00A4) }
    /// u64, the delivered offset of the account.
    @inlinable
    package static var deliveredUpTo: Tag { Tag(rawValue: 0x00A5) }
    /// u32, a number of messages.
    @inlinable
    package static var unread: Tag { Tag(rawValue: 0x00A6) }
    /// u8, 0 or 1: whether the text of the message is shortened.
    @inlinable
    package static var shortened: Tag { Tag(rawValue: 0x00A7) }
    /// u8, 0 or 1: whether another page follows.
    @inlinable
    package static var hasMore: Tag { Tag(rawValue: 0x00A8) }
    /// u32, milliseconds over which the clients of the server spread their attempts to reconnect.
    @inlinable
    package static var reconnectSpread: Tag { Tag(rawValue: 0x00B0) }
    /// The fields of an item of a page; repeats up to 32 times.
    @inlinable
    package static var item: Tag { Tag(rawValue: 0x00D0) }
    /// u64, the place at which a request continues.
    @inlinable
    package static var next: Tag { Tag(rawValue: 0x00D1) }
    /// u32, the number of rooms or messages that a request has changed.
    @inlinable
    package static var count: Tag { Tag(rawValue: 0x00D2) }
    /// UTF-8, the address of a peer, at most 64 bytes.
    @inlinable
    package static var address: Tag { Tag(rawValue: 0x00D3) }
    /// u64, milliseconds since 1970 by the relay's clock.
    @inlinable
    package static var since: Tag { Tag(rawValue: 0x00D4) }
    /// u32, microseconds, the round-trip time of a link.
    @inlinable
    package static var roundTrip: Tag { Tag(rawValue: 0x00D5) }
    /// u64, bytes of frames that a link has not acknowledged.
    @inlinable
    package static var queuedByteCount: Tag { Tag(rawValue: 0x00D6) }
    /// u32, a number of links.
    @inlinable
    package static var linkCount: Tag { Tag(rawValue: 0x00D7) }
    /// u32, a number of connections.
    @inlinable
    package static var connectionCount: Tag { Tag(rawValue: 0x00D8) }
    /// u32, a number of sessions.
    @inlinable
    package static var sessionCount: Tag { Tag(rawValue: 0x00D9) }
    /// u32, a number of members.
    @inlinable
    package static var memberCount: Tag { Tag(rawValue: 0x00DA) }
    /// u32, a number of rooms.
    @inlinable
    package static var roomCount: Tag { Tag(rawValue: 0x00DB) }
    /// u32, a number of accounts with a role, a ban or a mute.
    @inlinable
    package static var roleCount: Tag { Tag(rawValue: 0x00DC) }
    /// u64, a number of messages.
    @inlinable
    package static var messageCount: Tag { Tag(rawValue: 0x00DD) }
    /// u64, bytes of memory.
    @inlinable
    package static var memoryByteCount: Tag { Tag(rawValue: 0x00DE) }
    /// UTF-8, 1 to 128 bytes, the room behind or in which a request continues.
    @inlinable
    package static var nextRoom: Tag { Tag(rawValue: 0x00DF) }
    /// u64, a `RelayID`.
    @inlinable
    package static var relay: Tag { Tag(rawValue: 0x00E0) }
    /// u8, 0 or 1: whether the relay drains.
    @inlinable
    package static var draining: Tag { Tag(rawValue: 0x00E1) }
    /// u64, the relay's clock in milliseconds since 1970.
    @inlinable
    package static var relayClock: Tag { Tag(rawValue: 0x00E2) }
    /// u64, milliseconds since 1970 by the clock of the relay that answers.
    @inlinable
    package static var lastHeardAt: Tag { Tag(rawValue: 0x00E3) }
    /// Container of the limits.
    @inlinable
    package static var limits: Tag { Tag(rawValue: 0x0101) }
    /// Container of the link, the token and the positions.
    @inlinable
    package static var resume: Tag { Tag(rawValue: 0x0102) }
    /// Container of the application's fields.
    @inlinable
    package static var content: Tag { Tag(rawValue: 0x0142) }
    /// Container of values (Specs/messages.md).
    @inlinable
    public static var array: Tag { Tag(rawValue: 0x0160) }
    /// Container of pairs of key and value (Specs/messages.md).
    @inlinable
    public static var object: Tag { Tag(rawValue: 0x0161) }
    /// Container of key and text (Specs/messages.md); repeats up to 16 times.
    @inlinable
    public static var detail: Tag { Tag(rawValue: 0x0162) }
    /// UTF-8.
    @inlinable
    public static var text: Tag { Tag(rawValue: 0x0201) }
    /// Bytes.
    @inlinable
    public static var data: Tag { Tag(rawValue: 0x0202) }
    /// UTF-8, at most 256 bytes.
    @inlinable
    public static var name: Tag { Tag(rawValue: 0x0203) }
    /// UTF-8, at most 128 bytes.
    @inlinable
    public static var mediaType: Tag { Tag(rawValue: 0x0204) }
    /// u64 offset, u64 total, bytes.
    @inlinable
    public static var chunk: Tag { Tag(rawValue: 0x0205) }
    /// u64 device, u64 counter, u64 offset or 0, name of the account: a reference to a message.
    @inlinable
    public static var target: Tag { Tag(rawValue: 0x0206) }
    /// UTF-8, 1 to 64 bytes.
    @inlinable
    public static var reaction: Tag { Tag(rawValue: 0x0207) }
    /// u8, 0 or 1: whether a reaction is removed.
    @inlinable
    public static var removed: Tag { Tag(rawValue: 0x0208) }
    /// UTF-8, 1 to 64 bytes, the name of a system event.
    @inlinable
    public static var event: Tag { Tag(rawValue: 0x0209) }
    /// u64, bytes of an attachment.
    @inlinable
    public static var byteCount: Tag { Tag(rawValue: 0x020A) }
    /// UTF-8, 1 to 2,048 bytes: where an attachment is.
    @inlinable
    public static var location: Tag { Tag(rawValue: 0x020B) }
    /// Exactly 32 bytes, SHA-256 of an attachment.
    @inlinable
    public static var digest: Tag { Tag(rawValue: 0x020C) }
    /// At most 16,384 bytes, an image.
    @inlinable
    public static var thumbnail: Tag { Tag(rawValue: 0x020D) }
    /// Empty.
    @inlinable
    public static var null: Tag { Tag(rawValue: 0x0210) }
    /// u8, 0 or 1.
    @inlinable
    public static var bool: Tag { Tag(rawValue: 0x0211) }
    /// u64, a signed integer in two's complement.
    @inlinable
    public static var integer: Tag { Tag(rawValue: 0x0212) }
    /// u64, from 2⁶³.
    @inlinable
    public static var unsigned: Tag { Tag(rawValue: 0x0213) }
    /// 8 bytes, IEEE 754 binary64.
    @inlinable
    public static var double: Tag { Tag(rawValue: 0x0214) }
    /// UTF-8, at most 256 bytes.
    @inlinable
    public static var key: Tag { Tag(rawValue: 0x0215) }
    /// UTF-8, 1 to 128 bytes, the name of a card.
    @inlinable
    public static var card: Tag { Tag(rawValue: 0x0220) }
    /// u8: 0 unknown, 1 ok, 2 running, 3 warning, 4 failed, 5 removed.
    @inlinable
    public static var cardStatus: Tag { Tag(rawValue: 0x0221) }
    /// u64, milliseconds since 1970, at most 253,402,300,799,999.
    @inlinable
    public static var statusTime: Tag { Tag(rawValue: 0x0222) }
    /// UTF-8, 8 to 1,024 bytes: a URL of http or https.
    @inlinable
    public static var url: Tag { Tag(rawValue: 0x0223) }
}

extension Tag {
    /// All tags of version 1.0, in the order of their numbers.
    package static let registered: [Tag] = [
        .code, .reason, .retryAfter, .redirect, .spokenVersion, .features, .device, .account, .credential, .agent,
        .link, .resumeToken, .sessionPosition, .epoch, .resumeLifetime, .heartbeatInterval, .credentialLifetime,
        .mechanism, .maxBody, .maxMessage, .linkWindow, .sessionWindow, .maxSessions, .echo, .linkCredit, .sessionAck,
        .nonce, .creditUsed, .counter, .kind, .timeToLive, .offset, .acceptedAt, .sender, .room, .sessionKind, .cursor,
        .head, .first, .member, .tail, .session, .noLocal, .log, .role, .access, .duration, .standing, .before, .limit,
        .acceptedRun, .receiptKind, .upTo, .message, .maxAge, .maxCount, .maxByteCount, .correlation, .method,
        .deadline, .recipient, .status, .presence, .typing, .position, .length, .entry, .membership, .inviter,
        .changedAt, .readUpTo, .deliveredUpTo, .unread, .shortened, .hasMore, .reconnectSpread, .item, .next, .count,
        .address, .since, .roundTrip, .queuedByteCount, .linkCount, .connectionCount, .sessionCount, .memberCount,
        .roomCount, .roleCount, .messageCount, .memoryByteCount, .nextRoom, .relay, .draining, .relayClock,
        .lastHeardAt, .limits, .resume, .content, .array, .object, .detail, .text, .data, .name, .mediaType, .chunk,
        .target, .reaction, .removed, .event, .byteCount, .location, .digest, .thumbnail, .null, .bool, .integer,
        .unsigned, .double, .key, .card, .cardStatus, .statusTime, .url,
    ]
}

extension Tag: CustomStringConvertible {
    /// The name in the specification, or the number in hexadecimal.
    public var description: String {
        switch self {
        case .code: "code"
        case .reason: "reason"
        case .retryAfter: "retryAfter"
        case .redirect: "redirect"
        case .spokenVersion: "spokenVersion"
        case .features: "features"
        case .device: "device"
        case .account: "account"
        case .credential: "credential"
        case .agent: "agent"
        case .link: "link"
        case .resumeToken: "resumeToken"
        case .sessionPosition: "sessionPosition"
        case .epoch: "epoch"
        case .resumeLifetime: "resumeLifetime"
        case .heartbeatInterval: "heartbeatInterval"
        case .credentialLifetime: "credentialLifetime"
        case .mechanism: "mechanism"
        case .maxBody: "maxBody"
        case .maxMessage: "maxMessage"
        case .linkWindow: "linkWindow"
        case .sessionWindow: "sessionWindow"
        case .maxSessions: "maxSessions"
        case .echo: "echo"
        case .linkCredit: "linkCredit"
        case .sessionAck: "sessionAck"
        case .nonce: "nonce"
        case .creditUsed: "creditUsed"
        case .counter: "counter"
        case .kind: "kind"
        case .timeToLive: "timeToLive"
        case .offset: "offset"
        case .acceptedAt: "acceptedAt"
        case .sender: "sender"
        case .room: "room"
        case .sessionKind: "sessionKind"
        case .cursor: "cursor"
        case .head: "head"
        case .first: "first"
        case .member: "member"
        case .tail: "tail"
        case .session: "session"
        case .noLocal: "noLocal"
        case .log: "log"
        case .role: "role"
        case .access: "access"
        case .duration: "duration"
        case .standing: "standing"
        case .before: "before"
        case .limit: "limit"
        case .acceptedRun: "acceptedRun"
        case .receiptKind: "receiptKind"
        case .upTo: "upTo"
        case .message: "message"
        case .maxAge: "maxAge"
        case .maxCount: "maxCount"
        case .maxByteCount: "maxByteCount"
        case .correlation: "correlation"
        case .method: "method"
        case .deadline: "deadline"
        case .recipient: "recipient"
        case .status: "status"
        case .presence: "presence"
        case .typing: "typing"
        case .position: "position"
        case .length: "length"
        case .entry: "entry"
        case .membership: "membership"
        case .inviter: "inviter"
        case .changedAt: "changedAt"
        case .readUpTo: "readUpTo"
        case .deliveredUpTo: "deliveredUpTo"
        case .unread: "unread"
        case .shortened: "shortened"
        case .hasMore: "hasMore"
        case .reconnectSpread: "reconnectSpread"
        case .item: "item"
        case .next: "next"
        case .count: "count"
        case .address: "address"
        case .since: "since"
        case .roundTrip: "roundTrip"
        case .queuedByteCount: "queuedByteCount"
        case .linkCount: "linkCount"
        case .connectionCount: "connectionCount"
        case .sessionCount: "sessionCount"
        case .memberCount: "memberCount"
        case .roomCount: "roomCount"
        case .roleCount: "roleCount"
        case .messageCount: "messageCount"
        case .memoryByteCount: "memoryByteCount"
        case .nextRoom: "nextRoom"
        case .relay: "relay"
        case .draining: "draining"
        case .relayClock: "relayClock"
        case .lastHeardAt: "lastHeardAt"
        case .limits: "limits"
        case .resume: "resume"
        case .content: "content"
        case .array: "array"
        case .object: "object"
        case .detail: "detail"
        case .text: "text"
        case .data: "data"
        case .name: "name"
        case .mediaType: "mediaType"
        case .chunk: "chunk"
        case .target: "target"
        case .reaction: "reaction"
        case .removed: "removed"
        case .event: "event"
        case .byteCount: "byteCount"
        case .location: "location"
        case .digest: "digest"
        case .thumbnail: "thumbnail"
        case .null: "null"
        case .bool: "bool"
        case .integer: "integer"
        case .unsigned: "unsigned"
        case .double: "double"
        case .key: "key"
        case .card: "card"
        case .cardStatus: "cardStatus"
        case .statusTime: "statusTime"
        case .url: "url"
        default: hexadecimal(rawValue)
        }
    }
}
