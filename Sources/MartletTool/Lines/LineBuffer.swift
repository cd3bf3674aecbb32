import Martlet
import MartletTransport

/// A buffer of lines between a receiver and a writer. Lines that arrive during a write are the next batch.
///
/// The receiver waits while the buffer is full, the writer while it is empty.
final class LineBuffer: Sendable {
    /// Lines that are written together.
    struct Batch: Equatable, Sendable {
        var bytes: [UInt8] = []
        /// The cursor of the last message in the batch; nil if there is none.
        var cursor: RoomCursor?
    }

    /// The maximum number of buffered bytes.
    static let maxByteCount = 1 << 20

    private struct State {
        var batch = Batch()
        /// Whether the writer has taken a batch and not asked for the next one.
        var isWriting = false
        var isFinished = false
        var reader: CheckedContinuation<Void, Never>?
        var writer: CheckedContinuation<Void, Never>?
    }

    private let state = Guarded(State())

    /// Adds the lines of the message at `cursor`, and returns when there is free space.
    func add(_ bytes: [UInt8], at cursor: RoomCursor) async {
        let (waker, isFull) = state.withLock { state in
            state.batch.bytes += bytes
            state.batch.cursor = cursor
            let waker = state.reader
            state.reader = nil
            return (waker, state.batch.bytes.count >= Self.maxByteCount)
        }
        waker?.resume()
        if isFull { await waitForRoom() }
    }

    /// Ends the buffer. No lines follow.
    func finish() {
        let wakers = state.withLock { state in
            defer { (state.reader, state.writer) = (nil, nil) }
            state.isFinished = true
            return [state.reader, state.writer]
        }
        for waker in wakers { waker?.resume() }
    }

    /// Whether all lines are written.
    var isEmpty: Bool { state.withLock { $0.batch.cursor == nil && !$0.isWriting } }

    /// Returns all buffered lines; nil at the end. The lines of the previous batch are written.
    func take() async -> Batch? {
        state.withLock { $0.isWriting = false }
        await withCheckedContinuation { continuation in
            let isReady = state.withLock { state in
                if state.batch.cursor != nil || state.isFinished { return true }
                state.reader = continuation
                return false
            }
            if isReady { continuation.resume() }
        }
        let (batch, waker) = state.withLock { state in
            defer { (state.batch, state.writer) = (Batch(), nil) }
            state.isWriting = state.batch.cursor != nil
            return (state.batch, state.writer)
        }
        waker?.resume()
        return batch.cursor == nil ? nil : batch
    }

    private func waitForRoom() async {
        await withCheckedContinuation { continuation in
            let isReady = state.withLock { state in
                if state.batch.bytes.count < Self.maxByteCount || state.isFinished { return true }
                state.writer = continuation
                return false
            }
            if isReady { continuation.resume() }
        }
    }
}
