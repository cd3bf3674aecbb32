package import MartletLink
package import MartletWire

/// The engine of a client, which decides about connections, handshakes, sessions, messages, receipts and requests.
///
/// # The drain contract
///
/// The engine performs no input or output and reads no clock. Its caller, the *driver*, does this in each turn:
///
/// 1. It reports one or more events: `start`, `connected`, `receive`, `send`, `deadlinePassed` and the other mutating
///    methods, each with the current instant, which never decreases. An event queues outputs and performs none.
/// 2. It calls `nextOutput` until the result is nil, and performs each output when it is returned. The results of an
///    output are events too, for example `connectFailed` or `consumed`. The driver may report them at once, and their
///    outputs follow the queued ones.
/// 3. It reads `deadline`, and calls `deadlinePassed` at that instant. The deadline is undefined while outputs are
///    queued; debug builds trap.
///
/// Bytes are not outputs. The driver reports received bytes by `receive`, in pieces of any length. The output
/// `transmit` reports that there are bytes to send. The driver then calls `transmit` whenever the connection has room,
/// until it returns false. The engine writes the most urgent frames at that moment. `transmit` is an event: step 2
/// follows.
///
/// Outputs name a connection by its `ConnectionID`. Events of earlier connections are ignored, so a driver does not
/// need to know the current connection (C-4).
///
/// # The parts
///
/// | part | owns | outlives |
/// |---|---|---|
/// | `connection` | attempts, handshake, liveness, status | the connection |
/// | `link` | unacknowledged frames, credit, sessions | the connection, until a resume is refused |
/// | `rooms` | cursors, unaccepted messages, requests | the link |
///
/// A new connection sends hello with the link's resume token, and the unacknowledged frames immediately after it. When
/// the server refuses the resume, a new link begins on the same connection: rooms are opened again from their cursors,
/// and unaccepted messages are sent again. The relay recognizes their counters and accepts each message once.
package struct ClientEngine: ~Copyable {
    /// The maximum duration from a frame's first byte to its last (C-60, Specs/hostile.md row 5).
    private static let frameTimeout: Duration = .seconds(30)

    /// The identity of the client, and its bounds.
    package private(set) var configuration: ClientConfiguration
    private(set) var connection: ConnectionSupervisor
    var rooms: ClientRooms
    var port: ClientPort
    private var framer: Framer?
    private var inflater = Inflater()
    /// The deadline of the incomplete frame.
    private var frameDeadline: Instant?
    /// The connection of the latest `transmit` output that the driver has not answered.
    private var transmitRequest = ConnectionID.none
    private var reportedStatus = ClientStatus()
    /// Whether the driver has drained the outputs since the last event; checked in debug builds.
    private var isDrained = true
    /// The round-trip times of all links so far.
    package private(set) var roundTrips = RTTHistogram()

    /// Creates a client that has not been started.
    ///
    /// - Parameter seed: The seed of jitter and nonces, different for each client.
    package init(configuration: ClientConfiguration, seed: UInt64, now: Instant) {
        self.configuration = configuration
        connection = ConnectionSupervisor(configuration, seed: seed, now: now)
        rooms = ClientRooms(configuration, seed: ~seed)
        port = ClientPort(link: Self.newLink(configuration, now: now))
    }

    /// Returns a link with the minimum limits, which are in effect until the server has answered (C-17).
    private static func newLink(_ configuration: ClientConfiguration, now: Instant) -> Link {
        let least = Limits.minimum
        let limits = Limits(
            maxBodyByteCount: least.maxBodyByteCount, maxMessageByteCount: configuration.limits.maxMessageByteCount,
            linkWindow: least.linkWindow, sessionWindow: least.sessionWindow,
            maxSessions: configuration.limits.maxSessions)
        return Link(role: .client, limits: limits, features: [], began: now, firstSequence: configuration.firstSequence)
    }

    // MARK: Lifecycle

    /// Starts a connection attempt, at once if the client waits for the next one.
    ///
    /// A stop in progress ends first, with the output `.stopped`.
    package mutating func start(now: Instant) { supervise(now) { $0.start(now: now) } }

    /// Ends the connection: sends the remaining frames and goaway, and reports `.stopped` (C-7).
    ///
    /// Later frames of the server are ignored. Unaccepted messages are sent again after the next `start`.
    package mutating func stop(now: Instant) { supervise(now) { $0.stop(now: now) } }

    /// Starts an attempt at once, also after the client has stopped retrying.
    package mutating func retryNow(now: Instant) { supervise(now) { $0.retryNow(now: now) } }

    /// Reports that the application is visible. The client probes the server at once, also if the application was in
    /// the foreground before (C-51).
    package mutating func enterForeground(now: Instant) { supervise(now) { $0.enterForeground(now: now) } }

    /// Reports that the application is in the background, where the heartbeat has longer intervals.
    package mutating func enterBackground(now: Instant) { setMode(.background, now: now) }

    /// Reports the use of the application.
    package mutating func setMode(_ mode: HeartbeatMode, now: Instant) { supervise(now) { $0.setMode(mode, now: now) } }

    /// Reports that the process was suspended and continues.
    package mutating func wake(now: Instant) { supervise(now) { $0.wake(now: now) } }

    /// Reports the status of the path monitor.
    package mutating func pathChanged(to status: PathStatus, now: Instant) {
        supervise(now) { $0.pathChanged(to: status, now: now) }
    }

    /// Reports that the driver has stored another device ID, as `replaceDevice` requested. The link ends, and the
    /// pending messages are published under the new ID on another link.
    package mutating func replaceDevice(by device: DeviceID, now: Instant) {
        configuration.device = device
        rooms.replaceDevice()
        supervise(now) { $0.endLink(now: now) }
    }

    // MARK: Events of the carrier

    /// Reports that an attempt has succeeded. A path change that removes `localAddress` ends the connection.
    package mutating func connected(_ id: ConnectionID, localAddress: String?, now: Instant) {
        supervise(now) { $0.connected(id, localAddress: localAddress, now: now) }
    }

    /// Reports that an attempt has failed.
    package mutating func connectFailed(_ id: ConnectionID, _ reason: ConnectionFailure = .unreachable, now: Instant) {
        supervise(now) { $0.connectFailed(id, reason, now: now) }
    }

    /// Reports the end of a connection, by the peer, by the network, or as requested.
    ///
    /// - Parameter isTLSFailure: Whether TLS has failed. In TLS 1.3, an alert about the client's certificate follows
    ///   the handshake of the client; before welcome it is a `tlsFailure`.
    package mutating func closed(_ id: ConnectionID, byPeer: Bool, isTLSFailure: Bool = false, now: Instant) {
        supervise(now) { $0.closed(id, byPeer: byPeer, isTLSFailure: isTLSFailure, now: now) }
    }

    /// Reports the credential for an attempt, or for a renewal on an established connection; nil if the account needs
    /// none.
    ///
    /// - Parameter mechanism: The mechanism of the authentication exchange that the credential begins; nil if the
    ///   credential is a token (C-68).
    package mutating func credential(
        _ credential: Credential?, mechanism: MechanismName? = nil, for id: ConnectionID, now: Instant
    ) {
        supervise(now) { $0.credential(credential, mechanism, for: id) }
    }

    /// Reports the answer to `answerChallenge`.
    ///
    /// - Parameter serverFinal: The message with which the server proves its identity in welcome, if `message` is the
    ///   client's last one; nil if another challenge follows (C-70).
    package mutating func answer(
        _ message: Credential, expecting serverFinal: Credential?, for id: ConnectionID, now: Instant
    ) {
        supervise(now) { $0.answer(message, expecting: serverFinal, for: id, now: now) }
    }

    /// Reports that the server's message in `answerChallenge` is not valid. The client stops.
    package mutating func exchangeFailed(_ id: ConnectionID, now: Instant) {
        supervise(now) { $0.exchangeFailed(id, now: now) }
    }

    /// Reports that there is no credential for an attempt or a renewal. The next attempt requests it again.
    package mutating func credentialFailed(_ id: ConnectionID, now: Instant) {
        supervise(now) { $0.credentialFailed(id, now: now) }
    }

    private mutating func supervise(_ now: Instant, _ event: (inout ConnectionSupervisor) -> Void) {
        isDrained = false
        event(&connection)
        while let step = connection.nextStep() {
            switch step {
            case .output(let output): port.outputs.append(output)
            case .receive:
                // On a carrier without order, frames that overtake welcome are ignored and can have any size (C-19).
                let isOrdered = configuration.carrier == .reliable
                let early = Limits.maxHandshakeBodyByteCount
                framer = Framer(maxBodyByteCount: isOrdered ? early : max(early, configuration.limits.maxBodyByteCount))
            case .sendHello: sendHello(now: now)
            case .established:
                // The driver publishes the status before it reports the rooms that the same bytes open.
                connection.measureQuality(port.link.rtt)
                reportStatus()
                rooms.established(&port, now: now)
            case .detach:
                port.link.detach()
                framer = nil
                frameDeadline = nil
            case .ping(let nonce): port.link.ping(nonce: nonce)
            }
        }
    }

    private mutating func sendHello(now: Instant) {
        if !connection.handshake.resumesLink {
            let counters = port.link.counters
            port.link = Self.newLink(configuration, now: now)
            port.link.counters = counters
            rooms.linkBegan(&port)
        }
        let timeout = configuration.carrier == .reliable ? port.link.overdueInterval : nil
        connection.handshake.sendHello(configuration, positions: port.link.positions, timeout: timeout, now: now)
        port.link.attach(configuration.carrier, isEarly: true, now: now)
        rooms.linkAttached(&port, now: now)
    }

    // MARK: Receiving

    /// Reports bytes received on a connection, in pieces of any length. The bytes are borrowed.
    package mutating func receive(_ bytes: RawSpan, on id: ConnectionID, now: Instant) {
        guard connection.isReceiving(on: id), var framer = framer.take() else { return }
        isDrained = false
        // On a slow path, a frame can take longer than the heartbeat's timeout (C-46).
        connection.heartbeat.received(now: now)
        let frames = port.link.counters.framesReceived
        var consumed = 0
        while consumed < bytes.byteCount || framer.hasWaitingFrames, connection.isReceiving(on: id) {
            var failure: LinkError?
            let before = consumed
            let wasEstablished = connection.isEstablished
            do throws(WireError) {
                consumed += try framer.consumeContents(bytes.extracting(droppingFirst: consumed)) {
                    do throws(LinkError) { return try receive($0, $1, on: id, now: now) } catch { failure = error }
                    return .stop
                }
            } catch {
                failure = LinkError(error)
            }
            if let failure { return supervise(now) { $0.fail(failure.code, now: now) } }
            if wasEstablished { port.link.noteReceived(byteCount: consumed - before) }
            guard connection.isEstablished else { continue }
            // The negotiated limits and features apply to the following frames (W-7, W-76).
            framer.maxBodyByteCount = port.link.limits.maxBodyByteCount
            if port.link.readsPackets { framer.allowPackets(deflated: port.link.features.contains(.sharedDeflate)) }
        }
        guard connection.isReceiving(on: id) else { return }
        // Bytes of an incomplete frame count as activity. Its deadline ends a connection that sends nothing else.
        if framer.bufferedByteCount == 0 {
            frameDeadline = nil
        } else if frameDeadline == nil || frames != port.link.counters.framesReceived {
            frameDeadline = now + Self.frameTimeout
        }
        self.framer = consume framer
    }

    private mutating func receive(
        _ header: FrameHeader, _ content: FrameContent, on id: ConnectionID, now: Instant
    ) throws(LinkError) -> FramerStep {
        guard connection.isEstablished else {
            try content.withBody { body throws(LinkError) in try receiveHandshake(header, body, now: now) }
            return .stop
        }
        let samples = port.link.counters.roundTripSamples
        let reception = try port.link.receive(header, content, inflater: &inflater, now: now)
        if port.link.counters.roundTripSamples != samples, let latest = port.link.rtt.latest {
            roundTrips.record(latest)
        }
        if case .deliver(let session, let credit) = reception {
            try rooms.receive(header.type, content, on: session, credit, &port, now: now)
        }
        while let arrival = try port.link.nextArrival(now: now) {
            switch arrival {
            case .event(let event):
                handle(event, now: now)
            case .frame(let session, let frame):
                let body = FrameContent.body(frame.body.rawBytes)
                try rooms.receive(frame.type, body, on: session, frame.creditByteCount, &port, now: now)
            }
            guard connection.isReceiving(on: id) else { return .stop }
        }
        return .proceed
    }

    private mutating func receiveHandshake(_ header: FrameHeader, _ body: RawSpan, now: Instant) throws(LinkError) {
        guard header.compression == .none else { throw .peer(.compressionNotAllowed) }
        guard header.type.rule?.allows(header) != false else { throw .peer(.protocolViolation) }
        switch header.type {
        case .welcome: try receive(try Link.parse(Welcome.self, body), now: now)
        case .reject:
            let (notice, carrier) = (try Link.parse(Reject.self, body).notice, configuration.carrier)
            supervise(now) { $0.rejected(notice, carrier, now: now) }
        case .goaway:
            let notice = try Link.parse(GoAway.self, body).notice
            supervise(now) { $0.goAwayReceived(notice, now: now) }
        case .auth: receive(try Link.parse(Auth.self, body), now: now)
        default:
            // On a carrier without order, frames can overtake welcome. Unacknowledged ones are sent again (C-19).
            guard configuration.carrier == .unreliable else { throw .peer(.protocolViolation) }
        }
    }

    private mutating func receive(_ welcome: Welcome, now: Instant) throws(LinkError) {
        // A welcome that does not match the hello, or exceeds its offer, has no effect (C-20).
        guard connection.handshake.accepts(welcome) else { throw .peer(.protocolViolation) }
        guard connection.handshake.verifies(welcome) else { return supervise(now) { $0.serverUnverified(now: now) } }
        let limits = welcome.limits.negotiated(with: configuration.limits)
        let features = welcome.features.intersection(configuration.features).available(in: welcome.version)
        if let resumed = welcome.resumed {
            guard port.link.canResume(from: resumed), port.link.canAdopt(limits, features: features) else {
                // The link cannot continue. The next connection begins another (C-32).
                connection.handshake.discardResumptionState()
                throw .peer(.protocolViolation)
            }
        }
        port.link.adopt(limits, features: features)
        port.link.deflatesPackets = configuration.compressesMessages
        port.link.confirm(welcome.resumed, now: now)
        supervise(now) { $0.welcomed(welcome, now: now) }
    }

    private mutating func receive(_ auth: Auth, now: Instant) {
        supervise(now) { if !$0.authReceived(auth, now: now) { $0.fail(.protocolViolation, now: now) } }
    }

    private mutating func handle(_ event: LinkEvent, now: Instant) {
        switch event {
        case .opened(let session, let opened): rooms.opened(session, opened, &port, now: now)
        case .acknowledged(let session, _): rooms.acknowledged(session, &port, now: now)
        case .reset(let session, let code, let retryAfter):
            rooms.sessionEnded(session, code, retryAfter: retryAfter, &port, now: now)
        case .closed(let session, let code):
            port.link.close(session)
            rooms.sessionEnded(session, code ?? .closedByPeer, &port, now: now)
        case .suspended(let session): rooms.setHeldBack(true, on: session, &port, now: now)
        case .resumed(let session, _): rooms.setHeldBack(false, on: session, &port, now: now)
        // In version 1.0 a relay opens no sessions (S-2, S-51).
        case .open(let session, _): port.link.reset(session, code: .unsupportedKind)
        case .pong(let nonce): connection.pongReceived(nonce: nonce, now: now)
        case .reconnectSpread(let spread): connection.spreadReceived(spread, now: now)
        case .goAway(let goAway): supervise(now) { $0.goAwayReceived(goAway.notice, now: now) }
        case .auth(let auth): receive(auth, now: now)
        }
    }

    // MARK: Time and outputs

    /// The instant at which the driver calls `deadlinePassed`. The driver reads it after it has drained the outputs.
    package var deadline: Instant? {
        assert(isDrained && port.outputs.isEmpty, "the driver drains the outputs before it reads the deadline")
        let earliest = connection.deadline.orEarlier(rooms.deadline).orEarlier(frameDeadline)
        return connection.isEstablished ? earliest.orEarlier(port.link.deadline) : earliest
    }

    /// Processes the deadlines that have passed.
    package mutating func deadlinePassed(now: Instant) {
        supervise(now) { $0.deadlinePassed(now: now) }
        if connection.isEstablished {
            switch port.link.deadlinePassed(now: now) {
            case .proceed: break
            case .overdue: supervise(now) { $0.startBackup(now: now) }
            case .replaceConnection: supervise(now) { $0.replaceSilent(now: now) }
            case .ackTimeout: supervise(now) { $0.fail(.ackTimeout, now: now) }
            }
        }
        rooms.deadlinePassed(&port, now: now)
        if let frameDeadline, frameDeadline <= now {
            self.frameDeadline = nil
            supervise(now) { $0.fail(.frameTimeout, now: now) }
        }
    }

    /// Removes and returns the next output; nil if there is none until the next event.
    package mutating func nextOutput(now: Instant) -> ClientOutput? {
        if let output = port.outputs.popFirst() { return output }
        finishTurn(now: now)
        isDrained = port.outputs.isEmpty
        return port.outputs.popFirst()
    }

    /// Updates the state that is derived from several events, and reports changes of the status.
    private mutating func finishTurn(now: Instant) {
        rooms.fillAttachments(&port, now: now)
        let hasUnacknowledged = port.link.hasUnacknowledged
        if connection.isEstablished {
            if connection.hasBackup {
                let progress = port.link.lastAckProgress
                supervise(now) { $0.linkProgressed(at: progress, hasUnacknowledged: hasUnacknowledged, now: now) }
            }
            connection.adapt(to: port.link.rtt, expectsReply: hasUnacknowledged || rooms.requests.count > 0, now: now)
        } else if connection.isWaiting {
            let hasPending = rooms.hasPending
            supervise(now) { $0.setPending(hasPending, now: now) }
        }
        if transmitRequest != connection.current,
            connection.handshake.isLeaving || connection.handshake.hasFrames || port.link.hasOutput(now: now)
        {
            transmitRequest = connection.current
            port.outputs.append(.transmit(transmitRequest))
        }
        reportStatus()
    }

    private mutating func reportStatus() {
        guard connection.status != reportedStatus else { return }
        reportedStatus = connection.status
        port.outputs.append(.status(reportedStatus))
    }

    /// Writes complete frames for a connection, as far as `out` has room.
    ///
    /// - Returns: Whether there may be more frames.
    @discardableResult
    package mutating func transmit(on id: ConnectionID, into out: inout OutputRawSpan, now: Instant) -> Bool {
        transmitRequest = .none
        isDrained = false
        guard id == connection.current else { return false }
        guard connection.handshake.write(into: &out) else { return true }
        guard port.link.isAttached else { return false }
        let start = out.byteCount
        port.link.transmit(into: &out, now: now)
        if connection.handshake.isLeaving, !port.link.hasOutput(now: now) {
            connection.handshake.sendGoAway()
            _ = connection.handshake.write(into: &out)
        }
        if out.byteCount > start { connection.heartbeat.sent(now: now) }
        return connection.handshake.hasFrames || port.link.hasOutput(now: now)
    }

    /// Whether a connection is established and the server has not sent welcome.
    package func isAwaitingWelcome(on id: ConnectionID) -> Bool {
        connection.isReceiving(on: id) && !connection.isEstablished
    }

    /// The state of the client and its cause.
    package var status: ClientStatus { connection.status }

    /// The counters of all links so far.
    package var counters: LinkCounters { port.link.counters }

    /// The smoothed round-trip time of the current link.
    package var smoothedRTT: Duration? { port.link.rtt.smoothed }
}
