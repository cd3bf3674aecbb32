import MartletRelay
import MartletRelaySQLite
import MartletToolSupport
import MartletTransport

/// The backup of a relay's store, a folder with its rooms and attachments, and its restoration.
enum StoreBackup {
    /// The folder of attachments in the directory of a store, and in a backup.
    static func attachments(of directory: String) -> String { "\(directory)/attachments" }

    /// The file of rooms in a directory.
    static func rooms(of directory: String) -> String { "\(directory)/\(StoreSchema.fileName)" }

    /// Writes a backup to a new folder and reads it. Calls `report` with each fault, and omits damaged attachments.
    /// The folder has its name when it is complete.
    static func make(of directory: String, at target: String, _ report: (String) throws -> Void) throws {
        let partial = "\(target).partial"
        try remove(partial)
        try Folder.create(partial)
        do {
            try StoreContents(path: rooms(of: directory)).backUp(to: rooms(of: partial))
            // The database is copied first: its messages name attachments that are complete.
            try copyAttachments(from: directory, to: partial, report)
            try StoreContents(path: rooms(of: partial)).check(report)
            try Folder.sync(partial)
            try Folder.rename(partial, to: target)
            try Folder.sync(Folder.parent(of: target))
        } catch {
            try? remove(partial)
            throw error
        }
    }

    /// Puts a backup in the place of a store that no relay uses. The earlier files are renamed, and attachments are
    /// added to the existing ones. Nothing is changed if the backup has faults, with which `report` is called.
    ///
    /// - Returns: The new name of the earlier file; nil if there was none, or if the backup has faults.
    static func restore(
        _ backup: String, to directory: String, at now: UInt64, _ report: (String) throws -> Void
    ) throws -> (isRestored: Bool, aside: String?) {
        // A backup of an earlier version is a file.
        let isFolder = (try? Folder.names(in: backup).isEmpty) == false
        let source = try StoreContents(path: isFolder ? rooms(of: backup) : backup)
        var faultCount = 0
        func count(_ fault: String) throws {
            faultCount += 1
            try report(fault)
        }
        try source.check(count)
        if isFolder { try checkAttachments(of: backup, count) }
        guard faultCount == 0 else { return (false, nil) }
        let lock = try SQLiteStore.lock(directory)
        defer { withExtendedLifetime(lock) {} }
        if isFolder { try copyAttachments(from: backup, to: directory, count) }
        guard faultCount == 0 else { return (false, nil) }
        return (true, try StoreFile.restore(source, to: rooms(of: directory), lock, at: now))
    }

    /// Reads all complete attachments of a store.
    static func checkAttachments(of directory: String, _ report: (String) throws -> Void) throws {
        let archive = AttachmentArchive(directory: attachments(of: directory))
        for file in try archive.files() where try archive.verify(file) == false { try report(fault(of: file)) }
    }

    private static func copyAttachments(
        from directory: String, to target: String, _ report: (String) throws -> Void
    ) throws {
        let archive = AttachmentArchive(directory: attachments(of: directory))
        let existing = AttachmentArchive(directory: attachments(of: target))
        let known = Set(try existing.files())
        for file in try archive.files() {
            if known.contains(file), try existing.verify(file) == true { continue }
            if try archive.copy(file, to: attachments(of: target)) == false { try report(fault(of: file)) }
        }
    }

    private static func fault(of file: AttachmentArchive.File) -> String { "the attachment \(file.path) is damaged" }

    /// Removes a folder that an earlier backup has left.
    private static func remove(_ folder: String) throws {
        for name in try Folder.names(in: attachments(of: folder)) {
            let room = "\(attachments(of: folder))/\(name)"
            for file in try Folder.names(in: room) { try Folder.removeFile("\(room)/\(file)") }
            Folder.removeIfEmpty(room)
        }
        Folder.removeIfEmpty(attachments(of: folder))
        for name in try Folder.names(in: folder) { try Folder.removeFile("\(folder)/\(name)") }
        Folder.removeIfEmpty(folder)
    }
}
