import MartletAuthentication
import MartletLink
import MartletTransport
import MartletWire

/// The uploads of a file store, on the thread that writes.
///
/// | state of an upload | owns | ends |
/// |---|---|---|
/// | promised | nothing | `write`: the file is created |
/// | on disk | a file | `begin` |
/// | open | a descriptor, the digest of the first bytes | complete, discarded; the oldest of too many; a failed write |
///
/// After a restart, the digest of the stored bytes is computed in steps between other jobs. The upload continues
/// meanwhile; only its completion waits for the digest.
///
/// `@unchecked Sendable`: the thread accesses all state.
final class AttachmentUploads: @unchecked Sendable {
    /// The maximum number of uploads with an open file.
    static let maxOpenCount = 64
    /// The bytes that one step adds to a digest.
    static let stepByteCount = 1 << 20  // bound

    private struct Open {
        var file: AttachmentFile
        var digest = DigestStream()
        /// The bytes in the digest.
        var digested: UInt64 = 0
        var use: UInt64
    }

    private let folder: AttachmentFolder
    private let index: GuardedIndex
    private let disk: DiskSpace?
    private let clock: @Sendable () -> UInt64
    private var open: [AttachmentIndex.Name: Open] = [:]
    private var useCount: UInt64 = 0

    init(
        _ folder: AttachmentFolder, _ index: GuardedIndex, disk: DiskSpace? = nil,
        _ clock: @escaping @Sendable () -> UInt64
    ) {
        self.folder = folder
        self.index = index
        self.disk = disk
        self.clock = clock
    }

    /// The position of an upload. An upload whose bytes are all stored is verified first.
    func begin(_ upload: AttachmentKey, byteCount: UInt64, mediaType: String?) throws -> UInt64 {
        let (complete, name) = (upload.completeName, upload.incompleteName)
        if let entry = index.entry(complete) {
            guard entry.byteCount == byteCount else { throw AttachmentFailure.digestMismatch }
            if var file = try AttachmentFile(opening: folder.file(complete), isRecovered: true),
                file.slot.position == byteCount
            {
                if entry.account != upload.account { try index.admitToQuota(byteCount, of: upload.account) }
                try file.touch(time: clock(), owner: upload.account)
                index.update(complete) { [clock] in
                    $0.time = clock()
                    $0.account = upload.account
                }
                return byteCount
            }
            // The file is missing or damaged, and the upload begins anew.
            try discard(complete)
        }
        if let entry = index.entry(name) {
            if entry.byteCount == byteCount {
                if entry.position == 0 { return 0 }
                if let position = try reopened(name) { return position }
            }
            try discard(name)
        }
        try index.admit(name, byteCount, of: upload.account)
        try disk?.admit(byteCount)
        index.insert(
            name,
            AttachmentIndex.Entry(
                account: upload.account, byteCount: byteCount, position: 0, mediaType: mediaType, time: clock()))
        // An attachment without bytes is complete at once.
        if byteCount == 0 { try create(upload) }
        return 0
    }

    /// Creates the file of an upload that was promised.
    private func create(_ upload: AttachmentKey) throws {
        let name = upload.incompleteName
        guard let entry = index.entry(name) else { throw AttachmentFailure.unknown }
        let path = folder.file(name)
        do {
            try folder.create(for: upload.room)
            let head = AttachmentFile.Head(
                room: upload.room, account: upload.account, digest: upload.digest, byteCount: entry.byteCount,
                mediaType: entry.mediaType)
            let file = try AttachmentFile(creating: path, head, time: clock())
            try Folder.sync(folder.room(upload.room))
            add(Open(file: file, use: 0), name)
        } catch {
            try? Folder.removeFile(path)
            throw error
        }
    }

    /// The position of an upload that has a file; nil if its file is not valid.
    private func reopened(_ name: AttachmentIndex.Name) throws -> UInt64? {
        if let position = open[name]?.file.slot.position { return position }
        guard let file = try AttachmentFile(opening: folder.file(name), isRecovered: true) else { return nil }
        index.update(name) { $0.position = file.slot.position }
        add(Open(file: file, use: 0), name)
        return file.slot.position
    }

    private func add(_ upload: Open, _ name: AttachmentIndex.Name) {
        if open.count >= Self.maxOpenCount, let oldest = open.min(by: { $0.value.use < $1.value.use }) {
            open[oldest.key] = nil
        }
        useCount += 1
        open[name] = upload
        open[name]?.use = useCount
    }

    /// Makes bytes durable. Returns the position.
    func write(_ chunks: [[UInt8]], at position: UInt64, of upload: AttachmentKey) throws -> UInt64 {
        let name = upload.incompleteName
        guard let entry = index.entry(name) else { throw AttachmentFailure.unknown }
        let count = UInt64(chunks.reduce(0) { $0 + $1.count })
        guard position == entry.position, count <= entry.byteCount - position else {
            throw AttachmentFailure.wrongPosition
        }
        try index.admitBytes(count)
        try disk?.admit(count)
        if position == 0, open[name] == nil { try create(upload) }
        guard try reopened(name) == position, var file = open[name]?.file else { throw AttachmentFailure.unknown }
        let end = position + count
        let time = clock()
        do throws(FileError) {
            try file.append(chunks, time: time)
        } catch {
            // A partly written batch must not count after the next `begin`.
            let isReverted = (try? file.revert()) != nil
            open[name] = nil
            if !isReverted { try? discard(name) }
            throw error
        }
        open[name]?.file = file
        if open[name]?.digested == position {
            for chunk in chunks { open[name]?.digest.add(chunk) }
            open[name]?.digested = end
        }
        index.update(name) {
            $0.position = end
            $0.time = time
        }
        return end
    }

