import Martlet
import MartletToolSupport

/// A chat without a terminal: each line of input is sent, and each message is printed as a line, `sender: text`.
///
/// A line that begins with a slash is refused, because a user of the chat on a terminal would expect a command. Two
/// slashes stand for one. Literal lines are sent unchanged.
struct ChatPipe {
    /// What is done with a line of input.
    enum Line: Equatable {
        case send(LineContent)
        /// The line begins with a slash.
        case refuse
    }

    /// Whether lines that begin with a slash are sent unchanged.
    var isLiteral = false

    /// Runs until the input has ended and all lines are accepted, or the room has ended.
    func run(_ client: Client, _ room: Room, _ sentLines: SentLines, timeout: Duration?) async throws -> ExitCode {
        let session = ChatSession(client: client, room: room, sentLines: sentLines, show: Self.print)
        return try await withThrowingTaskGroup(of: ExitCode.self) { group in
            group.addTask {
                try await session.run()
                return .success
            }
            group.addTask {
                try await ConnectionWatch.run(client, timeout: timeout, report: ConnectionWatch.print)
                return .success
            }
            group.addTask { try await send(session) }
            defer { group.cancelAll() }
            return try await group.next() ?? .success
        }
    }

    /// Sends all lines. Returns a failure if a line was refused.
    private func send(_ session: ChatSession) async throws -> ExitCode {
        let (room, sentLines) = (session.room, session.sentLines)
        let input = StandardInput()
        var splitter = LineSplitter(maxPieceByteCount: LineContent.maxPieceByteCount)
        var last: MessageHandle?
        var (number, refusedCount) = (0, 0)
        while true {
            let bytes = try await input.next()
            let pieces = bytes.isEmpty ? splitter.finish().map { [$0] } ?? [] : splitter.split(bytes)
            for piece in pieces {
                number += 1
                guard case .send(let content) = line(of: piece) else {
                    refusedCount += 1
                    Output.report(
                        "martlet: line \(number) begins with a slash and was not sent; 'martlet room' performs "
                            + "operations, and '//' or --literal sends a slash")
                    continue
                }
                var text = String(decoding: piece, as: UTF8.self).drop(while: \.isNewline)
                while text.last?.isNewline == true { text.removeLast() }
                let line = sentLines.begin(String(text))
                let message = try OutgoingMessage(kind: content.kind, content: content.encoded)
                let sending = try await room.send(message)
                sentLines.setMessage(line, as: sending)
                session.record(sending, String(text))
                last = sending
            }
            if bytes.isEmpty { break }
        }
        _ = try await last?.accepted()
        // Lines of an earlier chat with the same outbox.
        for sending in room.pending { _ = try await sending.accepted() }
        return refusedCount == 0 ? .success : .failure
    }

    /// Returns what is done with a line of input.
    func line(of bytes: [UInt8]) -> Line {
        let slash = UInt8(ascii: "/")
        guard !isLiteral, bytes.first == slash else { return .send(Self.content(ofLine: bytes)) }
        return bytes.dropFirst().first == slash ? .send(Self.content(ofLine: Array(bytes.dropFirst()))) : .refuse
    }

    /// Returns the content for a line of input: its text without the newline. Empty lines and lines that are no UTF-8
    /// are sent as bytes, as by `martlet send`.
    static func content(ofLine line: [UInt8]) -> LineContent {
        var text = line[...]
        if text.last == UInt8(ascii: "\n") {
            text.removeLast()
            if text.last == UInt8(ascii: "\r") { text.removeLast() }
        }
        guard !text.isEmpty, let text = String(validating: text, as: UTF8.self) else { return .bytes(line) }
        return .text(text)
    }

    /// Returns the line that is printed for a message.
    static func line(sender: AccountName, label: String? = nil, text: String) -> String {
        "\(EscapedText.name(sender.text)): \(MessageParts(label: label, text: text).line)"
    }

    private static func print(_ event: ChatModel.Event) {
        let isTerminal = Terminal.isTerminal(STDOUT_FILENO)
        switch event {
        case .received(let sender, let label, let text, _, _):
            let line = line(sender: sender, label: label, text: text)
            try? Output.print(isTerminal ? SafeText.line(line) : line)
        case .notice(let text): Output.report(SafeText.line(text))
        case .wrote, .queued, .deleted, .marked, .members, .presence, .typing, .connection: break
        }
    }
}
