import MartletWire

@testable import MartletLink
@testable import MartletRelay
@testable import MartletSimulator

/// A peer of a virtual relay that sends arbitrary bytes on a carrier without delay.
///
/// The relay must reply in whole frames, and in few of them before welcome.
final class Intruder {
    private let world: VirtualWorld
    private(set) var key: ConnectionKey?
    private(set) var isWelcome = false
    /// The link and token of the last welcome.
    private(set) var resumption: (link: LinkID, token: ResumeToken)?
    /// The highest sequence that the relay has sent on each session of the link.
    private(set) var received: [SessionID: UInt64] = [:]
    /// The features of the last welcome, until they are applied.
    private var agreed: Features = []
    /// Whether the peer reads.
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
        poll()
    }

    func finish() {
        guard let key else { return }
        world.act { engine, now in engine.endOfStream(key, now: now) }
        poll()
    }

    func cut() {
        guard let key else { return }
        self.key = nil
        world.act { engine, now in engine.closed(key, now: now) }
    }

    /// The peer's relay was replaced.
    func forget() {
        key = nil
    }

    /// Processes the end of the connection, reads pending bytes, and checks the relay's state for the peer.
    func poll() {
        guard let key else { return }
        guard let phase else { return self.key = nil }
        if isReading || phase == .closing { read(key) }
        checkBounds()
        if phase == .closing { cut() }
    }

    private var phase: ServerConnection.Phase? {
        guard let key, let slot = world.relay.engine.server.connections.slot(key) else { return nil }
        return world.relay.engine.server.connections.find(slot)?.phase
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
                    // A peer with the feature receives packets (W-84).
                    if agreed.contains(.compact) {
                        framer.allowPackets(deflated: agreed.contains(.sharedDeflate))
                        agreed = []
                    }
                }
            } catch {
                hold(false, "the relay sent an invalid frame: \(error)")
            }
            hold(
                isWelcome || answeredByteCount <= 3 * sentByteCount,
                "\(answeredByteCount) bytes answer \(sentByteCount) before authentication")
        }
    }

    private func note(_ header: FrameHeader, _ body: RawSpan) {
        if header.type == .welcome {
            isWelcome = true
            guard let welcome = try? Welcome(parsing: body) else { return hold(false, "an invalid welcome") }
            if welcome.resumed == nil {
                sequences = [:]
                received = [:]
            }
            resumption = (welcome.link, welcome.resumeToken)
            agreed = welcome.features
        }
        hold(isWelcome || [.auth, .reject, .goaway].contains(header.type), "\(header.type) before authentication")
        if header.flags.contains(.reliable) {
            received[header.session] = max(received[header.session] ?? 0, UInt64(header.sequence))
        }
    }

    // MARK: Frames

    /// A frame with the flags and the sequence of a correct client.
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

    /// Checks the relay's state for this peer.
    private func checkBounds() {
        guard let key, let slot = world.relay.engine.server.connections.slot(key),
            let connection = world.relay.engine.server.connections.find(slot)
        else { return }
        let storage = connection.framer?.framer.storageByteCount ?? 0
        let held = connection.handshake?.held.count ?? 0
        guard let link = connection.linkSlot else {
            hold(storage <= 16 * 1024, "\(storage) bytes for a frame of an unauthenticated peer")
            hold(held <= ServerConnection.maxHeldByteCount, "\(held) bytes held")
            let patience = world.relay.engine.configuration.link.authTimeout + .milliseconds(1)
            hold(
                connection.phase == .closing || world.now <= connectedAt + patience,
                "an unauthenticated peer exceeds its deadline")
            return
        }
        let limits = world.relay.engine.sessions.links[link].link.limits
        hold(storage <= 2 * (FrameHeader.byteCount + limits.maxBodyByteCount), "\(storage) bytes for a frame")
        LinkBounds.check(
            world.relay.engine.sessions.links[link], world.relay.engine.sessions.relayLinks[link])
    }
}
