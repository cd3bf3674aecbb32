import Martlet
import MartletToolSupport
import MartletTransport
import MartletWire

/// The reception and output of a room's messages, until a condition of the command ends it.
///
/// Receiving and writing run concurrently, with a ``LineBuffer`` between them. All received messages are written before
/// the method returns or throws.
struct Listening: Sendable {
    /// The start of the messages.
    var begin: StartingPoint
    /// The number of messages after which it ends; nil for no maximum.
    var count: Int?
    /// The duration online without a message after which it ends; nil for no maximum.
    var idleTime: Duration?
    /// Whether the end of standard input ends it.
    var endsWithInput = false
    /// Whether messages are written as JSON.
    var isJSON = false

    /// Receives and writes messages. Messages received before an error are written.
    func run(_ client: Client, _ room: String, _ output: LineOutput, _ monitor: TransferMonitor) async throws {
        let buffer = LineBuffer()
        let messages = MessageCount()
        let room = try await client.open(room: room, options: Room.Options(from: begin.from))
        let refusing = room.refusingRequests()
        defer { refusing.cancel() }
        try await withThrowingTaskGroup(of: Void.self) { group in
            group.addTask { try await receive(room, buffer, messages, monitor) }
            group.addTask { try await write(buffer, output) }
            if let idleTime { group.addTask { try await waitForIdle(client, idleTime, messages, buffer) } }
            if endsWithInput { group.addTask { try await waitForEndOfInput() } }
            // The first task that ends cancels the others. The writer still writes the buffered messages.
            var failure: (any Error)?
            var isFirst = true
            while let result = await group.nextResult() {
                if case .failure(let error) = result, isFirst || !(error is CancellationError) {
                    failure = failure ?? error
                }
                isFirst = false
                group.cancelAll()
            }
            if let failure { throw failure }
        }
    }

    private func receive(
        _ room: Room, _ buffer: LineBuffer, _ messages: MessageCount, _ monitor: TransferMonitor
    ) async throws {
        defer { buffer.finish() }
        let isTerminal = Terminal.isTerminal(STDOUT_FILENO)
        var received = 0
        // The log to which the offsets of a gap belong. An item reports each new log.
        var log = room.log
        for try await item in room.items {
            switch item {
            case .message(let message):
                messages.add()
                let bytes =
                    isJSON
                    ? ReceivedLine.json(message, receivedAt: EventLoop.wallClock)
                    : ReceivedLine.text(message, isTerminal: isTerminal)
                log = message.cursor.log
                await buffer.add(bytes, at: message.cursor)
                received += 1
                monitor.count { $0.received += 1 }
            case .gap(let gap):
                monitor.count { $0.missed = $0.missed.addingSaturating(gap.offsetCount) }
                Output.report("martlet: messages \(gap.lowerBound) to \(gap.upperBound) are no longer kept")
                await buffer.add(
                    isJSON ? ReceivedLine.json(gap: gap) : [], at: RoomCursor(log: log, offset: gap.upperBound))
            case .logReplaced(let previous, let current):
                log = current.log
                if current.offset < previous.offset {
                    Output.report("martlet: \(note(replaced: previous, current, in: room, monitor))")
                }
                await buffer.add([], at: current)
            }
            if let count, received >= count { return }
        }
        try Task.checkCancellation()
    }

    /// Returns the message about a replaced cursor, and counts a lost log.
    private func note(
        replaced previous: RoomCursor, _ current: RoomCursor, in room: Room, _ monitor: TransferMonitor
    ) -> String {
        if begin.isBeyondEnd(replaced: previous) {
            return "room \(SafeText.line(room.name.text)) has \(current.offset) messages; --from \(previous.offset) is "
                + "beyond the last one, and new messages follow"
        }
        monitor.count { $0.replacedLogs += 1 }
        return
            "the relay has lost the messages \(current.offset.addingSaturating(1)) to \(previous.offset) of the room, "
            + "and assigns these numbers again; its later messages follow"
    }

