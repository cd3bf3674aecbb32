import Martlet
import MartletToolSupport
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

/// The output of a listener: each batch is written completely, then the cursor. Lines in a file are durable before the
/// cursor.
struct LineOutput {
    private let descriptor: Int32
    private let cursorFile: CursorFile?
    private var tail = WrittenTail([])

    /// Creates an output to a descriptor. With a cursor file, bytes that a previous run wrote after its cursor are not
    /// repeated.
    init(to descriptor: Int32, cursorFile: CursorFile?) {
        self.descriptor = descriptor
        self.cursorFile = cursorFile
        guard let recorded = cursorFile?.cursor?.place, let place = Self.place(of: descriptor),
            recorded.device == place.device,
            recorded.file == place.file, recorded.byteCount < place.byteCount
        else { return }
        tail = WrittenTail(Self.read(descriptor, from: recorded.byteCount, to: place.byteCount))
    }

    /// Writes lines up to the message at `cursor`, and then the cursor.
    mutating func write(_ bytes: [UInt8], upTo cursor: RoomCursor) throws(CommandError) {
        try Output.write(Array(tail.remove(from: bytes)), to: descriptor)
        guard let cursorFile else { return }
        let place = Self.place(of: descriptor)
        if place != nil, fsync(descriptor) != 0 {
            throw CommandError(.inputOutput, "cannot write: \(unsafe String(cString: strerror(errno)))")
        }
        try cursorFile.write(cursor, place: place)
    }

    /// Returns the end of the descriptor's file; nil if it is not a file.
    static func place(of descriptor: Int32) -> Cursor.Place? {
        var status = stat()
        guard unsafe fstat(descriptor, &status) == 0, status.st_mode & S_IFMT == S_IFREG else { return nil }
        return Cursor.Place(
            device: UInt64(status.st_dev), file: UInt64(status.st_ino), byteCount: UInt64(max(status.st_size, 0)))
    }

    /// Returns bytes of the file, which is opened again because the descriptor is write-only; none if it cannot be
    /// read.
    private static func read(_ descriptor: Int32, from start: UInt64, to end: UInt64) -> [UInt8] {
        let file = Descriptors.open("/dev/fd/\(descriptor)", O_RDONLY)
        guard file >= 0 else { return [] }
        defer { close(file) }
        guard lseek(file, off_t(start), SEEK_SET) >= 0 else { return [] }
        return Descriptors.read(file, atMost: Int(clamping: end - start)) ?? []
    }
}
