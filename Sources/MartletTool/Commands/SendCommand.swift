import Martlet
import MartletSQLite
import MartletToolSupport
import MartletTransport

/// `martlet send`: sends lines as messages.
enum SendCommand {
    private static let file = Option.text(
        "file", "PATH", help: "send the file PATH as an attachment, in place of standard input"
    ).acceptingAnyBytes
    private static let mediaType = Option.text(
        "media-type", "TYPE", help: "with --file: its media type, such as image/jpeg")
    private static let json = Option.flag("json", help: "print a summary as a JSON object at the end")
    private static let outcomes = Option.flag(
        "outcomes", help: "write the outcome of each line as one JSON object in a line")

    static let spec = CommandSpec(
        name: "send",
        summary: "Send each line of standard input as a message.",
        options: ClientOptions.specs + [
            ClientOptions.outbox.spec, ClientOptions.timeout.spec, ProgressStyle.option.spec, json.spec, outcomes.spec,
            file.spec, mediaType.spec,
        ] + ReferringMessage.specs,
        notes: [
            """
            'martlet listen' receives the bytes of each line unchanged. The command ends when the relay has accepted \
            every line exactly once, after any number of reconnections. A terminal shows the progress.
            """,
            """
            With --file the relay keeps the file for the members of the room, and a message refers to it; 'martlet \
            fetch' downloads it. The next command with the same file continues an upload that was interrupted, and \
            does not send stored bytes again.
            """,
            """
            With --edit, --delete, --react and --reply one message is sent that refers to the message with the offset, \
            which 'martlet history' shows. The text is that of --text, or all of standard input without its last \
            newline.
            """,
            """
            With --outbox lines are read even without a connection. The next command with FILE first sends the lines \
            that an interrupted command has read and the relay has not accepted.
            """,
            """
            With --outcomes each line of the input, and of FILE, has an object with its 'outcome', accepted or failed, \
            its device and counter, its text or data, the time when it was read as 'queuedAt', and the time of the \
            outcome, in milliseconds since 1970. An accepted one has its offset in the room, a failed one a reason.
            """,
        ],
        exitCodes: [
            ExitMeaning(.success, "every line, or the message with the file, was accepted"),
            ExitMeaning(
                .failure, "lines of this or an earlier command were refused, or the room has no message to refer to"),
            ExitMeaning(.dataError, "the text of a message that refers to another message is too long or not UTF-8"),
            ExitMeaning(.inputOutput, "reading failed"),
        ] + ClientOptions.exitCodes
    ) { arguments in try await Interruptions.cancel { try await run(arguments) } }

    /// Uploads a file, and sends a message that refers to it.
    private static func send(file path: String, _ arguments: ParsedArguments) async throws -> ExitCode {
        let type = arguments[mediaType]
        try await AttachmentTransfer.run(arguments, agent: "send") { room in
            let bytes = CommandLineProgram.path(path) ?? Array(path.utf8)
            let attachment = try await room.upload(fileWithPath: bytes, mediaType: type).value()
            _ = try await room.send(.attachment(attachment)).accepted()
        }
        return .success
    }

    /// Sends a message that refers to another message.
    private static func send(_ message: ReferringMessage, _ arguments: ParsedArguments) async throws -> ExitCode {
        do {
            let text = try await message.readText(arguments)
            try await RoomTask.run(arguments, agent: "send") { client, room in
                try await message.send(text: text, in: room, as: client.account)
            }
        } catch is CancellationError {
            throw CommandError(.interrupted, "interrupted")
        } catch let error as MartletError {
            throw CommandError(error)
        }
        return .success
    }

    private static func run(_ arguments: ParsedArguments) async throws -> ExitCode {
        var others: [String] = []
        if arguments[file] != nil { others.append("file") }
        if arguments[ClientOptions.outbox] != nil { others.append("outbox") }
        if arguments.has(outcomes) { others.append("outcomes") }
        if let message = try ReferringMessage(arguments, excluding: others) {
            return try await send(message, arguments)
        }
        if let path = arguments[file] { return try await send(file: path, arguments) }
        let outbox = ClientOptions.outbox(arguments)
        let earlier = outbox.map { EarlierMessages(path: $0.path) }
        let input = StandardInput()
        let monitor = TransferMonitor(
            arguments[ProgressStyle.option] ?? .auto, totalByteCount: input.fileByteCount)
        // The messages of an outbox are sent by the next command, so the end does not wait for them.
        let client = try ClientOptions.client(
            arguments, agent: "send", flushTimeout: outbox == nil ? nil : .zero, outbox: outbox, earlier: earlier,
            monitor: monitor)
        let isSummaryWanted = arguments.has(json)
        var failure: (any Error)?
        var report = TransferReport()
        do {
            try await withClient(client) { client in
                ClientOptions.reportRecovery(of: outbox)
                await EarlierMessages.reportFailures(in: outbox)
                do {
                    try await withThrowingTaskGroup(of: Void.self) { group in
                        group.addTask { try await monitor.watch(client, timeout: arguments[ClientOptions.timeout]) }
                        group.addTask { try await send(input, client, arguments, monitor) }
                        defer { group.cancelAll() }
                        try await group.next()
                    }
                } catch { failure = error }
                report = await monitor.finish(client)
            }
        } catch { failure = failure ?? error }
        if isSummaryWanted { try Output.print(report.json.text) }
        let code = try verdict(report, failure)
        return earlier?.exitCode(code) ?? code
    }

