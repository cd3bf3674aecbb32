import MartletTransport
import MartletWire

/// From the bytes of an input to frames, whatever the input is: a capture, a stream's own bytes, or those as text.
final class Decoder {
    /// What the input is.
    enum Format: String, CaseIterable, Sendable {
        case auto, pcap, hex, raw
    }

    /// What decides how the input is read.
    struct Options: Sendable {
        var format = Format.auto
        /// Who sends the bytes, where the input is one way of a connection.
        var sender: Sender?
        /// Ports whose connections are Martlet whatever they say.
        var ports: Set<UInt16> = [Endpoint.defaultPort]
        /// The longest body where the handshake was not seen, in bytes.
        var bodyByteCount = Exchange.Assumptions().bodyByteCount
    }

    private enum Input {
        case undecided
        case capture(any PacketReader, ConversationTable)
        case hex(HexReader, LineSplitter, Exchange)
        case raw(Exchange)
    }

    private let options: Options
    private let emit: (DecodeEvent) -> Void
    private var input = Input.undecided
    private var queue = ByteQueue()

    /// A decoder at the start of an input; what it finds goes to `emit`.
    init(_ options: Options = Options(), _ emit: @escaping (DecodeEvent) -> Void) {
        self.options = options
        self.emit = emit
    }

    /// What was seen of a capture; `nil` when the input is none.
    var totals: ConversationTable.Totals? {
        if case .capture(_, let table) = input { table.totals } else { nil }
    }

    /// Takes the next bytes of the input. Throws when they are not what the input is said to be.
    func feed(_ bytes: [UInt8]) throws(CaptureError) {
        queue.append(bytes)
        try read(isComplete: false)
    }

    /// The input is over.
    func finish() throws(CaptureError) {
        try read(isComplete: true)
        switch input {
        case .undecided: break
        case .capture(_, let table):
            table.finish()
            if queue.count > 0 {
                emit(.note(Place(connection: 0, offset: queue.takenByteCount), "the capture ends inside a packet"))
            }
        case .raw(let exchange): exchange.finish(0)
        case .hex(var reader, var splitter, let exchange):
            if let line = splitter.finish() { exchange.receive(try reader.read(line), on: 0) }
            exchange.finish(0)
        }
    }

    private func read(isComplete: Bool) throws(CaptureError) {
        if case .undecided = input { try decide(isComplete: isComplete) }
        switch input {
        case .undecided: break
        case .capture(var reader, let table):
            while let packet = try reader.next(from: &queue) { table.receive(packet) }
            input = .capture(reader, table)
        case .raw(let exchange):
            exchange.receive(queue.take(queue.count), on: 0)
        case .hex(var reader, var splitter, let exchange):
            for line in splitter.split(queue.take(queue.count)) { exchange.receive(try reader.read(line), on: 0) }
            input = .hex(reader, splitter, exchange)
        }
    }

    /// Chooses by the first four bytes: the magic of a capture, or of a frame, or else whether they are text.
    private func decide(isComplete: Bool) throws(CaptureError) {
        guard queue.count >= 4 || isComplete else { return }
        let magic: UInt32? = queue.count >= 4 ? queue.integer(at: 0, isLittleEndian: false) : nil
        switch options.format {
        case .raw: input = .raw(exchange())
        case .hex: input = hex()
        case .pcap, .auto:
            if let reader = magic.flatMap(Self.reader) {
                input = .capture(reader, ConversationTable(ports: options.ports, assuming: assumptions, emit))
            } else if options.format == .pcap {
                throw queue.error("this is neither pcap nor pcapng")
            } else {
                input = isText ? hex() : .raw(exchange())
            }
        }
    }

    private static func reader(_ magic: UInt32) -> (any PacketReader)? {
        magic == PcapngReader.sectionType ? PcapngReader() : PcapReader(magic: magic)
    }

    private var isText: Bool {
        (0..<min(queue.count, 4)).allSatisfy { index in
            let byte: UInt8 = queue.integer(at: index, isLittleEndian: false)
            return (0x20..<0x7F).contains(byte) || (0x09...0x0D).contains(byte)
        }
    }

    private var assumptions: Exchange.Assumptions { Exchange.Assumptions(bodyByteCount: options.bodyByteCount) }

    private func hex() -> Input {
        .hex(HexReader(), LineSplitter(maxPieceByteCount: HexReader.maxLineByteCount), exchange())
    }

    private func exchange() -> Exchange {
        var assumptions = assumptions
        assumptions.beginning = .betweenMessages
        let exchange = Exchange(assuming: assumptions, emit)
        if let sender = options.sender { exchange.setClient(sender == .client ? 0 : 1) }
        return exchange
    }
}
