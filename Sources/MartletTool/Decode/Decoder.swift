import MartletDecode
import MartletToolSupport
import MartletTransport
import MartletWire

/// A decoder for an input of any format: a capture, the bytes of one direction of a connection, or these bytes as
/// hexadecimal text.
///
/// A capture from a pipe is kept in memory until it is complete, because libpcap reads files only.
final class Decoder {
    /// The maximum number of bytes of a capture from a pipe.
    static let maxCaptureByteCount = 1 << 30

    /// The format of the input.
    enum Format: String, CaseIterable, Sendable {
        case auto, pcap, hex, raw
    }

    /// The options of a decoder.
    struct Options: Sendable {
        var format = Format.auto
        /// The sender of the bytes, if the input is one direction of a connection.
        var sender: PeerRole?
        /// The ports of servers. Connections to them are decoded as Martlet without a check of their first bytes.
        var ports: Set<UInt16> = [Endpoint.defaultPort]
        /// The maximum number of bytes of a body if the input does not contain the handshake.
        var bodyByteCount = ConnectionDecoder.Assumptions().bodyByteCount
    }

    private enum Input {
        /// The first bytes, too few to determine the format.
        case undecided([UInt8])
        case capture([UInt8])
        case hex(HexReader, LineSplitter, ConnectionDecoder)
        case raw(ConnectionDecoder)
    }

    private let options: Options
    private let onEvent: (DecodeEvent) -> Void
    private var input = Input.undecided([])
    /// The counts of a capture; nil before its end and for other inputs.
    private(set) var totals: CaptureDecoder.Totals?

    /// Creates a decoder at the start of an input. `onEvent` receives the decoded events.
    init(_ options: Options = Options(), onEvent: @escaping (DecodeEvent) -> Void) {
        self.options = options
        self.onEvent = onEvent
    }

    /// Returns whether an input with this prefix is a capture. The prefix has at least four bytes unless the input is
    /// shorter.
    func isCapture(_ prefix: [UInt8]) -> Bool {
        switch options.format {
        case .pcap: true
        case .auto: CaptureReader.recognizes(prefix)
        case .hex, .raw: false
        }
    }

    /// Decodes a capture file.
    func decode(_ reader: CaptureReader) throws(InputError) {
        let decoder = CaptureDecoder(ports: options.ports, assuming: assumptions, onEvent: onEvent)
        defer { totals = decoder.totals }
        do throws(CaptureError) { try decoder.decode(reader) } catch { throw .capture(error) }
    }

    /// Decodes the next bytes of the input.
    func feed(_ bytes: [UInt8]) throws(InputError) {
        switch input {
        case .undecided(let prefix):
            if prefix.count + bytes.count < 4 {
                input = .undecided(prefix + bytes)
            } else {
                try begin(prefix + bytes)
            }
        case .capture(var capture):
            guard capture.count + bytes.count <= Self.maxCaptureByteCount else {
                throw .captureTooLarge(maxByteCount: Self.maxCaptureByteCount)
            }
            // The case is replaced, so that the storage is not copied when it grows.
            input = .capture([])
            capture += bytes
            input = .capture(capture)
        case .raw(let decoder): decoder.receive(bytes, on: .first)
        case .hex(var reader, var splitter, let decoder):
            for line in splitter.split(bytes) { decoder.receive(try reader.read(line), on: .first) }
            input = .hex(reader, splitter, decoder)
        }
    }

    /// Ends the input.
    func finish() throws(InputError) {
        if case .undecided(let prefix) = input {
            if prefix.isEmpty, options.format == .auto { return }
            try begin(prefix)
        }
        switch input {
        case .undecided: break
        case .capture(let bytes):
            let reader: CaptureReader
            do throws(CaptureError) { reader = try CaptureReader(bytes: bytes) } catch { throw .capture(error) }
            try decode(reader)
        case .raw(let decoder): decoder.finish(.first)
        case .hex(var reader, var splitter, let decoder):
            if let line = splitter.finish() { decoder.receive(try reader.read(line), on: .first) }
            decoder.finish(.first)
        }
    }

    /// Determines the format from the first bytes: a capture by its magic, otherwise text or raw bytes.
    private func begin(_ bytes: [UInt8]) throws(InputError) {
        let isText = bytes.prefix(4).allSatisfy { (0x20..<0x7F).contains($0) || (0x09...0x0D).contains($0) }
        if isCapture(bytes) {
            input = .capture([])
        } else if options.format == .hex || options.format == .auto && isText {
            input = .hex(HexReader(), LineSplitter(maxPieceByteCount: HexReader.maxLineByteCount), makeDecoder())
        } else {
            input = .raw(makeDecoder())
        }
        try feed(bytes)
    }

    private var assumptions: ConnectionDecoder.Assumptions {
        var assumptions = ConnectionDecoder.Assumptions()
        assumptions.bodyByteCount = options.bodyByteCount
        return assumptions
    }

    private func makeDecoder() -> ConnectionDecoder {
        var assumptions = assumptions
        assumptions.beginning = .betweenMessages
        let decoder = ConnectionDecoder(assuming: assumptions, onEvent: onEvent)
        if let sender = options.sender { decoder.setClient(sender == .client ? .first : .second) }
        return decoder
    }
}

/// An error of an input that cannot be decoded.
enum InputError: Error, Equatable, Sendable {
    /// The capture cannot be read.
    case capture(CaptureError)
    /// A line of hexadecimal text is malformed.
    case hex(line: Int, problem: String)
    /// A capture from a pipe exceeds the maximum number of bytes.
    case captureTooLarge(maxByteCount: Int)

    /// The error as a message for the user.
    var message: String {
        switch self {
        case .capture(let error): "\(error)"
        case .hex(let line, let problem): "in line \(line): \(problem)"
        case .captureTooLarge(let byteCount): "a capture of more than \(byteCount) bytes from a pipe"
        }
    }
}
