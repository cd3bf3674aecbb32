/// Lines for a log, written by a task of their own: whoever adds one never waits for who reads them.
///
/// When the reader is too slow the oldest lines that nobody has seen are dropped.
final class LineLog: Sendable {
    /// Lines that may wait to be written.
    static let maxWaitingCount = 4_096

    private let lines: AsyncStream<String>.Continuation
    private let writer: Task<Void, Never>

    /// A log that is written to a file descriptor.
    init(to descriptor: Int32) {
        let (stream, lines) = AsyncStream.makeStream(
            of: String.self, bufferingPolicy: .bufferingNewest(Self.maxWaitingCount))
        self.lines = lines
        writer = Task {
            for await line in stream { try? Output.write(Array((line + "\n").utf8), to: descriptor) }
        }
    }

    /// Adds a line, without its end.
    func add(_ line: String) { lines.yield(line) }

    /// Returns when all lines are written.
    func finish() async {
        lines.finish()
        await writer.value
    }
}