    private static func verdict(_ report: TransferReport, _ failure: (any Error)?) throws -> ExitCode {
        let standing = "\(report.accepted) of \(report.sent) lines accepted"
        switch failure {
        case nil: break
        case is CancellationError: throw CommandError(.interrupted, "interrupted; \(standing)")
        case let error as MartletError:
            let error = CommandError(error)
            throw CommandError(error.code, "\(error.message); \(standing)")
        case let error as CommandError: throw CommandError(error.code, "\(error.message); \(standing)")
        case let error?: throw error
        }
        if report.failed > 0 { throw CommandError(.failure, standing) }
        return .success
    }

    /// Queues every line and waits until each is accepted or refused.
    private static func send(
        _ input: StandardInput, _ client: Client, _ arguments: ParsedArguments, _ monitor: TransferMonitor
    ) async throws {
        let name = arguments[ClientOptions.room] ?? ""
        let earlier: [SentLine]
        let beginning: (Room, [UInt8])?
        if arguments[ClientOptions.outbox] == nil {
            earlier = []
            beginning = try await open(client, name, input)
        } else {
            let options = Room.Options(from: .latest(count: 0), waitsForRelay: false)
            let room = try await client.open(room: name, options: options)
            earlier = room.pending.map { SentLine(earlier: $0) }
            beginning = (room, try await input.next())
        }
        guard let (room, first) = beginning else { return }
        let (lines, queued) = AsyncStream.makeStream(of: SentLine.self)
        // Messages of others are consumed and discarded, so that they do not accumulate.
        let ignoring = Task { for try await _ in room.items {} }
        let refusing = room.refusingRequests()
        defer {
            ignoring.cancel()
            refusing.cancel()
        }
        async let reading: Void = queue(first, input, room, queued, monitor)
        let isOutcomeWanted = arguments.has(outcomes)
        for await line in lines {
            let outcome = try await line.outcome()
            monitor.count { outcome.add(line, to: &$0) }
            if isOutcomeWanted { try Output.print(line.json(outcome, at: EventLoop.wallClock).text) }
        }
        try await reading
        for line in earlier {
            let outcome = try await line.outcome()
            if isOutcomeWanted { try Output.print(line.json(outcome, at: EventLoop.wallClock).text) }
        }
    }

    private enum Beginning: Sendable {
        case opened(Room)
        case read([UInt8])
    }

    /// Opens the room and reads the first bytes concurrently. Returns nil if the input is empty, which requires no
    /// relay.
    private static func open(
        _ client: Client, _ name: String, _ input: StandardInput
    ) async throws -> (Room, [UInt8])? {
        try await withThrowingTaskGroup(of: Beginning.self) { group in
            group.addTask {
                .opened(try await client.open(room: name, options: Room.Options(from: .latest(count: 0))))
            }
            group.addTask { .read(try await input.next()) }
            defer { group.cancelAll() }
            var room: Room?
            var first: [UInt8]?
            while let next = try await group.next() {
                switch next {
                case .opened(let opened): room = opened
                case .read(let bytes):
                    if bytes.isEmpty { return nil }
                    first = bytes
                }
            }
            guard let room, let first else { return nil }
            return (room, first)
        }
    }

    private static func queue(
        _ first: [UInt8], _ input: StandardInput, _ room: Room,
        _ queued: AsyncStream<SentLine>.Continuation, _ monitor: TransferMonitor
    ) async throws {
        defer { queued.finish() }
        var splitter = LineSplitter(maxPieceByteCount: LineContent.maxPieceByteCount)
        var next: [UInt8]? = first
        while true {
            let bytes: [UInt8]
            if let first = next { bytes = first } else { bytes = try await input.next() }
            next = nil
            let pieces = bytes.isEmpty ? splitter.finish().map { [$0] } ?? [] : splitter.split(bytes)
            for piece in pieces {
                let content = LineContent(piece: piece)
                let message = try OutgoingMessage(kind: content.kind, content: content.encoded)
                let now = EventLoop.wallClock
                queued.yield(SentLine(try await room.send(message), content, byteCount: piece.count, queuedAt: now))
                monitor.count { $0.sent += 1 }
            }
            if bytes.isEmpty { return }
        }
    }
}
