import Martlet
import MartletTransport

/// Lines between who receives and who writes them: whatever came during one write goes out in the next.
///
/// One side adds and waits while the buffer is full; the other takes all there is and waits while there is nothing.
final class LineBuffer: Sendable {
    /// What is to be written together.
    struct Batch: Equatable, Sendable {
        var bytes: [UInt8] = []
        /// The place of the last message in it; `nil` when there is none.
        var cursor: RoomCursor?
    }

    /// How many bytes may wait to be written.
    static let maxByteCount = 1 << 20

    private struct State {
        var batch = Batch()
        var isFinished = false
        var reader: CheckedContinuation<Void, Never>?
        var writer: CheckedContinuation<Void, Never>?
    }

    private let state = Guarded(State())

    /// Adds what belongs to the message at `cursor`; returns when there is room for more.
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

    /// Nothing more comes.
    func finish() {
        let wakers = state.withLock { state in
            defer { (state.reader, state.writer) = (nil, nil) }
            state.isFinished = true
            return [state.reader, state.writer]
        }
        for waker in wakers { waker?.resume() }
    }

    /// All that waits; `nil` at the end.
    func take() async -> Batch? {
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