    /// Adds stored bytes to the digest of an upload. Returns whether all of them are in it.
    func digestStep(_ upload: AttachmentKey) throws -> Bool {
        let name = upload.incompleteName
        guard let state = open[name] else { return true }
        let rest = state.file.slot.position - state.digested
        guard rest > 0 else { return true }
        let step = min(rest, UInt64(Self.stepByteCount))
        let bytes = try state.file.file.read(Int(step), at: AttachmentFile.headByteCount + state.digested)
        guard UInt64(bytes.count) == step else {
            try discard(name)
            throw AttachmentFailure.unavailable
        }
        state.digest.add(bytes)
        open[name]?.digested += step
        return step == rest
    }

    /// Verifies an upload whose bytes are all stored, and completes or discards it.
    func complete(_ upload: AttachmentKey) throws {
        let name = upload.incompleteName
        guard let state = open[name], var entry = index.entry(name), state.digested == entry.byteCount else {
            throw AttachmentFailure.unknown
        }
        guard state.digest.finish() == upload.digest.bytes else {
            try discard(name)
            throw AttachmentFailure.digestMismatch
        }
        open[name] = nil
        try Folder.rename(folder.file(name), to: folder.file(upload.completeName))
        entry.time = clock()
        entry.position = entry.byteCount
        index.replace(name, by: upload.completeName, entry)
    }

    /// Takes a complete attachment of another store, without regard to quotas. Returns whether it has one.
    func adopt(_ name: AttachmentIndex.Name, from other: AttachmentFolder) throws -> Bool {
        guard index.entry(name) == nil else { return true }
        do throws(FileError) {
            guard let (found, entry) = try other.attachment(in: other.file(name)), found == name else { return false }
            try folder.create(for: name.room)
            _ = try Folder.link(other.file(name), to: folder.file(name))
            index.insert(name, entry)
        } catch  where error.isMissing {
            return false
        }
        return true
    }

    /// Removes an attachment and its file.
    func discard(_ name: AttachmentIndex.Name) throws {
        open[name] = nil
        index.remove(name)
        try Folder.removeFile(folder.file(name))
        Folder.removeIfEmpty(folder.room(name.room))
    }

    /// Removes an attachment, unless it counts for another account meanwhile.
    func discard(_ name: AttachmentIndex.Name, of account: AccountName) throws {
        if index.entry(name)?.account == account { try discard(name) }
    }

    /// Changes the account for which a complete attachment counts. A damaged file is left to its next `begin`.
    func reassign(_ name: AttachmentIndex.Name, from account: AccountName, to other: AccountName) throws {
        guard index.entry(name)?.account == account,
            var file = try AttachmentFile(opening: folder.file(name), isRecovered: true)
        else { return }
        try file.touch(time: file.slot.time, owner: other)
        index.update(name) { $0.account = other }
    }

    /// Removes an attachment, unless its lifetime was renewed after the search for expired ones.
    func discardIfExpired(_ name: AttachmentIndex.Name, at now: UInt64) throws {
        if index.isExpired(name, at: now) { try discard(name) }
    }
}

/// The index of a store, which several threads use.
package final class GuardedIndex: Sendable {
    private let state: Guarded<AttachmentIndex>

    package init(_ limits: AttachmentLimits) {
        state = Guarded(AttachmentIndex(limits))
    }

    package func entry(_ name: AttachmentIndex.Name) -> AttachmentIndex.Entry? { state.withLock { $0[name] } }

    package func update(_ name: AttachmentIndex.Name, _ change: @Sendable (inout AttachmentIndex.Entry) -> Void) {
        state.withLock { $0.update(name, change) }
    }

    package func admit(_ name: AttachmentIndex.Name, _ byteCount: UInt64, of account: AccountName)
        throws(AttachmentFailure)
    {
        try state.withLock { state throws(AttachmentFailure) in try state.admit(name, byteCount, of: account) }
    }

    package func admitToQuota(_ byteCount: UInt64, of account: AccountName) throws(AttachmentFailure) {
        try state.withLock { state throws(AttachmentFailure) in try state.admitToQuota(byteCount, of: account) }
    }

    package func admitBytes(_ byteCount: UInt64) throws(AttachmentFailure) {
        try state.withLock { state throws(AttachmentFailure) in try state.admitBytes(byteCount) }
    }

    func addDamaged(byteCount: UInt64) { state.withLock { $0.damagedByteCount &+= byteCount } }

    package func insert(_ name: AttachmentIndex.Name, _ entry: AttachmentIndex.Entry) {
        state.withLock { $0.insert(name, entry) }
    }

    func replace(_ name: AttachmentIndex.Name, by other: AttachmentIndex.Name, _ entry: AttachmentIndex.Entry) {
        state.withLock {
            $0.remove(name)
            $0.insert(other, entry)
        }
    }

    package func remove(_ name: AttachmentIndex.Name) {
        state.withLock { _ = $0.remove(name) }
    }

    package func removeAll(where isRemoved: @Sendable (AttachmentIndex.Name, AttachmentIndex.Entry) -> Bool) {
        state.withLock { $0.removeAll(where: isRemoved) }
    }

    func names(of account: AccountName, in room: RoomName) -> [AttachmentIndex.Name] {
        state.withLock { $0.names(of: account, in: room) }
    }

    func isExpired(_ name: AttachmentIndex.Name, at now: UInt64) -> Bool {
        state.withLock { $0.isExpired(name, at: now) }
    }

    func expired(at now: UInt64, stepCount: Int) -> (names: [AttachmentIndex.Name], hasMore: Bool) {
        state.withLock { $0.expired(at: now, stepCount: stepCount) }
    }
}
