import MartletLink
public import MartletWire

/// The storage of attachments: the interface of a relay to files or an object store.
///
/// A relay has at most one call for each upload in progress; calls for different ones are concurrent. An error other
/// than `AttachmentFailure` is reported as `RelayEvent.storeFailed`, and answered with `storeUnavailable`.
public protocol AttachmentStore: Sendable {
    /// Begins an upload, or continues it. For an attachment that the room already has, the lifetime begins anew, and
    /// the attachment counts for the account of the upload.
    ///
    /// - Returns: The number of durable bytes; `byteCount` if the room has the attachment. An upload that was begun
    ///   with another length is discarded first.
    /// - Throws: `AttachmentFailure.tooLarge`, `quota`, `full`; `digestMismatch` for a length of 0 with another digest.
    func begin(_ upload: AttachmentKey, byteCount: UInt64, mediaType: String?) async throws -> UInt64

    /// Makes bytes durable, all or none. With the last byte it verifies the digest, and completes the attachment.
    ///
    /// - Returns: The number of durable bytes, and the length.
    /// - Throws: `AttachmentFailure.unknown` if the upload was not begun or has expired; `wrongPosition` unless
    ///   `position` is the number of durable bytes; `digestMismatch`, after which nothing is kept; `full`.
    func write(
        _ chunks: [[UInt8]], at position: UInt64, of upload: AttachmentKey
    ) async throws -> (position: UInt64, byteCount: UInt64)

    /// Reads up to `length` bytes of a complete attachment.
    ///
    /// - Throws: `AttachmentFailure.unknown`; `wrongPosition` if there is no byte at the position.
    func read(
        _ digest: AttachmentDigest, in room: RoomName, at position: UInt64, length: Int
    ) async throws -> (bytes: [UInt8], byteCount: UInt64)

    /// The length and the media type of a complete attachment.
    ///
    /// - Throws: `AttachmentFailure.unknown`.
    func info(
        _ digest: AttachmentDigest, in room: RoomName
    ) async throws -> (byteCount: UInt64, mediaType: String?)

    /// Discards an incomplete upload, if there is one.
    func remove(_ upload: AttachmentKey) async throws

    /// A complete attachment of a room that counts for one account counts for another from now on, without regard to
    /// quotas, because a message of that account names it. Any other attachment is not changed. The default
    /// implementation does nothing.
    func reassign(
        _ digest: AttachmentDigest, in room: RoomName, from account: AccountName, to other: AccountName
    ) async throws

    /// Removes the attachments of a room that count for an account, incomplete ones too. The default
    /// implementation does nothing, so that they are kept until their lifetime ends.
    func removeAll(of account: AccountName, in room: RoomName) async throws

    /// Removes attachments whose lifetime has ended, a bounded number in one call. The relay calls it once a minute.
    ///
    /// - Returns: Whether there are more.
    func removeExpired() async throws -> Bool
}

extension AttachmentStore {
    /// Does nothing.
    public func reassign(
        _ digest: AttachmentDigest, in room: RoomName, from account: AccountName, to other: AccountName
    ) async throws {}

    /// Does nothing.
    public func removeAll(of account: AccountName, in room: RoomName) async throws {}
}
