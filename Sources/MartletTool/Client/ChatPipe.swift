import Foundation
import Martlet
import MartletToolSupport

/// A chat without a terminal: each line of input is sent, and each message is printed as a line, `sender: text`.
enum ChatPipe {
    /// Runs until the input has ended and all lines are accepted, or the room has ended.
    static func run(
        _ client: Client, _ room: Room, _ sentLines: SentLines, timeout: Duration?
    ) async throws -> ExitCode {
        try await withThrowingTaskGroup(of: Void.self) { group in
            group.addTask { try await ChatSession(client: client, room: room, sentLines: sentLines, show: print).run() }
            group.addTask { try await ConnectionWatch.run(client, timeout: timeout, report: ConnectionWatch.print) }
            group.addTask { try await send(to: room, sentLines) }
            defer { group.cancelAll() }
            try await group.next()
        }
        return .success
    }

    private static func send(to room: Room, _ sentLines: SentLines) async throws {
        let input = StandardInput()
        var splitter = LineSplitter(maxPieceByteCount: LineContent.maxPieceByteCount)
        var last: MessageHandle?
        while true {
            let bytes = try await input.next()
            let pieces = bytes.isEmpty ? splitter.finish().map { [$0] } ?? [] : splitter.split(bytes)
            for piece in pieces {
                let content = content(ofLine: piece)
                let number = sentLines.begin(String(decoding: piece, as: UTF8.self).trimmingCharacters(in: .newlines))
                let message = try OutgoingMessage(kind: content.kind, content: content.encoded)
                let sending = try await room.send(message)
                sentLines.setMessage(number, as: sending)
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
    static func line(sender: String, text: String) -> String {
        "\(EscapedText.name(sender)): \(EscapedText.line(text))"
    }

    private static func print(_ event: ChatModel.Event) {
        let isTerminal = Terminal.isTerminal(STDOUT_FILENO)
        switch event {
        case .received(let sender, let text, _):
            let line = line(sender: sender, text: text)
            try? Output.print(isTerminal ? SafeText.line(line) : line)
        case .notice(let text): Output.report(SafeText.line(text))
        case .wrote, .marked, .members, .presence, .typing, .connection: break
        }
    }
}
