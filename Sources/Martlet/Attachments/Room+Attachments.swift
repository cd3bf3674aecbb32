public import MartletWire

extension Room {
    /// The maximum size of an attachment that ``data(of:maxByteCount:)`` returns by default, in bytes.
    public static let maxDataByteCount = 1 << 20

    /// Uploads a file to the relay, which keeps it for the members of this room.
    ///
    /// The upload waits for a connection, continues on later connections and links, and has a lower priority than
    /// messages. Another call for the same file, even from a later process, continues after the last byte that the
    /// relay has stored. A file that the room already has is not sent again. The caller sends the message with the
    /// attachment, which is forgotten if the process ends before. `OutgoingMessage.file(at:)` queues both together.
    ///
    /// ```swift
    /// let upload = room.upload(fileAt: "photo.jpg", mediaType: "image/jpeg")
    /// try await room.send(.attachment(try await upload.value()))
    /// ```
    ///
    /// - Parameters:
    ///   - path: The path of the file, which must not change during the upload.
    ///   - name: The name for others; nil for the last part of the path.
    ///   - mediaType: The media type (RFC 6838), at most `Attachment.maxMediaTypeByteCount` bytes.
    ///   - caption: A text beside the file.
    ///   - thumbnail: A small image of the file, at most `Attachment.maxThumbnailByteCount` bytes.
    public func upload(
        fileAt path: String, name: String? = nil, mediaType: String? = nil, caption: String? = nil,
        thumbnail: [UInt8]? = nil
    ) -> AttachmentUpload {
        let name = name ?? path.split(separator: "/").last.map(String.init)
        return upload(.file(path: Array(path.utf8)), name, mediaType, caption, thumbnail)
    }

    /// Uploads a file whose path has any bytes. Its name for others has U+FFFD in place of those that are not UTF-8.
    package func upload(fileWithPath path: [UInt8], mediaType: String?) -> AttachmentUpload {
        let name = path.split(separator: UInt8(ascii: "/")).last.map { String(decoding: $0, as: UTF8.self) }
        return upload(.file(path: path), name, mediaType, nil, nil)
    }

    /// Uploads bytes to the relay, like ``upload(fileAt:name:mediaType:caption:thumbnail:)``.
    public func upload(
        _ data: [UInt8], name: String? = nil, mediaType: String? = nil, caption: String? = nil,
        thumbnail: [UInt8]? = nil
    ) -> AttachmentUpload {
        upload(.data(data), name, mediaType, caption, thumbnail)
    }

    private func upload(
        _ source: UploadWork.Source, _ name: String?, _ mediaType: String?, _ caption: String?, _ thumbnail: [UInt8]?
    ) -> AttachmentUpload {
        let description = UploadWork.Description(
            name: name, mediaType: mediaType, caption: caption, thumbnail: thumbnail)
        let core = TransferCore(UploadWork(source, description), in: core)
        if let mediaType, mediaType.utf8.count > Attachment.maxMediaTypeByteCount {
            core.end(.failure(MartletError.invalidContent("the media type is too long")))
        } else {
            core.start()
        }
        return AttachmentUpload(core)
    }

    /// Downloads an attachment of this room into a file.
    ///
    /// The bytes are written to a partial file, whose name begins with `path` and ends in `.part`. Another call for the
    /// same whole attachment, even from a later process, continues the partial file, and writes a different partial
    /// file while the first one is in use. At the end, the digest of a whole attachment is verified, and the partial
    /// file replaces any file at `path`.
    ///
    /// - Parameters:
    ///   - attachment: The attachment of a message of this room, with its bytes or at the relay.
    ///   - path: The path of the file. `Attachment.name` is a text of another account: do not use it as a path.
    ///   - range: The range of bytes to download; nil for the whole attachment. The file then contains these bytes
    ///     only. The digest is verified for a whole attachment only.
    public func download(
        _ attachment: Attachment, to path: String, range: Range<UInt64>? = nil
    ) -> AttachmentDownload {
        AttachmentDownload(transfer(attachment, range, .file(path: path)).core)
    }

    /// The bytes of an attachment of this room. The cancellation of the calling task ends the download.
    ///
    /// - Parameters:
    ///   - attachment: The attachment.
    ///   - maxByteCount: The maximum number of bytes.
    /// - Throws: `messageTooLarge`, with the size of the attachment, if there are more; the errors of
    ///   ``AttachmentDownload/value()``.
    nonisolated(nonsending) public func data(
        of attachment: Attachment, maxByteCount: Int = Room.maxDataByteCount
    ) async throws -> [UInt8] {
        guard attachment.byteCount <= UInt64(clamping: maxByteCount) else {
            throw MartletError.messageTooLarge(byteCount: Int(clamping: attachment.byteCount), limit: maxByteCount)
        }
        if case .data(let bytes) = attachment.source { return bytes }
        let (core, work) = transfer(attachment, nil, .memory)
        return try await withTaskCancellationHandler {
            _ = try await core.value()
            return work?.memory ?? []
        } onCancel: {
            core.cancel()
        }
    }

    private func transfer(
        _ attachment: Attachment, _ range: Range<UInt64>?, _ destination: DownloadWork.Destination
    ) -> (core: TransferCore, work: DownloadWork?) {
        let isInRange = range.map { $0.upperBound <= attachment.byteCount } ?? true
        if case .data(let bytes) = attachment.source, UInt64(bytes.count) == attachment.byteCount, isInRange {
            let core = TransferCore(LocalWork(bytes, range, destination), in: core)
            core.start()
            return (core, nil)
        }
        guard let digest = attachment.relayDigest, isInRange else {
            let core = TransferCore(LocalWork([], nil, .memory), in: core)
            let fault = isInRange ? "the attachment is not at the relay" : "the range is not within the attachment"
            core.end(.failure(MartletError.invalidContent(fault)))
            return (core, nil)
        }
        let work = DownloadWork(digest, byteCount: attachment.byteCount, range, to: destination)
        let core = TransferCore(work, in: core)
        core.start()
        return (core, work)
    }
}
