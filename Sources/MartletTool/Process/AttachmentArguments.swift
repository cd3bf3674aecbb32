import MartletRelay
import MartletToolSupport

/// The options of `serve` about attachments, and about the disk that they share with rooms.
enum AttachmentArguments {
    private enum Switch: String, CaseIterable {
        case on
        case off
    }

    private static let attachments = Option<Switch>.choice(
        "attachments", fallback: .on, help: "keep the files that clients send, or refuse them")
    private static let bytes = Option.byteCount(
        "attachment-bytes", help: "maximum bytes of all attachments [64G, in memory 64M]")
    private static let quota = Option.byteCount(
        "attachment-quota", help: "maximum bytes of the attachments of an account [8G, in memory 32M]")
    private static let size = Option.byteCount(
        "attachment-size", help: "maximum bytes of an attachment [2G, in memory 16M]")
    private static let lifetime = Option.count(
        "attachment-lifetime", in: 1...100_000, help: "days for which an attachment is kept [30]")
    private static let diskReserve = Option.byteCount(
        "disk-reserve", atLeast: 0,
        help: "with --store: bytes of the disk that are not used for attachments [an eighth, at most 1G]")

    static let specs = [
        attachments.spec, bytes.spec, quota.spec, size.spec, lifetime.spec, diskReserve.spec,
    ]

    static let notes = [
        """
        Attachments are kept in the directory of --store, and in memory without it. They are refused while less than \
        --disk-reserve is free on the disk, and messages while less than a quarter of it is free. The log states it \
        (diskSpace), and before that when less than twice the reserve is free.
        """
    ]

    /// The free space of the disk of the store; nil without a store.
    static func disk(_ arguments: ParsedArguments, directory: String?) -> DiskSpace? {
        directory.map { DiskSpace(of: $0, reserve: arguments[diskReserve].map { UInt64(clamping: $0) }) }
    }

    /// The store of attachments: a folder beside the rooms of the directory, or memory without one; nil if they are
    /// off.
    static func store(
        _ arguments: ParsedArguments, directory: String?, _ disk: DiskSpace?
    ) throws -> (any AttachmentStore)? {
        guard arguments[attachments] != .off else { return nil }
        var limits = directory == nil ? AttachmentLimits.inMemory : AttachmentLimits()
        if let bytes = arguments[bytes] { limits.maxTotalByteCount = UInt64(clamping: bytes) }
        if let quota = arguments[quota] { limits.maxByteCountPerAccount = UInt64(clamping: quota) }
        if let size = arguments[size] { limits.maxByteCount = UInt64(clamping: size) }
        if let days = arguments[lifetime] { limits.lifetime = .seconds(days * 24 * 3600) }
        guard let directory else { return InMemoryAttachmentStore(limits: limits) }
        do {
            return try FileAttachmentStore(directory: "\(directory)/attachments", limits: limits, disk: disk)
        } catch {
            throw CommandError(.cannotCreate, "\(error)")
        }
    }
}
