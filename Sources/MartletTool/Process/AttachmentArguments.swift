import MartletRelay
import MartletToolSupport
import MartletTransport

/// The options of `serve` about attachments, and about the disk that they share with rooms.
enum AttachmentArguments {
    private enum Switch: String, CaseIterable {
        case on
        case off
    }

    private static let attachments = Option<Switch>.choice(
        "attachments", fallback: .on, help: "keep the files that clients send, or refuse them")
    private static let folder = Option.text(
        "attachment-folder", "DIR",
        help: "with a database: keep attachments in the directory DIR, which is created, and with --shared in one that "
            + "all relays share")
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
        attachments.spec, folder.spec, bytes.spec, quota.spec, size.spec, lifetime.spec, diskReserve.spec,
    ]

    static let notes = [
        """
        Attachments are kept in the directory of --store, and in memory without it. With a database they are kept in \
        --attachment-folder, otherwise in memory, and with --shared refused. Relays of a database may share this \
        directory if it is one of a file system with hard links: each has a --name of its own, and its own bounds. \
        They are refused while less than \
        --disk-reserve is free on the disk, and messages while less than a quarter of it is free. The log states it \
        (diskSpace), and before that when less than twice the reserve is free.
        """
    ]

    /// Refuses options that have no effect without others.
    static func checkUsage(
        _ arguments: ParsedArguments, hasDatabase: Bool, isShared: Bool, name: String?
    ) throws(UsageError) {
        if arguments[folder] != nil, !hasDatabase {
            throw UsageError(message: "'--attachment-folder' requires a database as '--store'")
        }
        if isShared, arguments[folder] != nil, name == nil {
            throw UsageError(message: "'--attachment-folder' with '--shared' requires '--name'")
        }
        if isShared, arguments[folder] == nil, arguments[attachments] == .on,
            arguments.values[attachments.spec.name] != nil
        {
            throw UsageError(message: "'--attachments on' with '--shared' requires '--attachment-folder'")
        }
    }

    /// The free space of the disk of the store; nil without a store.
    static func disk(_ arguments: ParsedArguments, directory: String?) -> DiskSpace? {
        (directory ?? arguments[folder].map { Folder.parent(of: $0) }).map {
            DiskSpace(of: $0, reserve: arguments[diskReserve].map { UInt64(clamping: $0) })
        }
    }

    /// The store of attachments: a folder beside the rooms of the directory, or one of its own, or memory; nil if they
    /// are off.
    ///
    /// - Parameter relay: The name of a relay that shares its rooms with others.
    static func store(
        _ arguments: ParsedArguments, directory: String?, _ disk: DiskSpace?, sharedBy relay: String? = nil
    ) throws -> (any AttachmentStore)? {
        guard arguments[attachments] != .off, relay == nil || arguments[folder] != nil else { return nil }
        let path = arguments[folder] ?? directory.map { "\($0)/attachments" }
        var limits = path == nil ? AttachmentLimits.inMemory : AttachmentLimits()
        if let bytes = arguments[bytes] { limits.maxTotalByteCount = UInt64(clamping: bytes) }
        if let quota = arguments[quota] { limits.maxByteCountPerAccount = UInt64(clamping: quota) }
        if let size = arguments[size] { limits.maxByteCount = UInt64(clamping: size) }
        if let days = arguments[lifetime] { limits.lifetime = .seconds(days * 24 * 3600) }
        guard let path else { return InMemoryAttachmentStore(limits: limits) }
        do {
            if let relay { return try SharedAttachmentStore(directory: path, relay: relay, limits: limits, disk: disk) }
            return try FileAttachmentStore(directory: path, limits: limits, disk: disk)
        } catch {
            throw CommandError(.cannotCreate, "\(error)")
        }
    }
}
