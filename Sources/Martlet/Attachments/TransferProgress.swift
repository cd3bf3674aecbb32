/// The progress of a transfer of an attachment.
public struct TransferProgress: Sendable, Hashable {
    /// The number of transferred bytes. In an upload, the relay has stored these bytes durably; in a download, they
    /// were written. A transfer that is continued begins above 0. The number decreases if the other side has lost
    /// bytes.
    public internal(set) var byteCount: UInt64
    /// The number of bytes to transfer; nil while it is unknown.
    public internal(set) var totalByteCount: UInt64?
}

/// An asynchronous sequence of the progress of a transfer. An iterator returns the latest value and may omit earlier
/// ones. It begins when the number of transferred bytes is known: for an upload when the relay has named the bytes that
/// it has, for a download when the partial file was read. It ends with the transfer.
public struct TransferProgressUpdates: AsyncSequence, Sendable {
    /// The progress of the transfer.
    public typealias Element = TransferProgress
    /// The sequence throws no errors.
    public typealias Failure = Never

    let latest: Latest<TransferProgress?>

    /// Creates an iterator whose first element is the current progress.
    public func makeAsyncIterator() -> AsyncIterator { AsyncIterator(latest: latest) }

    /// An iterator that returns each value at most once.
    public struct AsyncIterator: AsyncIteratorProtocol {
        let latest: Latest<TransferProgress?>
        private var version: UInt64 = 0

        init(latest: Latest<TransferProgress?>) {
            self.latest = latest
        }

        /// Waits for progress that this iterator has not returned; nil if the transfer has ended or the task is
        /// cancelled.
        public mutating func next() async -> TransferProgress? { await next(isolation: nil) }

        /// Waits for progress that this iterator has not returned; nil if the transfer has ended or the task is
        /// cancelled.
        public mutating func next(isolation actor: isolated (any Actor)?) async -> TransferProgress? {
            while true {
                if let progress = latest.next(after: &version) ?? nil { return progress }
                guard !latest.isOver, !Task.isCancelled else { return nil }
                await latest.wait(for: version)
            }
        }
    }
}

/// An upload of an attachment to the relay. The upload continues after the release of this handle.
public final class AttachmentUpload: Sendable {
    let core: TransferCore

    init(_ core: TransferCore) {
        self.core = core
    }

    /// The progress, from the current value on.
    public var progress: TransferProgressUpdates { TransferProgressUpdates(latest: core.progress) }

    /// Ends the upload. The relay discards the stored bytes, unless the attachment is complete. ``value()`` throws
    /// `CancellationError`.
    public func cancel() { core.cancel() }

    /// Waits for the end of the upload. The cancellation of the calling task ends only the wait.
    ///
    /// - Returns: The attachment, for a message in the same room: ``OutgoingMessage``.
    /// - Throws: `attachmentRefused` with the code of the relay, `attachmentsUnsupported`, `attachmentDamaged` if the
    ///   file has changed meanwhile, `fileFailed`, `tooManyTransfers`, `roomClosed`, `stopped`; `CancellationError`.
    nonisolated(nonsending) public func value() async throws -> Attachment {
        guard let attachment = try await core.value() else { throw MartletError.stopped }
        return attachment
    }
}

/// A download of an attachment from the relay. The download continues after the release of this handle.
public final class AttachmentDownload: Sendable {
    let core: TransferCore

    init(_ core: TransferCore) {
        self.core = core
    }

    /// The progress, from the current value on.
    public var progress: TransferProgressUpdates { TransferProgressUpdates(latest: core.progress) }

    /// Ends the download. The file with the bytes so far remains, and a later download of the whole attachment
    /// continues it. ``value()`` throws `CancellationError`.
    public func cancel() { core.cancel() }

    /// Waits for the end of the download. The cancellation of the calling task ends only the wait.
    ///
    /// - Throws: `attachmentRefused` with the code of the relay, `unknownAttachment` if it has expired;
    ///   `attachmentDamaged` if the bytes do not have the digest; `invalidContent` if the range is not within the
    ///   attachment, or its bytes are at a `location` and not at the relay; `attachmentsUnsupported`, `fileFailed`,
    ///   `tooManyTransfers`, `roomClosed`, `stopped`; `CancellationError`.
    nonisolated(nonsending) public func value() async throws { _ = try await core.value() }
}
