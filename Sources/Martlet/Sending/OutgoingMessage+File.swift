import MartletTransport
import MartletWire

extension OutgoingMessage {
    /// A message with a file, which the client uploads to the relay before it publishes the message.
    ///
    /// The file is read once for its digest. After ``Room/send(_:)-(OutgoingMessage)`` has returned, the outbox has the
    /// message and the path: the upload waits for a connection, and a later client with the same outbox continues it.
    /// The file must remain unchanged until the message has an outcome; otherwise the message fails with `fileFailed`.
    /// Later messages of the room wait for the upload, so that all have the order of the calls (M-26).
    ///
    /// - Parameters:
    ///   - path: The path of the file, which is stored as an absolute path for a later process.
    ///   - name: The name for others; nil for the last part of the path.
    ///   - mediaType: The media type (RFC 6838), at most `Attachment.maxMediaTypeByteCount` bytes.
    ///   - caption: A text beside the file.
    ///   - thumbnail: A small image of the file, at most `Attachment.maxThumbnailByteCount` bytes.
    /// - Throws: `fileFailed` if the file cannot be read; `attachmentDamaged` if it changes meanwhile;
    ///   `invalidContent`.
    nonisolated(nonsending) public static func file(
        at path: String, name: String? = nil, mediaType: String? = nil, caption: String? = nil,
        thumbnail: [UInt8]? = nil
    ) async throws -> OutgoingMessage {
        let description = UploadWork.Description(
            name: name ?? path.split(separator: "/").last.map(String.init), mediaType: mediaType, caption: caption,
            thumbnail: thumbnail)
        let absolute: String
        do throws(FileError) { absolute = try RegularFile.absolutePath(path) } catch {
            throw MartletError.fileFailed(path: path, "\(error)")
        }
        let work = UploadWork(.file(path: Array(absolute.utf8)), description)
        let thread = FileThread(named: "martlet-file")
        while try await !thread.perform({ try work.prepareStep() }) { try Task.checkCancellation() }
        var message = try attachment(work.attachment)
        message.file = absolute
        return message
    }
}

extension MessageHandle {
    /// The progress of the upload of the message's file, over all connections; nil if the message has no file or its
    /// file is uploaded. It ends when the file is uploaded or the message has failed.
    public var uploadProgress: TransferProgressUpdates? {
        room.state.withLock { $0.files[counter] }.map { TransferProgressUpdates(latest: $0.progress) }
    }
}
