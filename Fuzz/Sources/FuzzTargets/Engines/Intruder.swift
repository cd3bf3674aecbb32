import MartletWire

@testable import MartletProtocol
@testable import MartletTestKit

/// A peer of a virtual world's relay that says whatever bytes it likes, on a carrier without delay.
///
/// Whatever the relay answers it must answer in whole frames, and before it has said welcome in few of them.
final class Intruder {
    private let world: VirtualWorld
    private(set) var key: ConnectionKey?
    private(set) var isWelcome = false
    /// What the last welcome handed out, to resume with.
    private(set) var ticket: (link: LinkID, token: ResumeToken)?
    /// The highest sequence that the relay has sent on each session of the link.
    private(set) var received: [SessionID: UInt64] = [:]
    /// What the last welcome agreed to, until it has been heeded.
    private var agreed: Features = []
    /// Whether it reads what the relay has for it.
    var isReading = true
    private var framer = Framer(maxBodyByteCount: FrameHeader.largestBodyByteCount)
    private var sequences: [SessionID: UInt32] = [:]
    private var connectedAt = Instant.zero
    private var sentByteCount = 0
    private var answeredByteCount = 0

    init(in world: VirtualWorld) {
        self.world = world
    }

    // MARK: The connection

    func connect(_ carrier: Carrier) {
        guard key == nil else { return }
        var made: ConnectionKey?
        world.act { engine, now in made = engine.accepted(carrier, now: now) }
        key = made
        isWelcome = false
        isReading = true
        framer = Framer(maxBodyByteCount: FrameHeader.largestBodyByteCount)
        connectedAt = world.now
        sentByteCount = 0
        answeredByteCount = 0
    }

    func send(_ bytes: [UInt8]) {
        guard let key, !bytes.isEmpty else { return }
        sentByteCount += bytes.count
        world.act { engine, now in engine.receive(bytes.rawBytes, on: key, now: now) }
        look()
    }

    func finish() {
        guard let key else { return }
        world.act { engine, now in engine.endOfStream(key, now: now) }
        look()
    }

    func cut() {
        guard let key else { return }
        self.key = nil
        world.act { engine, now in engine.closed(key, now: now) }
    }

    /// The relay that it was connected to is no more.
    func forget() {
        key = nil
    }

    /// Sees what has become of the connection, takes what there is to read, and checks what is held for it.
    func look() {
        guard let key else { return }
        guard let phase else { return self.key = nil }
        if isReading || phase == .closing { read(key) }
        checkBounds()
        if phase == .closing { cut() }
    }

    private var phase: RelayConnection.Phase? {
        guard let key, let slot = world.relay.engine.slot(key) else { return nil }
        return world.relay.engine.connections.find(slot)?.phase
    }

    private func read(_ key: ConnectionKey) {
        while true {
            var bytes: [UInt8] = []
            world.act { engine, now in bytes = Carrying.transmit { engine.transmit(on: key, into: &$0, now: now) } }
            if bytes.isEmpty { return }
            answeredByteCount += bytes.count
            do throws(WireError) {
                var taken = 0
                while taken < bytes.count {
                    taken += try framer.consume(bytes.rawBytes.extracting(droppingFirst: taken)) {
                        header, body throws(WireError) in
                        note(header, body)
                        return header.type == .welcome ? .stop : .proceed
                    }
                    // Whoever says that it takes packets gets some (W-84).
                    if agreed.contains(.compact) {
                        framer.allowPackets(deflated: agreed.contains(.sharedDeflate))
                        agreed = []
                    }
                }
            } catch {
                hold(false, "the relay sends what is no frame: \(error)")
            }
            hold(
                isWelcome || answeredByteCount <= 3 * sentByteCount,
                "\(answeredByteCount) bytes answer \(sentByteCount) before anybody was let in")
        }
    }

    private func note(_ header: FrameHeader, _ body: RawSpan) {
        if header.type == .welcome {
            isWelcome = true
            guard let welcome = try? Welcome(parsing: body) else { return hold(false, "a welcome that does not parse") }
            if welcome.resumed == nil {
                sequences = [:]
                received = [:]
            }
            ticket = (welcome.link, welcome.resumeToken)
            agreed = welcome.features
        }
        hold(isWelcome || [.reject, .goaway].contains(header.type), "\(header.type) before anybody was let in")
        if header.flags.contains(.reliable) {
            received[header.session] = max(received[header.session] ?? 0, UInt64(header.sequence))
        }
    }

    // MARK: Frames

    /// A frame with the flags and the sequence that a real client would give it.
    func frame(_ type: FrameType, _ body: [UInt8], on session: SessionID) -> [UInt8] {
        var header = FrameHeader(type: type, session: session)
        if let rule = type.rule {
            if rule.scope == .control { header.session = .control }
            if rule.scope == .session, session == .control { header.session = SessionID(rawValue: 1) }
        }
        if type.rule?.isReliable == true {
            header.flags.insert(.reliable)
            sequences[header.session, default: 0] &+= 1
            header.sequence = sequences[header.session] ?? 0
        }
        return header.frame(body: body.rawBytes)
    }

    // MARK: Bounds

    /// What the relay holds on this peer's account.
    private func checkBounds() {
        guard let key, let slot = world.relay.engine.slot(key),
            let connection = world.relay.engine.connections.find(slot)
        else { return }
        let storage = connection.framer?.framer.storageByteCount ?? 0
        let held = connection.entry?.held.count ?? 0
        guard let link = connection.linkSlot else {
            hold(storage <= 16 * 1024, "\(storage) bytes for a frame of a stranger")
            hold(held <= RelayConnection.maxHeldByteCount, "\(held) bytes held")
            let patience = world.relay.engine.configuration.authTimeout + .milliseconds(1)
            hold(connection.phase == .closing || world.now <= connectedAt + patience, "a stranger stays for ever")
            return
        }
        let limits = world.relay.engine.links[link].link.limits
        hold(storage <= 2 * (FrameHeader.byteCount + limits.maxBodyByteCount), "\(storage) bytes for a frame")
        LinkBounds.check(world.relay.engine.links[link])
    }
}