    private func write(_ buffer: LineBuffer, _ output: LineOutput) async throws {
        // Without the writer no task would wait for free space in the buffer.
        defer { buffer.finish() }
        var output = output
        while let batch = await buffer.take() {
            if let cursor = batch.cursor { try output.write(batch.bytes, upTo: cursor) }
        }
    }

    private func waitForIdle(
        _ client: Client, _ limit: Duration, _ messages: MessageCount, _ buffer: LineBuffer
    ) async throws {
        let state = Guarded((timer: IdleTimer(limit: limit), last: ContinuousClock.now))
        let check: @Sendable (Bool) -> Duration = { isOnline in
            state.withLock { state in
                let now = ContinuousClock.now
                state.timer.update(
                    isOnline: isOnline, isBlocked: !buffer.isEmpty, elapsed: state.last.duration(to: now),
                    messageCount: messages.value)
                state.last = now
                return state.timer.remaining
            }
        }
        // Connections that are shorter than the interval of the checks count too.
        let watch = Task { for await status in client.status { _ = check(status.isOnline) } }
        defer { watch.cancel() }
        while true {
            let remaining = check(client.currentStatus.isOnline)
            if remaining == .zero { return }
            try await Task.sleep(for: min(remaining, .milliseconds(100)))
        }
    }

    private func waitForEndOfInput() async throws {
        let input = StandardInput()
        while try await !input.next().isEmpty {}
    }
}

/// The number of received messages.
private final class MessageCount: Sendable {
    private let count = Guarded(0)

    func add() { count.withLock { $0 += 1 } }

    var value: Int { count.withLock { $0 } }
}

/// A timer of the duration with a connection and without messages. The caller supplies the time, and checks the timer
/// at each change of the connection.
///
/// | at a check | duration |
/// |---|---|
/// | more messages than at the previous check, or lines that are not written | is reset to zero |
/// | online at the previous check | grows by the time between the two |
/// | otherwise | is not changed |
struct IdleTimer {
    private let limit: Duration
    private var silence = Duration.zero
    private var wasOnline = false
    private var messageCount = 0

    /// Creates a timer that expires after `limit`.
    init(limit: Duration) {
        self.limit = limit
    }

    /// The remaining duration; zero if the timer has expired.
    var remaining: Duration { max(limit - silence, .zero) }

    /// Updates the timer.
    ///
    /// - Parameters:
    ///   - isOnline: Whether there is a connection.
    ///   - isBlocked: Whether lines wait for the reader of the output, so that no message can be received.
    ///   - elapsed: The time since the previous check.
    ///   - messageCount: The number of messages so far.
    mutating func update(isOnline: Bool, isBlocked: Bool = false, elapsed: Duration, messageCount: Int) {
        if isBlocked || messageCount != self.messageCount {
            silence = .zero
        } else if wasOnline {
            silence += elapsed
        }
        wasOnline = isOnline
        self.messageCount = messageCount
    }
}

/// The start of a listener in the log, and the meaning of a replaced cursor.
///
/// | start | replaced cursor | meaning |
/// |---|---|---|
/// | at a stored cursor | at any time | the relay has lost the log |
/// | at an offset of the user | equals that offset, without a log | the offset is beyond the last message |
/// | at an offset of the user | belongs to a log | the relay has lost the log |
struct StartingPoint: Equatable, Sendable {
    /// The start of the messages.
    let from: Room.Options.From
    /// The offset that the user gave; nil if there is none.
    private let givenOffset: UInt64?

    /// Creates the start of a command: the stored cursor if there is one, otherwise the choice of the user.
    init(_ begin: ListenCommand.Begin, kept: RoomCursor? = nil) {
        if let kept {
            from = .cursor(kept)
            givenOffset = nil
            return
        }
        switch begin {
        case .start:
            from = .start
            givenOffset = nil
        case .latest:
            from = .latest(count: 0)
            givenOffset = nil
        case .cursor(let offset):
            from = .cursor(RoomCursor(offset: offset))
            givenOffset = offset
        }
    }

    /// Returns whether a replaced cursor is the offset of the user, which no log has reached.
    func isBeyondEnd(replaced previous: RoomCursor) -> Bool {
        givenOffset != nil && previous.log == nil && previous.offset == givenOffset
    }
}
