import Martlet
import MartletToolSupport

/// A chat on a terminal in raw mode, which processes keys, events, changes of size, signals and time in sequence.
enum ChatTerminal {
    private enum Input: Sendable {
        case bytes([UInt8])
        case event(ChatModel.Event)
        case resized
        case suspended, continued
        case time
        case over(Ending)
    }

    private enum Ending: Sendable {
        case left
        case signal(Int32)
        case failed(any Error)
    }

    /// The maximum duration until the last text is queued.
    private static let queueTimeout = Duration.seconds(1)

    /// Runs until the user ends the chat or the room has ended, then restores the terminal.
    static func run(
        _ client: Client, _ room: Room, _ sentLines: SentLines, timeout: Duration?
    ) async throws -> ExitCode {
        guard var screen = try FullScreen(showsColors: Terminal.showsColors) else {
            throw CommandError(.inputOutput, "this is no terminal")
        }
        defer { screen.leave() }
        let (inputs, input) = AsyncStream.makeStream(of: Input.self)
        let session = ChatSession(client: client, room: room, sentLines: sentLines) { input.yield(.event($0)) }
        let (lines, line) = AsyncStream.makeStream(of: (key: Int, text: String).self)
        let sender = Task { await session.send(lines) }
        let sources =
            [
                Task {
                    do {
                        try await session.run()
                        input.yield(.over(.left))
                    } catch { input.yield(.over(.failed(error))) }
                },
                Task {
                    do { try await ConnectionWatch.run(client, timeout: timeout, report: { _ in }) } catch {
                        input.yield(.over(.failed(error)))
                    }
                },
                Task {
                    let keyboard = StandardInput()
                    while let bytes = try? await keyboard.next(), !bytes.isEmpty { input.yield(.bytes(bytes)) }
                    input.yield(.over(.left))
                },
            ] + signals(to: input)
        defer { for source in sources { source.cancel() } }
        let code = try await interact(session, inputs, input, line, &screen)
        line.finish()
        await waitForQueue(sender)
        return code
    }

    private static func signals(to input: AsyncStream<Input>.Continuation) -> [Task<Void, Never>] {
        let table: [(Int32, @Sendable (Int32) -> Input)] = [
            (SIGWINCH, { _ in .resized }), (SIGTSTP, { _ in .suspended }), (SIGCONT, { _ in .continued }),
            (SIGINT, { .over(.signal($0)) }), (SIGTERM, { .over(.signal($0)) }), (SIGHUP, { .over(.signal($0)) }),
        ]
        return table.map { number, event in
            let stream = Interruptions.stream(of: [number])
            return Task { for await signal in stream { input.yield(event(signal.number)) } }
        }
    }

    /// Waits until the last texts are queued. The client sends them during its shutdown.
    private static func waitForQueue(_ sender: Task<Void, Never>) async {
        await withTaskGroup(of: Void.self) { group in
            group.addTask { await sender.value }
            group.addTask { try? await Task.sleep(for: queueTimeout) }
            await group.next()
            sender.cancel()
            group.cancelAll()
        }
    }

    private static func interact(
        _ session: ChatSession, _ inputs: AsyncStream<Input>, _ input: AsyncStream<Input>.Continuation,
        _ line: AsyncStream<(key: Int, text: String)>.Continuation, _ screen: inout FullScreen
    ) async throws -> ExitCode {
        var chat = ChatController(
            ChatModel(room: session.room.name, account: session.client.account),
            size: Terminal.size(of: STDOUT_FILENO))
        var decoder = KeyDecoder()
        let begin = ContinuousClock.now
        var timer: Task<Void, Never>?
        defer { timer?.cancel() }
        try screen.paint(chat.image)
        for await next in inputs {
            let now = begin.duration(to: .now)
            var actions: [ChatController.Action] = []
            switch next {
            case .bytes(let bytes):
                let clock = ClockText.minutes(EventLoop.wallClock)
                for key in decoder.decode(bytes) { actions += chat.press(key, clock: clock, now: now) }
            case .event(let event): chat.apply(event)
            case .suspended: actions = [.suspend]
            case .continued:
                try screen.resume()
                chat.resize(to: Terminal.size(of: STDOUT_FILENO))
            case .resized:
                screen.resized()
                chat.resize(to: Terminal.size(of: STDOUT_FILENO))
            case .time: actions = chat.timePassed(now: now)
            case .over(.failed(let error)): throw error
            case .over(.signal(let number)): return Interruptions.exitCode(for: number)
            case .over(.left): return .success
            }
            for action in actions {
                switch action {
                case .send(let key, let text): line.yield((key, text))
                case .typing(let isTyping): session.room.setTyping(isTyping)
                case .retry: session.client.retryNow()
                case .operate(let operation): Task { await session.perform(operation) }
                case .suspend: screen.suspend()
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
            try screen.paint(chat.image)
        }
        return .success
    }
}
