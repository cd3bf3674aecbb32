import Foundation
import MartletDecode
import MartletToolSupport
import MartletTransport
import MartletWire

/// `martlet decode`: prints the frames of a capture or a stream.
enum DecodeCommand {
    /// Output is written in pieces of about so many bytes.
    private static let outputByteCount = 64 << 10

    private static let format = Option.choice(
        "format", fallback: Decoder.Format.auto, help: "what the input is; auto looks at its first bytes")
    private static let sender = Option<PeerRole>(
        "from", "client|server", expectation: "client or server",
        help: "who sends, where the input is one direction of a connection; else the frames tell"
    ) { PeerRole(rawValue: $0) }
    private static let port = Option<UInt16>(
        "port", "PORT", shown: "\(Endpoint.defaultPort)", expectation: "a port, 1 to 65535",
        help: "connections of this TCP port are Martlet, whatever they begin with"
    ) { UInt16($0).flatMap { $0 > 0 ? $0 : nil } }
    private static let connection = Option.count(
        "connection", in: 1...Int.max, help: "show this connection of the capture only")
    private static let session = Option.count("session", in: 0...0xFFFF, help: "show this session only")
    private static let type = Option<FrameType>(
        "type", "NAME", expectation: "a frame type, such as data or ack", help: "show frames of this type only; repeats"
    ) { name in FrameType.registered.first { $0.description == name } }.repeating
    private static let maxBody = Option.byteCount(
        "max-body", help: "the longest body where the handshake is not in the input [1M]")
    private static let verbose = Option.flag("verbose", short: "v", help: "print every field of every frame")
    private static let secrets = Option.flag("secrets", help: "print credentials and resume tokens, too")
    private static let json = Option.flag("json", help: "print a JSON object a line")

    static let spec = CommandSpec(
        name: "decode",
        summary: "Print the frames of a capture, of hex text or of raw bytes, and what is wrong with them.",
        operand: "FILE",
        options: [
            format.spec, sender.spec, port.spec, connection.spec, session.spec, type.spec, maxBody.spec, verbose.spec,
            secrets.spec, json.spec,
        ],
        notes: [
            """
            FILE, or standard input, is a capture in the format pcap or pcapng (Ethernet, Linux cooked, loopback or \
            raw IP; in pcapng, all interfaces of one kind), hex as text (plain, or as xxd, 'hexdump -C' and \
            'od -t x1' print it), or the bytes of one direction of a connection. A capture from a pipe is held in \
            memory until it ends.
            """,
            """
            A line tells the time in seconds (or @ and the offset in bytes), the connection, > from the client or < \
            from the server, session/sequence, the type and what matters most. TCP is put in order, bodies are \
            inflated, fragments joined, links followed over their connections. A direction with a malformed \
            frame is not read further: nothing tells where the next frame begins.
            """,
            """
            With --json every line has \"event\": frame, fault (the direction is malformed there), note or, last, end. \
            All but end have time (microseconds since 1970), connection, from and offset (of the frame); \
            frame and, where the header was right, fault have type, typeNumber, version, session, timestamp, flags, \
            priority, compression, length and checksum. frame has sequence (whole), room, content (whole, fragment, \
            unknown or refused), again (the sequence was there before), missing (how many before it were not), \
            fragments (from how many it was joined), bytes (of the body, inflated and joined) and fields: tag, name, \
            length and value or, in a container, fields. fault and a refused frame have error: code, number, text and \
            at, the offset in the body. What is not known is null. Members may be added, never changed.
            """,
        ],
        exitCodes: [
            ExitMeaning(.success, "everything was read, and every frame is as it should be"),
            ExitMeaning(.failure, "something is malformed"),
            ExitMeaning(.dataError, "the input is not what it is said to be"),
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
        return tally.isGood ? .success : .failure
    }

    /// The reader of a capture that is in a file; `nil` for an input of another format, and for a pipe.
    private static func captureFile(_ descriptor: Int32, for decoder: Decoder) throws(InputError) -> CaptureReader? {
        let offset = lseek(descriptor, 0, SEEK_CUR)
        guard offset >= 0 else { return nil }
        var prefix = [UInt8](repeating: 0, count: 4)
        let count = unsafe prefix.withUnsafeMutableBytes { unsafe pread(descriptor, $0.baseAddress, $0.count, offset) }
        guard count >= 0, decoder.isCapture(Array(prefix.prefix(count))) else { return nil }
        do throws(CaptureError) { return try CaptureReader(descriptor: dup(descriptor)) } catch {
            throw .capture(error)
        }
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
