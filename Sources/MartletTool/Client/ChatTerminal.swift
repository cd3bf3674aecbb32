import Foundation
import Martlet

/// A chat on a terminal in raw mode: keys, events, a new size and time come in one after the other.
enum ChatTerminal {
    private enum Input: Sendable {
        case bytes([UInt8])
        case event(ChatModel.Event)
        case resized
        case time
        case over((any Error)?)
    }

    /// Runs until the user leaves or the room is over; the terminal is as before afterwards.
    static func run(_ client: Client, _ room: Room) async throws -> ExitCode {
        guard let mode = RawMode(STDIN_FILENO) else { throw CommandError(.inputOutput, "this is no terminal") }
        try Output.write(Array(ScreenPainter.begin.utf8), to: STDOUT_FILENO)
        defer {
            try? Output.write(Array(ScreenPainter.end.utf8), to: STDOUT_FILENO)
            mode.restore()
        }
        let (inputs, input) = AsyncStream.makeStream(of: Input.self)
        let session = ChatSession(client: client, room: room) { input.yield(.event($0)) }
        let (lines, line) = AsyncStream.makeStream(of: (key: Int, text: String).self)
        let sources = [
            Task { await session.say(lines) },
            Task {
                do {
                    try await session.run()
                    input.yield(.over(nil))
                } catch { input.yield(.over(error)) }
            },
            Task {
                let keyboard = StandardInput()
                while let bytes = try? await keyboard.next(), !bytes.isEmpty { input.yield(.bytes(bytes)) }
                input.yield(.over(nil))
            },
            Task { for await _ in Interruptions.stream(of: [SIGWINCH]) { input.yield(.resized) } },
            Task { for await _ in Interruptions.stream(of: [SIGINT, SIGTERM, SIGHUP]) { input.yield(.over(nil)) } },
        ]
        defer { for source in sources { source.cancel() } }
        return try await interact(session, inputs, input, line)
    }

    private static func interact(
        _ session: ChatSession, _ inputs: AsyncStream<Input>, _ input: AsyncStream<Input>.Continuation,
        _ line: AsyncStream<(key: Int, text: String)>.Continuation
    ) async throws -> ExitCode {
        var chat = ChatController(
            ChatModel(room: session.room.name, account: session.client.account.text),
            size: Terminal.size(of: STDOUT_FILENO))
        var painter = ScreenPainter()
        var decoder = KeyDecoder()
        let begin = ContinuousClock.now
        var timer: Task<Void, Never>?
        defer { timer?.cancel() }
        try paint(chat, &painter)
        for await next in inputs {
            let now = begin.duration(to: .now)
            var actions: [ChatController.Action] = []
            switch next {
            case .bytes(let bytes):
                let clock = ClockText.minutes(UInt64(Date().timeIntervalSince1970 * 1000))
                for key in decoder.decode(bytes) { actions += chat.press(key, clock: clock, now: now) }
            case .event(let event): chat.apply(event)
            case .resized:
                painter.forget()
                chat.resize(to: Terminal.size(of: STDOUT_FILENO))
            case .time: actions = chat.timePassed(now: now)
            case .over(let error):
                if let error { throw error }
                return .success
            }
            for action in actions {
                switch action {
                case .say(let key, let text): line.yield((key, text))
                case .typing(let isTyping): session.room.setTyping(isTyping)
                case .retry: session.client.retryNow()
                case .quit: return .success
                }
            }
            timer?.cancel()
            timer = chat.deadline.map { deadline in
                Task {
                    try? await Task.sleep(for: deadline - now)
                    if !Task.isCancelled { input.yield(.time) }
                }
            }
            try paint(chat, &painter)
        }
        return .success
    }

    private static func paint(_ chat: ChatController, _ painter: inout ScreenPainter) throws(CommandError) {
        try Output.write(Array(painter.paint(chat.image).utf8), to: STDOUT_FILENO)
    }
}
