import MartletRelay
import MartletS3
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
            + "all relays share; or in a bucket of S3, if DIR is its URI s3://BUCKET/PREFIX")
    private static let credentials = Option.text(
        "attachment-credentials", "FILE",
        help: "with S3: sign requests with the key in FILE, a credentials file of AWS"
    ).changing(.valueAtReload)
    private static let region = Option.text(
        "attachment-region", "REGION", help: "with S3: region of the bucket [us-east-1]")
    private static let endpoint = Option.text(
        "attachment-endpoint", "URL", help: "with S3: address of the service [that of AWS in the region]")
    private static let authorities = Option.text(
        "attachment-trust", "FILE",
        help: "with S3: check the service's certificate by those in FILE [those of the system]")
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
        attachments.spec, folder.spec, credentials.spec, region.spec, endpoint.spec, authorities.spec, bytes.spec,
        quota.spec, size.spec, lifetime.spec, diskReserve.spec,
    ]

    static let notes = [
        """
        Attachments are kept in the directory of --store, and in memory without it. With a database they are kept in \
        --attachment-folder, otherwise in memory, and with --shared refused. Relays of a database may share this \
        directory if it is one of a file system with hard links: each has a --name of its own, and its own bounds. \
        They are refused while less than \
        --disk-reserve is free on the disk, and messages while less than a quarter of it is free. The log states it \
        (diskSpace), and before that when less than twice the reserve is free.
        """,
        """
        Relays that share a bucket and a prefix share its attachments, and an upload continues at any of them. \
        --attachment-credentials has aws_access_key_id, aws_secret_access_key and, if they are temporary, \
        aws_session_token, one a line; the signal HUP reads it again. The relay starts only if the key permits to \
        read, write, list and remove objects. While the service is away, clients repeat uploads and downloads, and \
        the log states the reason (storeFailed). Guides/postgres.md has a policy for the key.
        """,
    ]

    private static let uriPrefix = "s3://"

    private static func isBucket(_ arguments: ParsedArguments) -> Bool {
        arguments[folder]?.hasPrefix(uriPrefix) ?? false
    }

    /// Refuses options that have no effect without others.
    static func checkUsage(
        _ arguments: ParsedArguments, hasDatabase: Bool, isShared: Bool, name: String?
    ) throws(UsageError) {
        for option in [credentials.spec, region.spec, endpoint.spec, authorities.spec]
        where arguments.values[option.name] != nil && !isBucket(arguments) {
            throw UsageError(message: "'--\(option.name)' requires s3://BUCKET as '--attachment-folder'")
        }
        if isBucket(arguments) {
            guard arguments[credentials] != nil else {
                throw UsageError(message: "s3://BUCKET as '--attachment-folder' requires '--attachment-credentials'")
            }
            return
        }
        if arguments[folder] != nil, !hasDatabase {
            throw UsageError(message: "'--attachment-folder' requires a database as '--store', or s3://BUCKET")
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
        (directory ?? (isBucket(arguments) ? nil : arguments[folder]).map { Folder.parent(of: $0) }).map {
            DiskSpace(of: $0, reserve: arguments[diskReserve].map { UInt64(clamping: $0) })
        }
    }

    /// The credentials of the bucket; nil without one.
    static func bucketCredentials(_ arguments: ParsedArguments) throws -> S3AttachmentStore.Credentials? {
        guard isBucket(arguments), let path = arguments[credentials] else { return nil }
        let text = String(decoding: try InputFile.read(path, "the credentials"), as: UTF8.self)
        do { return try S3AttachmentStore.Credentials(parsing: text) } catch {
            throw CommandError(.noInput, "\(path): \(error)")
        }
    }

    /// The bucket; nil without one.
    private static func bucket(_ arguments: ParsedArguments) throws -> S3AttachmentStore.Configuration? {
        guard let credentials = try bucketCredentials(arguments), let uri = arguments[folder] else { return nil }
        let parts = uri.dropFirst(uriPrefix.utf8.count).split(separator: "/", maxSplits: 1)
        do {
            var configuration = try S3AttachmentStore.Configuration(
                bucket: String(parts.first ?? ""), prefix: parts.count > 1 ? String(parts[1]) : "",
                region: arguments[region] ?? "us-east-1", endpoint: arguments[endpoint], credentials: credentials)
            configuration.authorities = arguments[authorities]
            configuration.limits = limits(arguments, AttachmentLimits())
            return configuration
        } catch {
            throw UsageError(message: "'--attachment-folder': \(error)")
        }
    }

    private static func limits(_ arguments: ParsedArguments, _ limits: AttachmentLimits) -> AttachmentLimits {
        var limits = limits
        if let bytes = arguments[bytes] { limits.maxTotalByteCount = UInt64(clamping: bytes) }
        if let quota = arguments[quota] { limits.maxByteCountPerAccount = UInt64(clamping: quota) }
        if let size = arguments[size] { limits.maxByteCount = UInt64(clamping: size) }
        if let days = arguments[lifetime] { limits.lifetime = .seconds(days * 24 * 3600) }
        return limits
    }

    /// Checks that a bucket is reachable, and that its key permits what a relay does there.
    static func check(_ arguments: ParsedArguments) async throws {
        guard arguments[attachments] != .off, let bucket = try bucket(arguments) else { return }
        do { try await S3AttachmentStore.check(bucket) } catch {
            throw CommandError(.failure, "\(arguments[folder] ?? ""): \(error)")
        }
    }

    /// The store of attachments: a bucket, a folder beside the rooms of the directory, or one of its own, or memory;
    /// nil if they are off.
    ///
    /// - Parameter relay: The name of a relay that shares its rooms with others.
    static func store(
        _ arguments: ParsedArguments, directory: String?, _ disk: DiskSpace?, sharedBy relay: String? = nil
    ) async throws -> (any AttachmentStore)? {
        guard arguments[attachments] != .off, relay == nil || arguments[folder] != nil else { return nil }
        if let bucket = try bucket(arguments) {
            do { return try await S3AttachmentStore(bucket) } catch {
                throw CommandError(.cannotCreate, "\(arguments[folder] ?? ""): \(error)")
            }
        }
        let path = arguments[folder] ?? directory.map { "\($0)/attachments" }
        let limits = limits(arguments, path == nil ? .inMemory : AttachmentLimits())
        guard let path else { return InMemoryAttachmentStore(limits: limits) }
        do {
            if let relay { return try SharedAttachmentStore(directory: path, relay: relay, limits: limits, disk: disk) }
            return try FileAttachmentStore(directory: path, limits: limits, disk: disk)
        } catch {
            throw CommandError(.cannotCreate, "\(error)")
        }
    }
}
