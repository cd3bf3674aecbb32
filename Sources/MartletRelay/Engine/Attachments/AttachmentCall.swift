import MartletLink
public import MartletWire

/// An upload of an account in a room. Uploads of other accounts with the same digest are separate, so that nobody can
/// spoil another account's (R-104, Specs/hostile.md row 73).
public struct AttachmentKey: Hashable, Sendable {
    /// The room.
    public let room: RoomName
    /// The account that uploads.
    public let account: AccountName
    /// The name of the attachment.
    public let digest: AttachmentDigest

    /// Creates a key.
    public init(room: RoomName, account: AccountName, digest: AttachmentDigest) {
        self.room = room
        self.account = account
        self.digest = digest
    }
}

/// A call of the attachment store. A room has at most one call for each upload in progress.
package enum AttachmentCall: Equatable, Sendable {
    /// Begin an upload or continue it. The result is `position`: all of the bytes if the room has the attachment.
    case begin(AttachmentKey, byteCount: UInt64, mediaType: String?)
    /// Make bytes durable, which follow those that are stored. The result is `position`; with the last byte the digest
    /// is verified, and the attachment is complete or discarded.
    case write(AttachmentKey, position: UInt64, [[UInt8]])
    /// Read bytes of a complete attachment. The result is `bytes`, fewer at its end.
    case read(RoomName, AttachmentDigest, position: UInt64, length: Int)
    /// The result is `info`.
    case info(RoomName, AttachmentDigest)
    /// Discard an incomplete upload. The result is `removed`, also if there is none.
    case remove(AttachmentKey)
}

/// The result of a call of the attachment store.
package enum AttachmentResult: Equatable, Sendable {
    /// The answer to the call.
    case done(AttachmentResponse)
    /// The call has failed.
    case failed(AttachmentFailure)
}

/// The reason why a call of the attachment store failed.
public enum AttachmentFailure: Error, Hashable, Sendable {
    /// The room has no such attachment, or the account no such upload.
    case unknown
    /// The attachment is longer than the store permits.
    case tooLarge
    /// The account's attachments exceed its quota.
    case quota
    /// All attachments exceed the bound of the store, or the disk has no room for them.
    case full
    /// The bytes do not follow those that are stored, or the position is above the length.
    case wrongPosition
    /// The bytes do not have the digest. They are discarded.
    case digestMismatch
    /// The store cannot read or write.
    case unavailable

    /// The duration after which the request may succeed, if time can help.
    var retryAfter: Duration? {
        switch self {
        case .full: .seconds(60)
        case .unavailable: .seconds(1)
        case .unknown, .tooLarge, .quota, .wrongPosition, .digestMismatch: nil
        }
    }

    /// The status of the response.
    var status: ErrorCode {
        switch self {
        case .unknown: .unknownAttachment
        case .tooLarge: .attachmentTooLarge
        case .quota: .attachmentQuota
        case .full: .attachmentsFull
        case .wrongPosition: .wrongPosition
        case .digestMismatch: .digestMismatch
        case .unavailable: .storeUnavailable
        }
    }
}

/// The name of a call of the attachment store.
package struct AttachmentCallID: Hashable, Sendable {
    /// The session that has caused the call.
    var session: MemberHandle
    /// The number of the call in the room.
    var number: UInt64
}
