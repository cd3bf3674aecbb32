import MartletDecode
import MartletLink
import MartletToolSupport
import MartletTransport
import MartletWire

/// `martlet decode`: prints the frames of a capture or a stream.
enum DecodeCommand {
    /// The approximate number of bytes of a write.
    private static let outputByteCount = 64 << 10

    private static let format = Option.choice(
        "format", fallback: Decoder.Format.auto, help: "format of the input; auto determines it from the first bytes")
    private static let sender = Option<PeerRole>(
        "from", "client|server", expectation: "client or server",
        help: "sender of the bytes of one direction [determined by the frames]"
    ) { PeerRole(rawValue: $0) }
    private static let port = Option<UInt16>(
        "port", "PORT", shown: "\(Endpoint.defaultPort)", expectation: "a port, 1 to 65535",
        help: "TCP port whose connections are decoded without a check of their first bytes"
    ) { UInt16($0).flatMap { $0 > 0 ? $0 : nil } }
    private static let connection = Option.count(
        "connection", in: 1...Int.max, help: "show only this connection of the capture")
    private static let session = Option.count("session", in: 0...0xFFFF, help: "show only this session")
    private static let type = Option<FrameType>(
        "type", "NAME", expectation: "a frame type, such as data or ack",
        help: "show only frames of this type; may be repeated"
    ) { name in FrameType.registered.first { $0.description == name } }.repeating
    private static let maxBody = Option.byteCount(
        "max-body", help: "maximum body if the input does not contain the handshake [1M]")
    private static let verbose = Option.flag("verbose", short: "v", help: "print every field of every frame")
    private static let secrets = Option.flag("secrets", help: "also print credentials and resume tokens")
    private static let json = Option.flag("json", help: "print one JSON object in each line")

    static let spec = CommandSpec(
        name: "decode",
        summary: "Print the frames of a capture, of hex text or of raw bytes, and their errors.",
        operand: "[FILE]",
        options: [
            format.spec, sender.spec, port.spec, connection.spec, session.spec, type.spec, maxBody.spec, verbose.spec,
            secrets.spec, json.spec,
        ],
        notes: [
            """
            FILE, or standard input, is a capture in the format pcap or pcapng (Ethernet, Linux cooked, loopback or \
            raw IP; in pcapng, all interfaces of one kind), hexadecimal text (plain, or the output of xxd, \
            'hexdump -C' and 'od -t x1'), or the bytes of one direction of a connection. A capture from a pipe is \
            kept in memory until its end.
            """,
            """
            A flight recording of a client, which 'martlet replay' runs again, is printed as one line of text \
            for each event, also with --json.
            """,
            """
            A line contains the time in seconds (or @ and the offset in bytes), the connection, > from the client or \
            < from the server, session/sequence, the type and the main fields. TCP segments are reordered, bodies \
            inflated, fragments reassembled, and links followed over their connections. Of a WebSocket without TLS the \
            messages are decoded; offsets are those in their bytes. A malformed frame ends the \
            decoding of its direction, because the start of the next frame is unknown.
            """,
            """
            With --json every line has \"event\": frame, fault (the direction is malformed), note or, as the last one, \
            end. All except end have time (microseconds since 1970), connection, from and offset (of the frame); \
            frame and, if the header is valid, fault have type, typeNumber, version, session, timestamp, flags, \
            priority, compression, length and checksum. frame has sequence (64 bits), room, content (whole, fragment, \
            unknown or refused), again (the sequence was received before), missing (number of missing sequences \
            before it), fragments (number of fragments), bytes (of the body, inflated and reassembled) and fields: \
            tag, name, length and value or, in a container, fields. fault and a refused frame have error: code, \
            number, text and at, the offset in the body. An unknown value is null. Later versions may add members.
            """,
        ],
        exitCodes: [
            ExitMeaning(.success, "the complete input was decoded, and every frame is valid"),
            ExitMeaning(.failure, "a frame is malformed"),
            ExitMeaning(.dataError, "the input does not have its format"),
            ExitMeaning(.noInput, "FILE cannot be read"),
            ExitMeaning(.inputOutput, "reading or writing failed"),
        ]
    ) { try await run($0) }

