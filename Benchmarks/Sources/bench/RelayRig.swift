import BenchHarness
import CBaselines
import MartletLink
import MartletRelay
import MartletWire

/// A relay's engine without sockets, and minimal clients.
///
/// The first client publishes to the rooms in turn. The members of the rooms receive; all other clients are idle.
@safe
final class RelayRig {
    struct Shape {
        /// Idle links beside the publisher and the receivers.
        var idleLinks = 0
        /// Rooms with messages, one session each; the links carry at most 64 sessions.
        var rooms = 1
        var sessionsPerLink = 1
        /// Members of each room.
        var members = 1
        /// Messages in one turn, all for one room, independent of the number of rooms.
        var turnMessages = 8
    }

    private final class Peer {
        let key: ConnectionKey
        let rooms: [RoomName]
        var counter: UInt64 = 0
        /// By session: reliable frames sent and received, and bytes of bodies received.
        var sent: [UInt32]
        var received: [UInt64]
        var receivedBytes: [UInt64]
        var linkBytes: UInt64 = 0
        var acknowledged: UInt64 = 0
        var frames = 0
        /// Sessions with frames since the last acknowledgement.
        var dirtySessions: [Int] = []
        var framer = Framer(maxBodyByteCount: 64 << 10)

        init(_ key: ConnectionKey, _ rooms: [RoomName]) {
            self.key = key
            self.rooms = rooms
            sent = Array(repeating: 0, count: rooms.count)
            received = Array(repeating: 0, count: rooms.count)
            receivedBytes = Array(repeating: 0, count: rooms.count)
        }
    }

    private let shape: Shape
    private var engine = RelayEngine(seed: 1)
    private var now = Instant(nanoseconds: 1_000_000_000)
    private var publishers: [Peer] = []
    private var peers: [ConnectionKey: Peer] = [:]
    private var asked: [ConnectionKey] = []
    private var delivered = 0
    private var place = 0
    private let content = MessageContent(text: String(repeating: "m", count: 64))
    private let buffer = UnsafeMutableRawBufferPointer.allocate(byteCount: 256 << 10, alignment: 16)
    /// The clients' shared output buffer, so that the figures are the relay's.
    private let written = UnsafeMutableRawBufferPointer.allocate(byteCount: 64 << 10, alignment: 16)
    private var writtenByteCount = 0
    private var writer = TLVWriter()

    init(_ shape: Shape) {
        self.shape = shape
        engine.wallClock = 1_789_000_000_000
        let rooms = (0..<shape.rooms).map { RoomName("room\($0)")! }
        for start in stride(from: 0, to: rooms.count, by: shape.sessionsPerLink) {
            let some = Array(rooms[start..<min(start + shape.sessionsPerLink, rooms.count)])
            publishers.append(join(some, noLocal: true))
            for _ in 0..<shape.members { _ = join(some, noLocal: false) }
        }
        for _ in 0..<shape.idleLinks { _ = join([RoomName("idle\(peers.count)")!], noLocal: false) }
    }

    deinit {
        unsafe buffer.deallocate()
        unsafe written.deallocate()
    }

    /// Publishes and delivers `count` messages, a few to each room in turn.
    func publish(_ count: Int) {
        let target = delivered + count * shape.members
        for _ in stride(from: 0, to: count, by: shape.turnMessages) {
            let peer = publishers[place % publishers.count]
            let session = place / publishers.count % peer.rooms.count
            place += 1
            for _ in 0..<shape.turnMessages { writeMessage(peer, session) }
            flush(peer)
            turn()
        }
        precondition(delivered >= target, "\(target - delivered) messages were not delivered")
    }

    // MARK: The clients

    private func join(_ rooms: [RoomName], noLocal: Bool) -> Peer {
        guard let key = engine.accepted(.reliable, now: now) else { preconditionFailure("no place for a connection") }
        let peer = Peer(key, rooms)
        peers[key] = peer
        let hello = Hello(
            features: [], limits: Limits(maxSessions: 256), device: DeviceID(rawValue: UInt64(peers.count)),
            account: AccountName("client\(peers.count)")!)
        hello.encode(into: &writer)
        write(FrameHeader(type: .hello))
        flush(peer)
        turn()
        for (index, room) in rooms.enumerated() {
            Open(room: room, cursor: 0, noLocal: noLocal).encode(into: &writer)
            writeReliable(peer, index, .open)
            flush(peer)
            turn()
        }
        // Idle clients acknowledge their last frames, because virtual time passes the relay's timeouts.
        writeAcknowledgement(peer)
        flush(peer)
        return peer
    }

    private func writeMessage(_ peer: Peer, _ session: Int) {
        peer.counter += 1
        Message(counter: peer.counter, content: content).encode(into: &writer)
        writeReliable(peer, session, .data)
    }

