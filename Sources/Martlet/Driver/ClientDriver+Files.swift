import MartletLink
import MartletTransport
import MartletWire

/// The files of messages, which are uploaded one after another in each room before the messages are published (M-25).
extension ClientDriver {
    /// Begins the next upload of a room, unless one is in progress.
    func uploadNext(of room: RoomCore) {
        guard phase == .running || phase == .flushing, let counter = rooms[room.id]?.unmarked.nextWithFile else {
            return
        }
        let (file, content) = room.state.withLock { state in
            (state.files.isUploading ? nil : state.files[counter], state.messages.content(of: counter))
        }
        guard let file, let content else { return }
        guard case .attachment(let attachment)? = try? MessageBody(content), let digest = attachment.relayDigest else {
            return engine.fail(counter: counter, .fileFailed, in: room.id, now: now)
        }
        let description = UploadWork.Description(mediaType: attachment.mediaType)
        let work = UploadWork(.file(path: Array(file.path.utf8)), description, expected: digest)
        // The transfer belongs to the room, which the driver owns.
        let transfer = TransferCore(work, in: room, progress: file.progress) { [weak self, loop] transfer, result in
            guard let driver = self else { return }
            loop.execute { driver.ended(transfer, of: counter, result) }
        }
        room.state.withLock { $0.files.begin(counter, transfer) }
        transfer.start()
    }

    private func ended(
        _ transfer: TransferCore, of counter: UInt64, _ result: Result<Attachment?, any Error>
    ) {
        let room = transfer.room
        guard phase != .over, room.state.withLock({ $0.files.ended(counter, transfer) }) else { return }
        switch result {
        case .success:
            room.state.withLock { $0.files.remove(counter) }?.end()
            rooms[room.id]?.unmarked.uploaded(counter)
            if let released = rooms[room.id]?.unmarked.releasedUpTo {
                engine.messagesStored(releasedUpTo: released, in: room.id, now: now)
            }
            markInFlight()
            uploadNext(of: room)
        case .failure(let error):
            // After other errors the upload begins again with the next connection or client.
            if let failure = Self.failure(error) { engine.fail(counter: counter, failure, in: room.id, now: now) }
        }
        settle()
    }

    /// The failure of a message whose upload has failed; nil if the upload can be continued.
    private static func failure(_ error: any Error) -> SendFailure? {
        guard let error = error as? MartletError else { return nil }
        return switch error.code {
        case .attachmentRefused: .refused(error.errorCode ?? .refused, reason: nil)
        case .fileFailed, .attachmentDamaged: .fileFailed
        case .attachmentsUnsupported: .refused(.unsupportedKind, reason: error.description)
        default: nil
        }
    }

    /// Ends the upload of a message that has failed, and begins the next one.
    func fileMessageFailed(_ counter: UInt64, of room: RoomCore) {
        room.state.withLock { $0.files.remove(counter) }?.end()
        uploadNext(of: room)
    }
}
