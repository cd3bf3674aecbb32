// Generated from Specs/registry.json by Scripts/generate-registries. Do not edit.

package import MartletWire

extension FieldShape {
    /// Creates the form of a tag's value (Specs/wire.md §13.2).
    init(_ tag: Tag) {
        switch tag {
        case .code, .status: self = .code
        case .reason, .redirect, .account, .agent, .mechanism, .sender, .room, .member, .method, .recipient, .inviter,
            .address, .nextRoom, .text, .name, .mediaType, .reaction, .event, .location, .key, .card, .url:
            self = .text
        case .retryAfter, .epoch, .resumeLifetime, .heartbeatInterval, .credentialLifetime, .maxBody, .maxMessage,
            .linkWindow, .sessionWindow, .maxSessions, .linkCredit, .creditUsed, .counter, .timeToLive, .offset,
            .acceptedAt, .cursor, .head, .first, .tail, .session, .noLocal, .role, .access, .duration, .before, .limit,
            .upTo, .maxAge, .maxCount, .maxByteCount, .correlation, .deadline, .typing, .position, .length, .membership,
            .changedAt, .readUpTo, .deliveredUpTo, .unread, .shortened, .hasMore, .reconnectSpread, .count, .since,
            .roundTrip, .queuedByteCount, .linkCount, .connectionCount, .sessionCount, .memberCount, .roomCount,
            .roleCount, .messageCount, .memoryByteCount, .draining, .relayClock, .lastHeardAt, .removed, .byteCount,
            .bool, .integer, .unsigned, .cardStatus, .statusTime:
            self = .number
        case .spokenVersion: self = .version
        case .features: self = .features
        case .device, .link, .nonce, .log, .next, .relay: self = .identifier
        case .credential, .resumeToken: self = .secret
        case .sessionPosition: self = .position
        case .echo: self = .echo
        case .sessionAck: self = .sessionAck
        case .kind: self = .contentKind
        case .sessionKind: self = .sessionKind
        case .standing: self = .standing
        case .acceptedRun: self = .run
        case .receiptKind: self = .receiptKind
        case .presence: self = .presence
        case .chunk: self = .chunk
        case .target: self = .reference
        default: self = .bytes
        }
    }
}

extension ContentKind {
    /// The name in the specification, or the number in hexadecimal.
    package var name: String { registeredName ?? hex(rawValue, digits: 4) }

    /// The name in the specification; nil if the kind is not registered.
    package var registeredName: String? {
        switch self {
        case .text: "text"
        case .image: "image"
        case .file: "file"
        case .audio: "audio"
        case .video: "video"
        case .location: "location"
        case .contact: "contact"
        case .command: "command"
        case .edit: "edit"
        case .delete: "delete"
        case .reaction: "reaction"
        case .reply: "reply"
        case .system: "system"
        case .attachment: "attachment"
        case .erased: "erased"
        case .card: "card"
        case .ack: "ack"
        case .heartbeat: "heartbeat"
        default: nil
        }
    }
}

extension Features {
    /// The names of the features in the order of their bits.
    static let registeredNames = [
        "zlib", "requests", "receipts", "presence", "compact", "sharedDeflate", "attachments", "accountSession",
    ]
}