    static func options(_ arguments: ParsedArguments) -> Decoder.Options {
        var options = Decoder.Options()
        options.format = arguments[format] ?? .auto
        options.sender = arguments[sender]
        if let port = arguments[port] { options.ports = [port] }
        if let byteCount = arguments[maxBody] { options.bodyByteCount = byteCount }
        return options
    }

    static func filter(_ arguments: ParsedArguments) -> DecodeFilter {
        DecodeFilter(
            connection: arguments[connection],
            session: arguments[session].map { SessionID(rawValue: UInt16($0)) }, types: Set(arguments.all(type)))
    }

    private static func run(_ arguments: ParsedArguments) async throws -> ExitCode {
        let descriptor = try open(arguments.operands.first)
        if let path = arguments.operands.first, FlightRecording.isRecording(prefix(descriptor)) {
            let recording = try ReplayCommand.parse(try InputFile.read(path, "the recording"))
            for line in recording.lines { try Output.print(SafeText.line(line)) }
            return .success
        }
        let filter = filter(arguments)
        let showsSecrets = arguments.has(secrets)
        let isJSON = arguments.has(json)
        var text = DecodeText(isVerbose: arguments.has(verbose), showsSecrets: showsSecrets)
        var tally = DecodeTally()
        var output: [UInt8] = []
        var failure: CommandError?
        let decoder = Decoder(options(arguments)) { event in
            tally.add(event)
            guard failure == nil, filter.shows(event) else { return }
            let lines = isJSON ? [DecodeJSON.line(event, showingSecrets: showsSecrets).text] : text.lines(event)
            for line in lines { output += Array(line.utf8) + [UInt8(ascii: "\n")] }
            if output.count >= outputByteCount { flush(&output, &failure) }
        }
        let input = StandardInput(descriptor)
        var problem: InputError?
        do {
            if let capture = try captureFile(descriptor, for: decoder) {
                try decoder.decode(capture)
            } else {
                while failure == nil {
                    let bytes = try await input.next()
                    if bytes.isEmpty { break }
                    try decoder.feed(bytes)
                    flush(&output, &failure)
                }
                try decoder.finish()
            }
        } catch let error as InputError { problem = error }
        flush(&output, &failure)
        if let failure { throw failure }
        if isJSON { try Output.print(tally.json(decoder.totals).text) }
        if let problem { throw CommandError(.dataError, problem.message) }
        if !isJSON { Output.report("decode: \(tally.text(decoder.totals))") }
        return tally.isValid ? .success : .failure
    }

    /// Returns the reader of a capture file; nil for a pipe and for other formats.
    private static func captureFile(_ descriptor: Int32, for decoder: Decoder) throws(InputError) -> CaptureReader? {
        guard decoder.isCapture(prefix(descriptor)) else { return nil }
        do throws(CaptureError) { return try CaptureReader(descriptor: dup(descriptor)) } catch {
            throw .capture(error)
        }
    }

    /// Returns the next four bytes of a file, which are read again; none of a pipe.
    private static func prefix(_ descriptor: Int32) -> [UInt8] {
        let offset = lseek(descriptor, 0, SEEK_CUR)
        guard offset >= 0 else { return [] }
        var prefix = [UInt8](repeating: 0, count: 4)
        let count = unsafe prefix.withUnsafeMutableBytes { unsafe pread(descriptor, $0.baseAddress, $0.count, offset) }
        return Array(prefix.prefix(max(count, 0)))
    }

    private static func flush(_ output: inout [UInt8], _ failure: inout CommandError?) {
        do throws(CommandError) { try Output.write(output, to: STDOUT_FILENO) } catch { failure = failure ?? error }
        output.removeAll(keepingCapacity: true)
    }

    private static func open(_ path: String?) throws(CommandError) -> Int32 {
        guard let path, path != "-" else { return STDIN_FILENO }
        let descriptor = Descriptors.open(path, O_RDONLY)
        guard descriptor >= 0 else { throw .system(.noInput, "cannot read \(path)") }
        return descriptor
    }
}
