import MartletTransport

/// One end of a connection: records callbacks as events and sends the given bytes.
final class Peer: TransportHandler, @unchecked Sendable {
    enum Event: Equatable {
        case connected
        case endOfStream
        case closed(CloseReason)
    }

    /// The handling of received bytes.
    enum Reception {
        case keep
        case count
        case echo
    }

    /// The recorded events in order, without received bytes.
    let events: Events<Event>
    private let reception: Reception
    private let staysOpenAtEnd: Bool
    private let inbox = Events<Int>()

    // The loop accesses all properties below.
    private(set) var transport: (any Transport)?
    private(set) var received: [UInt8] = []
    private(set) var receivedByteCount = 0
    private(set) var receptionCount = 0
    private(set) var filledByteCount = 0
    private var outgoing: [UInt8] = []
    private var sentCount = 0
    private var patternByteCount = 0
    var onReceive: ((any Transport) -> Void)?
    var onFill: (() -> Void)?
    /// Whether the last fill returns false.
    var reportsLastFill = false

    init(_ reception: Reception = .keep, staysOpenAtEnd: Bool = false) {
        events = Events()
        self.reception = reception
        self.staysOpenAtEnd = staysOpenAtEnd
    }

    // MARK: - For tests, on the loop

    func send(_ bytes: [UInt8]) {
        outgoing += bytes
        transport?.setNeedsWrite()
    }

    /// Sends `byteCount` bytes, each the low byte of its position.
    func sendPattern(byteCount: Int) {
        patternByteCount += byteCount
        transport?.setNeedsWrite()
    }

    // MARK: - For tests, on any thread

    /// Returns when `byteCount` bytes have been received in total.
    func receive(byteCount: Int) async {
        var total = 0
        while total < byteCount, let next = await inbox.next() { total = next }
    }

    // MARK: - TransportHandler

    func transportDidConnect(_ transport: any Transport) {
        self.transport = transport
        events.send(.connected)
    }

    func transport(_ transport: any Transport, didReceive bytes: RawSpan) {
        receptionCount += 1
        if reception != .count {
            let copy = unsafe bytes.withUnsafeBytes { unsafe Array($0) }
            if reception == .echo { send(copy) } else { received += copy }
        }
        receivedByteCount += bytes.byteCount
        inbox.send(receivedByteCount)
        onReceive?(transport)
    }

    func transport(_ transport: any Transport, fill buffer: inout OutputRawSpan) -> Bool {
        onFill?()
        let sent = buffer.append(outgoing[sentCount...])
        sentCount += sent
        if sentCount == outgoing.count { (outgoing, sentCount) = ([], 0) }
        let position = (filledByteCount + sent) % 256
        let patterned = buffer.append(patternBlock[position...].prefix(patternByteCount))
        patternByteCount -= patterned
        filledByteCount += sent + patterned
        return !reportsLastFill || !outgoing.isEmpty || patternByteCount > 0
    }

    func transportDidReceiveEndOfStream(_ transport: any Transport) {
        events.send(.endOfStream)
        if !staysOpenAtEnd { transport.close(afterFlush: true) }
    }

    func transport(_ transport: any Transport, didClose reason: CloseReason) {
        self.transport = nil
        // The closures may retain this peer.
        onReceive = nil
        onFill = nil
        events.send(.closed(reason))
        inbox.finish()
    }
}

extension OutputRawSpan {
    /// Appends as many of `bytes` as fit and returns their number.
    fileprivate mutating func append(_ bytes: ArraySlice<UInt8>) -> Int {
        unsafe withUnsafeMutableBytes { storage, initializedCount in
            let room = unsafe UnsafeMutableRawBufferPointer(rebasing: storage[initializedCount...])
            let taken = bytes.prefix(room.count)
            unsafe room.copyBytes(from: taken)
            initializedCount += taken.count
            return taken.count
        }
    }
}

private let patternBlock = pattern(byteCount: EventLoop.writeBufferByteCount + 256)
