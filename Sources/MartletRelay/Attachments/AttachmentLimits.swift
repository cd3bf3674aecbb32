/// The bounds of an attachment store.
public struct AttachmentLimits: Sendable, Equatable {
    /// The maximum number of bytes of an attachment.
    public var maxByteCount: UInt64 = 2 << 30
    /// The maximum number of bytes of an account's attachments, incomplete ones with their whole length. A complete
    /// attachment counts for the account that has begun it last.
    public var maxByteCountPerAccount: UInt64 = 8 << 30
    /// The maximum number of bytes of all attachments, incomplete ones with the bytes that have arrived.
    public var maxTotalByteCount: UInt64 = 64 << 30
    /// The maximum number of an account's attachments.
    public var maxCountPerAccount = 4096
    /// The maximum number of an account's incomplete attachments.
    public var maxIncompleteCountPerAccount = 64
    /// The maximum number of all attachments, those without bytes not counted.
    public var maxCount = 65_536
    /// The duration for which an attachment is kept after it was completed or begun anew.
    public var lifetime: Duration = .seconds(30 * 24 * 3600)
    /// The duration for which an incomplete attachment is kept after its last bytes.
    public var incompleteLifetime: Duration = .seconds(24 * 3600)

    /// The default bounds.
    public init() {}

    /// The bounds of a store in memory: 64 MiB, 16 MiB for an attachment.
    public static var inMemory: AttachmentLimits {
        var limits = AttachmentLimits()
        limits.maxByteCount = 16 << 20
        limits.maxByteCountPerAccount = 32 << 20
        limits.maxTotalByteCount = 64 << 20
        return limits
    }
}
