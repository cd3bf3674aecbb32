import MartletAuthentication
import MartletLink
import MartletTransport
import MartletWire

/// The folder of a file store: a folder for each room, in which each attachment has a file.
///
/// | file | contains |
/// |---|---|
/// | `DIGEST` | a complete attachment |
/// | `DIGEST.ACCOUNT.part` | an incomplete one |
/// | `….damaged` | a file whose head is not valid or names another file, which the store does not use |
struct AttachmentFolder: Sendable {
    /// The maximum number of damaged files that are kept (Specs/hostile.md row 98).
    static let maxDamagedCount = 16
    /// The number of failed reads of a head after which a file counts as damaged.
    private static let maxReadCount = 4
    static let damagedSuffix = ".damaged"
    static let partSuffix = ".part"

    let path: String

    static func hash(_ text: String) -> String {
        let stream = DigestStream()
        stream.add(Array(text.utf8))
        return AttachmentDigest(stream.finish())?.description ?? ""
    }

    func room(_ room: RoomName) -> String { "\(path)/\(Self.hash(room.text))" }

    func file(_ name: AttachmentIndex.Name) -> String {
        let complete = "\(room(name.room))/\(name.digest)"
        guard let account = name.account else { return complete }
        return "\(complete).\(Self.hash(account.text).prefix(32))\(Self.partSuffix)"
    }

    /// Creates the folders.
    func create(for room: RoomName) throws(FileError) {
        try Folder.create(self.room(room))
        try Folder.sync(path)
    }

    /// A file of the folder.
    enum Found {
        case attachment(AttachmentIndex.Name, AttachmentIndex.Entry)
        /// The number of bytes of a file that is kept although it is damaged.
        case damaged(byteCount: UInt64)
    }

    /// The paths of all files, in ascending order of rooms.
    func files() throws(FileError) -> [String] {
        var paths: [String] = []
        for room in try Folder.names(in: path) where room.utf8.count == 64 {
            for file in try Folder.names(in: "\(path)/\(room)") { paths.append("\(path)/\(room)/\(file)") }
        }
        return paths
    }

    /// Opens a file; nil if its head cannot be read repeatedly, or is not valid.
    private func opened(_ file: String) throws(FileError) -> AttachmentFile? {
        for _ in 0..<Self.maxReadCount {
            do throws(FileError) {
                return try AttachmentFile(opening: file, isRecovered: false)
            } catch {
                guard error.isDamaged else { throw error }
            }
        }
        return nil
    }

    /// The attachment in a file; nil if the head cannot be read, is not valid or names another file.
    func attachment(in file: String) throws(FileError) -> (AttachmentIndex.Name, AttachmentIndex.Entry)? {
        guard let opened = try opened(file) else { return nil }
        let (head, slot) = (opened.head, opened.slot)
        let isPart = file.hasSuffix(Self.partSuffix)
        let name = AttachmentIndex.Name(room: head.room, digest: head.digest, account: isPart ? head.account : nil)
        guard self.file(name) == file, isPart || slot.position == head.byteCount else { return nil }
        let entry = AttachmentIndex.Entry(
            account: isPart ? head.account : opened.owner, byteCount: head.byteCount, position: slot.position,
            mediaType: head.mediaType, time: slot.time)
        return (name, entry)
    }

    /// Reads the heads of all files. A complete file that is not valid is set aside, and removed if there are too many.
    /// An incomplete one that is not valid or has no bytes is removed.
    func scan(
        _ found: (AttachmentIndex.Name, AttachmentIndex.Entry) -> Void, damaged: (_ byteCount: UInt64) -> Void
    ) throws(FileError) {
        var damagedCount = 0
        for file in try files() {
            var file = file
            if !file.hasSuffix(Self.damagedSuffix) {
                let isPart = file.hasSuffix(Self.partSuffix)
                if let (name, entry) = try attachment(in: file), !isPart || entry.position > 0 {
                    found(name, entry)
                    continue
                }
                guard !isPart else {
                    try Folder.removeFile(file)
                    continue
                }
                try Folder.rename(file, to: file + Self.damagedSuffix)
                file += Self.damagedSuffix
            }
            damagedCount += 1
            if damagedCount > Self.maxDamagedCount {
                try Folder.removeFile(file)
            } else {
                damaged(try RegularFile(file, .read).byteCount())
            }
        }
    }
}
