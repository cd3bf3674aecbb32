/// The progress of a transfer of an attachment.
public struct TransferProgress: Sendable, Hashable {
    /// The bytes that are transferred: of an upload those that the relay has stored durably, of a download those that
    /// were written. A transfer that is continued begins above 0. The number falls if the other side has lost bytes.
    public internal(set) var byteCount: UInt64
    /// The bytes to transfer; of an upload of a file nil until the file was opened.
    public internal(set) var totalByteCount: UInt64?
}

/// An asynchronous sequence of the progress of a transfer. An iterator returns the latest value and may omit earlier
/// ones. It begins with the present value, and ends with the transfer.
public struct TransferProgressUpdates: AsyncSequence, Sendable {
    /// The progress of the transfer.
    public typealias Element = TransferProgress
    /// The sequence throws no errors.
    public typealias Failure = Never

    let latest: Latest<TransferProgress>

    /// Creates an iterator whose first element is the present progress.
    public func makeAsyncIterator() -> AsyncIterator { AsyncIterator(latest: latest) }

    /// An iterator that returns each value at most once.
    public struct AsyncIterator: AsyncIteratorProtocol {
        let latest: Latest<TransferProgress>
        private var version: UInt64 = 0

        init(latest: Latest<TransferProgress>) {
            self.latest = latest
        }

        /// Waits for progress that this iterator has not returned; nil if the transfer has ended or the task is
        /// cancelled.
        public mutating func next() async -> TransferProgress? { await next(isolation: nil) }

        /// Waits for progress that this iterator has not returned; nil if the transfer has ended or the task is
        /// cancelled.
        public mutating func next(isolation actor: isolated (any Actor)?) async -> TransferProgress? {
            while true {
                if let progress = latest.next(after: &version) { return progress }
                guard !latest.isOver, !Task.isCancelled else { return nil }
                await latest.wait(for: version)
            }
        }
    }
}

/// An upload of an attachment to the relay. It goes on when the handle is released.
public final class AttachmentUpload: Sendable {
    let core: TransferCore

    init(_ core: TransferCore) {
        self.core = core
    }

    /// The progress, from the present value on.
    public var progress: TransferProgressUpdates { TransferProgressUpdates(latest: core.progress) }

    /// Ends the upload and discards the bytes that the relay has stored, unless it has all of them. ``value()`` throws
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

/// A download of an attachment from the relay. It goes on when the handle is released.
public final class AttachmentDownload: Sendable {
    let core: TransferCore

    init(_ core: TransferCore) {
        self.core = core
    }

    /// The progress, from the present value on.
    public var progress: TransferProgressUpdates { TransferProgressUpdates(latest: core.progress) }

    /// Ends the download. The file with the bytes so far remains, and a later download continues it. ``value()`` throws
    /// `CancellationError`.
    public func cancel() { core.cancel() }

    /// Waits for the end of the download. The cancellation of the calling task ends only the wait.
    ///
    /// - Throws: `attachmentRefused` with the code of the relay, `unknownAttachment` if it has expired;
    ///   `attachmentDamaged` if the bytes do not have the digest; `invalidContent` if the range is not within the
    ///   attachment, or its bytes are at a `location` and not at the relay; `attachmentsUnsupported`, `fileFailed`,
    ///   `tooManyTransfers`, `roomClosed`, `stopped`; `CancellationError`.
    nonisolated(nonsending) public func value() async throws { _ = try await core.value() }
}
