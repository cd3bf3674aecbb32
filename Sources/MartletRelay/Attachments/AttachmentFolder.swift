import MartletAuthentication
import MartletProtocol
import MartletTransport
import MartletWire

/// The folder of a file store: a folder for each room, in which each attachment has a file.
///
/// | file | contains |
/// |---|---|
/// | `DIGEST` | a complete attachment |
/// | `DIGEST.ACCOUNT.part` | an incomplete one |
/// | `….damaged` | a file whose head is not valid, which the store does not use |
struct AttachmentFolder: Sendable {
    let path: String

    private static func hash(_ text: String) -> String {
        let stream = DigestStream()
        stream.add(Array(text.utf8))
        return AttachmentDigest(stream.finish())?.description ?? ""
    }

    func room(_ room: RoomName) -> String { "\(path)/\(Self.hash(room.text))" }

    func file(_ name: AttachmentIndex.Name) -> String {
        let complete = "\(room(name.room))/\(name.digest)"
        guard let account = name.account else { return complete }
        return "\(complete).\(Self.hash(account.text).prefix(32)).part"
    }

    /// Creates the folders.
    func create(for room: RoomName) throws(FileError) {
        try Folder.create(self.room(room))
        try Folder.sync(path)
    }

    /// Reads the heads of all files. A file that is not valid is set aside; an incomplete one is removed.
    func scan(_ found: (AttachmentIndex.Name, AttachmentIndex.Entry) -> Void) throws(FileError) {
        for room in try Folder.names(in: path) where room.utf8.count == 64 {
            for file in try Folder.names(in: "\(path)/\(room)") where !file.hasSuffix(".damaged") {
                let filePath = "\(path)/\(room)/\(file)"
                let isPart = file.hasSuffix(".part")
                guard let opened = try AttachmentFile(opening: filePath, isRecovered: false) else {
                    if isPart {
                        try Folder.removeFile(filePath)
                    } else {
                        try Folder.rename(filePath, to: filePath + ".damaged")
                    }
                    continue
                }
                let head = opened.head
                let name = AttachmentIndex.Name(
                    room: head.room, digest: head.digest, account: isPart ? head.account : nil)
                // A file under another name than its own is not the attachment that its head names.
                guard self.file(name) == filePath else { continue }
                found(
                    name,
                    AttachmentIndex.Entry(
                        account: head.account, byteCount: head.byteCount, position: opened.slot.position,
                        mediaType: head.mediaType, time: opened.slot.time))
            }
        }
    }
}
