import Foundation
import Martlet
import MartletToolSupport

/// A chat without a terminal: each line of input is sent, and each message is printed as a line, `sender: text`.
enum ChatPipe {
    /// Runs until the input has ended and all lines are accepted, or the room has ended.
    static func run(
        _ client: Client, _ room: Room, _ sentLines: SentLines, timeout: Duration?
    ) async throws -> ExitCode {
        let session = ChatSession(client: client, room: room, sentLines: sentLines, show: print)
        return try await withThrowingTaskGroup(of: Void.self) { group in
            group.addTask { try await session.run() }
            group.addTask { try await ConnectionWatch.run(client, timeout: timeout, report: ConnectionWatch.print) }
            group.addTask { try await send(session) }
            defer { group.cancelAll() }
            try await group.next()
            return .success
        }
    }

    private static func send(_ session: ChatSession) async throws {
        let (room, sentLines) = (session.room, session.sentLines)
        let input = StandardInput()
        var splitter = LineSplitter(maxPieceByteCount: LineContent.maxPieceByteCount)
        var last: MessageHandle?
        while true {
            let bytes = try await input.next()
            let pieces = bytes.isEmpty ? splitter.finish().map { [$0] } ?? [] : splitter.split(bytes)
            for piece in pieces {
                let content = content(ofLine: piece)
                let text = String(decoding: piece, as: UTF8.self).trimmingCharacters(in: .newlines)
                let number = sentLines.begin(text)
                let message = try OutgoingMessage(kind: content.kind, content: content.encoded)
                let sending = try await room.send(message)
                sentLines.setMessage(number, as: sending)
                session.record(sending, text)
                last = sending
            }
            if bytes.isEmpty { break }
        }
        _ = try await last?.accepted()
        // Lines of an earlier chat with the same outbox.
        for sending in room.pending { _ = try await sending.accepted() }
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
