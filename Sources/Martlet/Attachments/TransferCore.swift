import MartletLink
import MartletTransport
import MartletWire

/// A transfer that the application, the thread for files and the client's loop share.
///
/// | state | owned by | ends |
/// |---|---|---|
/// | preparing: the file is opened, and its bytes are read for the digest | the thread for files | ready: it is posted to the loop; the end |
/// | running: the engine has a transfer | the loop | `TransferEvent.finished`, `failed`; the client stops |
/// | concluding: a downloaded file is verified, synced and renamed | the thread for files | the end |
/// | over | nobody | |
final class TransferCore: Sendable {
    private struct State {
        var outcome: Result<Attachment?, any Error>?
        var isCancelled = false
    }

    let room: RoomCore
    let files: FileThread
    let work: any TransferWork
    /// The progress; nil until the transferred bytes are known.
    let progress: Latest<TransferProgress?>
    private let state = Guarded(State())
    /// Called once at the end; nil for a transfer of the application, which ends with the client.
    private let onEnd: (@Sendable (TransferCore, Result<Attachment?, any Error>) -> Void)?

    init(
        _ work: any TransferWork, in room: RoomCore, progress: Latest<TransferProgress?> = Latest(nil),
        onEnd: (@Sendable (TransferCore, Result<Attachment?, any Error>) -> Void)? = nil
    ) {
        self.room = room
        self.work = work
        self.progress = progress
        self.onEnd = onEnd
        files = room.mailbox.files
    }

    /// Whether a message waits for the upload, which goes on while the client stops and its messages are sent.
    var isOfMessage: Bool { onEnd != nil }
    var isOver: Bool { state.withLock { $0.outcome != nil } }
    var isCancelled: Bool { state.withLock { $0.isCancelled } }

    /// Begins to prepare the transfer.
    func start() {
        files.execute { [self] in prepare() }
    }

    /// Prepares in steps, between the jobs of other transfers.
    private func prepare() {
        if isCancelled { return end(.failure(CancellationError())) }
        do {
            guard try work.prepareStep() else { return files.execute { [self] in prepare() } }
            guard room.mailbox.post(.transfer(self)) == .posted else { throw MartletError.stopped }
        } catch {
            end(.failure(error))
        }
    }

    func note(_ change: (inout TransferProgress) -> Void) {
        var value = progress.value ?? TransferProgress(byteCount: 0, totalByteCount: work.totalByteCount)
        change(&value)
        progress.set(value)
    }

    func cancel() {
        let isFirst = state.withLock { state -> Bool in
            defer { state.isCancelled = true }
            return !state.isCancelled && state.outcome == nil
        }
        if isFirst { room.mailbox.post(.cancelTransfer(self)) }
    }

    func end(_ outcome: Result<Attachment?, any Error>) {
        let isFirst = state.withLock { state -> Bool in
            guard state.outcome == nil else { return false }
            state.outcome = outcome
            return true
        }
        guard isFirst else { return }
        if let onEnd { onEnd(self, outcome) } else { progress.finish() }
    }

    nonisolated(nonsending) func value() async throws -> Attachment? {
        var version: UInt64 = 0
        while true {
            if let outcome = state.withLock({ $0.outcome }) { return try outcome.get() }
            try Task.checkCancellation()
            _ = progress.next(after: &version)
            if !progress.isOver { await progress.wait(for: version) }
        }
    }
}

/// The side of a transfer that reads or writes the bytes, on the thread for files.
protocol TransferWork: AnyObject, Sendable {
    /// The number of bytes to transfer; nil while it is unknown.
    var totalByteCount: UInt64? { get }
    /// The work for the engine, when the transfer is prepared.
    var kind: TransferKind { get }
    /// Prepares a part of the transfer. Returns whether it is prepared.
    func prepareStep() throws -> Bool
    /// Bytes to upload.
    func read(_ byteCount: Int, at position: UInt64) throws -> [UInt8]
    /// Bytes that were downloaded, in order.
    func write(_ bytes: [UInt8], at position: UInt64) throws
    /// Verifies and completes a transfer whose bytes are all transferred. Returns `restart` if the transfer must begin
    /// again.
    func conclude() throws -> TransferConclusion
}

/// The end of a transfer.
enum TransferConclusion {
    case done(Attachment?)
    /// The bytes of an earlier process are not those of the attachment. They are discarded, and the download begins
    /// again.
    case restart
}
