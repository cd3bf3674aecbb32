import MartletDecode
import MartletToolSupport
import MartletTransport
import MartletWire

/// Decodes an input of any format: a capture, the bytes of one direction of a connection, or those as hex text.
///
/// A capture that is not in a file is held until it is complete, since libpcap reads files only.
final class Decoder {
    /// The largest capture that is held, in bytes.
    static let maxCaptureByteCount = 1 << 30

    /// The format of the input.
    enum Format: String, CaseIterable, Sendable {
        case auto, pcap, hex, raw
    }

    /// How the input is read.
    struct Options: Sendable {
        var format = Format.auto
        /// The sender of the bytes, where the input is one direction of a connection.
        var sender: PeerRole?
        /// Server ports. Connections to them are decoded as Martlet without a check of their first bytes.
        var ports: Set<UInt16> = [Endpoint.defaultPort]
        /// The longest body where the handshake is not in the input, in bytes.
        var bodyByteCount = ConnectionDecoder.Assumptions().bodyByteCount
    }

    private enum Input {
        /// The first bytes, fewer than tell the format.
        case undecided([UInt8])
        case capture([UInt8])
        case hex(HexReader, LineSplitter, ConnectionDecoder)
        case raw(ConnectionDecoder)
    }

    private let options: Options
    private let onEvent: (DecodeEvent) -> Void
    private var input = Input.undecided([])
    /// Counts of what a capture contained; `nil` before its end, and for another input.
    private(set) var totals: CaptureDecoder.Totals?

    /// Creates a decoder at the start of an input, which gives what it decodes to `onEvent`.
    init(_ options: Options = Options(), onEvent: @escaping (DecodeEvent) -> Void) {
        self.options = options
        self.onEvent = onEvent
    }

    /// Whether an input that begins with these bytes, at least four unless it is shorter, is read as a capture.
    func isCapture(_ prefix: [UInt8]) -> Bool {
        switch options.format {
        case .pcap: true
        case .auto: CaptureReader.recognizes(prefix)
        case .hex, .raw: false
        }
    }

    /// Decodes a capture file, instead of bytes that are fed.
    func decode(_ reader: CaptureReader) throws(InputError) {
        let decoder = CaptureDecoder(ports: options.ports, assuming: assumptions, onEvent: onEvent)
        defer { totals = decoder.totals }
        do throws(CaptureError) { try decoder.decode(reader) } catch { throw .capture(error) }
    }

    /// Receives the next bytes of the input.
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
            // The case must not share the storage while it grows.
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

    /// Chooses the format by the first bytes: the magic of a capture, or else whether they are text.
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