    private func writeReliable(_ peer: Peer, _ index: Int, _ type: FrameType) {
        peer.sent[index] += 1
        write(
            FrameHeader(
                type: type, sequence: peer.sent[index], flags: FrameFlags(.reliable, priority: .high),
                session: SessionID(rawValue: UInt16(2 * index + 1))))
    }

    private func writeAcknowledgement(_ peer: Peer) {
        let sessions = peer.dirtySessions.map { index in
            SessionAck(
                session: SessionID(rawValue: UInt16(2 * index + 1)), cumulative: peer.received[index],
                creditLimit: peer.receivedBytes[index] + 256 << 10)
        }
        peer.dirtySessions.removeAll(keepingCapacity: true)
        Ack(linkCredit: peer.linkBytes + 1 << 20, sessions: sessions).encode(into: &writer)
        write(FrameHeader(type: .ack))
    }

    /// Appends a frame with the writer's body.
    private func write(_ header: FrameHeader) {
        var output = unsafe OutputRawSpan(buffer: written, initializedCount: writtenByteCount)
        header.encode(before: writer.rawBytes, checksum: CRC32.checksum(writer.rawBytes), into: &output)
        writtenByteCount = unsafe output.finalize(for: written)
        writer.removeAll()
    }

    /// Passes the written bytes to the relay.
    private func flush(_ peer: Peer) {
        let bytes = unsafe RawSpan(_unsafeBytes: UnsafeRawBufferPointer(rebasing: written[..<writtenByteCount]))
        writtenByteCount = 0
        engine.receive(bytes, on: peer.key, now: now)
    }

    // MARK: The relay

    private func turn() {
        now = now + .microseconds(100)
        drain()
        while let key = asked.popLast(), let peer = peers[key] { transmit(peer) }
        if let deadline = engine.deadline, deadline <= now {
            engine.deadlinePassed(now: now)
            drain()
        }
    }

    private func drain() {
        while let output = engine.nextOutput(now: now) {
            switch output {
            case .link(.authenticate(let key, let request)):
                let token = TokenGrant(
                    token: ResumeToken([UInt8](repeating: 7, count: ResumeToken.byteCount).rawBytes)!,
                    digest: TokenDigest(1, 2, 3, 4))
                engine.authenticated(key, .accepted(Identity(request.account), token, presented: nil), now: now)
            case .link(.transmit(let keys)): asked += keys
            case .store(let questions): for question in questions { answer(question) }
            case .link(.close(let key, _)): preconditionFailure("the relay closes \(key)")
            default: break
            }
        }
    }

    private func answer(_ question: StoreQuestion) {
        switch question {
        case .load(let room): engine.answered(.load(room, .success(RoomSnapshot())), now: now)
        case .append(let append):
            let (end, count) = (append.entries.last?.offset, append.entries.count)
            engine.answered(.append(append.room, upTo: end, messageCount: count, .success(1)), now: now)
        default: break
        }
    }

    private func transmit(_ peer: Peer) {
        while true {
            var output = unsafe OutputRawSpan(buffer: buffer, initializedCount: 0)
            engine.transmit(on: peer.key, into: &output, now: now)
            let count = unsafe output.finalize(for: buffer)
            if count == 0 { return }
            let bytes = unsafe RawSpan(_unsafeBytes: UnsafeRawBufferPointer(rebasing: buffer[..<count]))
            take(bytes, peer)
        }
    }

    private func take(_ bytes: RawSpan, _ peer: Peer) {
        do throws(WireError) {
            _ = try peer.framer.consumeContents(bytes) { header, content in
                if header.flags.contains(.reliable) {
                    let index = Int(header.session.rawValue / 2)
                    peer.received[index] += 1
                    peer.frames += 1
                    if peer.dirtySessions.last != index, !peer.dirtySessions.contains(index) {
                        peer.dirtySessions.append(index)
                    }
                    if header.type == .data {
                        peer.receivedBytes[index] += UInt64(content.byteCount)
                        peer.linkBytes += UInt64(content.byteCount)
                        delivered += 1
                    }
                }
                return .proceed
            }
        } catch {
            preconditionFailure("the relay sends an invalid frame: \(error)")
        }
        guard peer.frames >= 64 || peer.linkBytes - peer.acknowledged >= 64 << 10 else { return }
        peer.frames = 0
        peer.acknowledged = peer.linkBytes
        writeAcknowledgement(peer)
        flush(peer)
    }
}

extension Subject {
    /// Creates the rig on first use.
    static func rig(_ name: String, _ shape: RelayRig.Shape, publishing messages: Int) -> Subject {
        var rig: RelayRig?
        return Subject(name, operations: messages) {
            let ready = rig ?? RelayRig(shape)
            rig = ready
            ready.publish(messages)
        }
    }
}
