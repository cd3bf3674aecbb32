import MartletAuthentication
import MartletLink
import MartletTransport
import MartletWire

/// The complete attachments in the folder of a file store, for checks and backups, also while a relay uses the folder.
package struct AttachmentArchive: Sendable {
    /// The bytes that are read at once.
    private static let stepByteCount = 1 << 20

    /// A file of the folder.
    package struct File: Sendable, Hashable {
        /// The path in the folder.
        package let path: String
        /// The attachment; nil for a file that is damaged.
        package let attachment: Attachment?
    }

    /// A complete attachment.
    package struct Attachment: Sendable, Hashable {
        package let room: RoomName
        package let digest: AttachmentDigest
        package let byteCount: UInt64
    }

    private let folder: AttachmentFolder

    /// The archive of a folder, which may be missing.
    package init(directory: String) {
        folder = AttachmentFolder(path: directory)
    }

    /// The files of the folder without those of incomplete attachments.
    package func files() throws(FileError) -> [File] {
        var found: [File] = []
        for file in try folder.files() where !file.hasSuffix(AttachmentFolder.partSuffix) {
            let path = String(file.dropFirst(folder.path.count + 1))
            do throws(FileError) {
                let attachment = try folder.attachment(in: file).map { name, entry in
                    Attachment(room: name.room, digest: name.digest, byteCount: entry.byteCount)
                }
                found.append(File(path: path, attachment: attachment))
            } catch  where error.isMissing {
                // The relay has removed the attachment.
            }
        }
        return found
    }

    /// Reads all bytes of a file. Returns whether they are those of the attachment; nil if the relay has removed it.
    package func verify(_ file: File) throws(FileError) -> Bool? {
        try read(file) { _, _ throws(FileError) in }
    }

    /// Copies a file into another folder, durably, and reads the copy. Returns whether its bytes are those of the
    /// attachment; nil if the relay has removed it.
    package func copy(_ file: File, to directory: String) throws(FileError) -> Bool? {
        guard let attachment = file.attachment else { return false }
        let target = AttachmentFolder(path: directory)
        try Folder.create(directory)
        try target.create(for: attachment.room)
        let path = "\(directory)/\(file.path)"
        let copy = try RegularFile(path, .write)
        try copy.truncate(to: 0)
        do throws(FileError) {
            let source = try RegularFile("\(folder.path)/\(file.path)", .read)
            try copy.write(try source.read(Int(AttachmentFile.headByteCount), at: 0), at: 0)
        } catch  where error.isMissing {
            try Folder.removeFile(path)
            return nil
        }
        let isRead = try read(file) { bytes, position throws(FileError) in
            try copy.write(bytes, at: AttachmentFile.headByteCount + position)
        }
        guard isRead == true else {
            try Folder.removeFile(path)
            return isRead
        }
        try copy.sync()
        try Folder.sync(target.room(attachment.room))
        return try AttachmentArchive(directory: directory).verify(file)
    }

    /// Reads the bytes of a file in steps. Returns whether they have the digest.
    private func read(
        _ file: File, _ body: ([UInt8], _ position: UInt64) throws(FileError) -> Void
    ) throws(FileError) -> Bool? {
        guard let attachment = file.attachment else { return false }
        let source: RegularFile
        do throws(FileError) {
            source = try RegularFile("\(folder.path)/\(file.path)", .read)
        } catch  where error.isMissing {
            return nil
        }
        let stream = DigestStream()
        var position: UInt64 = 0
        while position < attachment.byteCount {
            let count = Int(min(attachment.byteCount - position, UInt64(Self.stepByteCount)))
            let bytes: [UInt8]
            do throws(FileError) {
                bytes = try source.read(count, at: AttachmentFile.headByteCount + position)
            } catch  where error.isDamaged {
                return false
            }
            guard bytes.count == count else { return false }
            try body(bytes, position)
            stream.add(bytes)
            position += UInt64(count)
        }
        return stream.finish() == attachment.digest.bytes
    }
}
