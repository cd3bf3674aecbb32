package import MartletMetrics
package import MartletWire

/// The user of a client's link: the state that sends and receives on its sessions.
///
/// The link calls its user while it handles an event. The user changes the link by the argument `link`, and queues
/// outputs for its driver.
package protocol ClientLinkUser: ~Copyable {
    /// Whether frames or requests wait for a connection. The next attempt then begins earlier.
    var hasPending: Bool { get }

    /// Whether a response is due, so that a silent server is probed earlier.
    var awaitsResponse: Bool { get }

    /// Queues an output for the driver, behind all earlier ones.
    mutating func queue(_ output: LinkOutput)

    /// A new link begins: the sessions of the last one have ended.
    mutating func linkBegan(_ link: inout Link)

    /// The link has a connection, on which frames may be sent early.
    mutating func linkAttached(_ link: inout Link, now: Instant)

    /// The server has sent welcome.
    mutating func established(_ link: inout Link, now: Instant)

    /// A frame of a session for the application, in order. Its credit is held until the user releases it.
    mutating func receive(
        _ type: FrameType, _ content: FrameContent, on session: SessionID, _ creditByteCount: Int,
        _ link: inout Link, now: Instant
    ) throws(LinkError)

    /// An event of a session.
    mutating func handle(_ event: LinkEvent, _ link: inout Link, now: Instant)
}

/// The client's end of a link: connection attempts, handshake, liveness, and the frames of the link.
///
/// | part | owns | outlives |
/// |---|---|---|
/// | `connection` | attempts, handshake, liveness, status | the connection |
/// | `link` | unacknowledged frames, credit, sessions | the connection, until a resume is refused |
///
/// A new connection sends hello with the link's resume token, and the unacknowledged frames immediately after it. When
/// the server refuses the resume, a new link begins on the same connection.
///
/// The drain contract is that of the engine of which the link is a part: after each event the driver performs the
/// outputs that the user has queued, calls `finishTurn` when there is none left, and performs those that it queued. It
/// then reads `deadline`, and calls `deadlinePassed` at that instant. Bytes are not outputs: `receive` takes them in
/// pieces of any length, and `transmit` writes them when the connection has room.
package struct ClientLink: ~Copyable {
    /// The maximum duration from a frame's first byte to its last (C-60, Specs/hostile.md row 5).
    private static let frameTimeout: Duration = .seconds(30)

    /// The identity of the client, and its bounds.
    package private(set) var configuration: LinkConfiguration
    /// The sessions, unacknowledged frames and credit.
    package var link: Link
    private(set) var connection: ConnectionSupervisor
    private var recorder: FlightRecorder
    private var framer: Framer?
    private var inflater = Inflater()
    /// The deadline of the incomplete frame.
    private var frameDeadline: Instant?
    /// The latest connection on which a server has answered the hello.
    private var answered = ConnectionID.none
    /// The connection of the latest `transmit` output that the driver has not answered.
    private var transmitRequest = ConnectionID.none
    private var reportedStatus = LinkStatus()
    /// The round-trip times of all links so far.
    package private(set) var roundTrips = Histogram()

    /// Creates a client's end that has not been started.
    ///
    /// - Parameter seed: The seed of jitter and nonces, different for each client.
    package init(_ configuration: LinkConfiguration, seed: UInt64, now: Instant) {
        self.configuration = configuration
        connection = ConnectionSupervisor(configuration, seed: seed, now: now)
        recorder = FlightRecorder(byteCount: configuration.recordingByteCount)
        link = Self.newLink(configuration, now: now)
    }

    /// Returns a link with the minimum limits, which are in effect until the server has answered (C-17).
    private static func newLink(_ configuration: LinkConfiguration, now: Instant) -> Link {
        let least = Limits.minimum
        let limits = Limits(
            maxBodyByteCount: least.maxBodyByteCount, maxMessageByteCount: configuration.limits.maxMessageByteCount,
            linkWindow: least.linkWindow, sessionWindow: least.sessionWindow,
            maxSessions: configuration.limits.maxSessions)
        return Link(role: .client, limits: limits, features: [], began: now, firstSequence: configuration.firstSequence)
    }

    // MARK: Events

    /// Handles an event of the application or of the carrier. Events of earlier connections are ignored (C-4).
    package mutating func handle(
        _ input: LinkInput, _ user: inout some ClientLinkUser & ~Copyable, now: Instant
    ) {
        feed(.input(input), now: now)
        performSteps(&user, now: now)
    }

    /// Ends the link, and begins a different one under another device ID.
    package mutating func replaceDevice(
        by device: DeviceID, _ user: inout some ClientLinkUser & ~Copyable, now: Instant
    ) {
        configuration.device = device
        feed(.linkEnded, now: now)
        performSteps(&user, now: now)
    }

    private mutating func performSteps(_ user: inout some ClientLinkUser & ~Copyable, now: Instant) {
        while let step = connection.nextStep() {
            recorder.record(step, now: now)
            switch step {
            case .output(let output): user.queue(output)
            case .receive:
                // On a carrier without order, frames that overtake welcome are ignored and can have any size (C-19).
                let isOrdered = configuration.carrier == .reliable
                let early = Limits.maxHandshakeBodyByteCount
                framer = Framer(maxBodyByteCount: isOrdered ? early : max(early, configuration.limits.maxBodyByteCount))
            case .sendHello: sendHello(&user, now: now)
            case .established:
                // The driver publishes the status before it reports what the same bytes cause.
                connection.measureQuality(link.rtt)
                reportStatus(&user, now: now)
                user.established(&link, now: now)
            case .detach:
                link.detach()
                framer = nil
                frameDeadline = nil
            case .ping(let nonce): link.ping(nonce: nonce)
            }
        }
    }

    private mutating func sendHello(_ user: inout some ClientLinkUser & ~Copyable, now: Instant) {
        if !connection.handshake.resumesLink {
            let counters = link.counters
            link = Self.newLink(configuration, now: now)
            link.counters = counters
            user.linkBegan(&link)
        }
        let timeout = configuration.carrier == .reliable ? link.overdueInterval : nil
        recorder.record(.helloSent(timeout: timeout), of: connection, now: now)
        connection.handshake.sendHello(configuration, positions: link.positions, timeout: timeout, now: now)
        link.attach(configuration.carrier, isEarly: true, now: now)
        user.linkAttached(&link, now: now)
    }

    // MARK: Receiving

    /// Reports bytes received on a connection, in pieces of any length. The bytes are borrowed.
    package mutating func receive(
        _ bytes: RawSpan, on id: ConnectionID, _ user: inout some ClientLinkUser & ~Copyable, now: Instant
    ) {
        guard connection.isReceiving(on: id), var framer = framer.take() else { return }
        // On a slow path, a frame can take longer than the heartbeat's timeout (C-46).
        connection.heartbeat.received(now: now)
        let frames = link.counters.framesReceived
        var consumed = 0
        while consumed < bytes.byteCount || framer.hasWaitingFrames, connection.isReceiving(on: id) {
            var failure: LinkError?
            let before = consumed
            let wasEstablished = connection.isEstablished
            do throws(WireError) {
                consumed += try framer.consumeContents(bytes.extracting(droppingFirst: consumed)) {
                    do throws(LinkError) { return try receive($0, $1, on: id, &user, now: now) } catch {
                        failure = error
                    }
                    return .stop
                }
            } catch {
                failure = LinkError(error)
            }
            if let failure {
                // What arrived before the fault precedes the frames of the next connection.
                if wasEstablished { _ = try? takeArrivals(on: id, &user, now: now) }
                guard connection.isReceiving(on: id) else { return }
                feed(.failed(failure.code), now: now)
                return performSteps(&user, now: now)
            }
            if wasEstablished { link.noteReceived(byteCount: consumed - before) }
            guard connection.isEstablished else { continue }
            // The negotiated limits and features apply to the following frames (W-7, W-76).
            framer.maxBodyByteCount = link.limits.maxBodyByteCount
            if link.readsPackets { framer.allowPackets(deflated: link.features.contains(.sharedDeflate)) }
        }
        guard connection.isReceiving(on: id) else { return }
        // Bytes of an incomplete frame count as activity. Its deadline ends a connection that sends nothing else.
        if framer.bufferedByteCount == 0 {
            frameDeadline = nil
        } else if frameDeadline == nil || frames != link.counters.framesReceived {
            frameDeadline = now + Self.frameTimeout
        }
        self.framer = consume framer
    }

    private mutating func receive(
        _ header: FrameHeader, _ content: FrameContent, on id: ConnectionID,
        _ user: inout some ClientLinkUser & ~Copyable, now: Instant
    ) throws(LinkError) -> FramerStep {
        guard connection.isEstablished else {
            try content.withBody { body throws(LinkError) in try receiveHandshake(header, body, on: id, now: now) }
            performSteps(&user, now: now)
            return .stop
        }
        let samples = link.counters.roundTripSamples
        let reception = try link.receive(header, content, inflater: &inflater, now: now)
        if link.counters.roundTripSamples != samples {
            roundTrips.record(nanoseconds: UInt64(link.rtt.latestNanoseconds))
        }
        if case .deliver(let session, let credit) = reception {
            try user.receive(header.type, content, on: session, credit, &link, now: now)
        }
        return try takeArrivals(on: id, &user, now: now)
    }

    private mutating func takeArrivals(
        on id: ConnectionID, _ user: inout some ClientLinkUser & ~Copyable, now: Instant
    ) throws(LinkError) -> FramerStep {
        while let arrival = try link.nextArrival(now: now) {
            switch arrival {
            case .event(let event):
                handle(event, &user, now: now)
            case .frame(let session, let frame):
                let body = FrameContent.body(frame.body.rawBytes)
                try user.receive(frame.type, body, on: session, frame.creditByteCount, &link, now: now)
            }
            guard connection.isReceiving(on: id) else { return .stop }
        }
        return .proceed
    }

    private mutating func receiveHandshake(
        _ header: FrameHeader, _ body: RawSpan, on id: ConnectionID, now: Instant
    ) throws(LinkError) {
        guard header.compression == .none else { throw .peer(.compressionNotAllowed) }
        guard header.type.rule?.allows(header) != false else { throw .peer(.protocolViolation) }
        switch header.type {
        case .welcome: try receive(try Link.parse(Welcome.self, body), now: now)
        case .reject: feed(.rejected(try Link.parse(Reject.self, body).notice, configuration.carrier), now: now)
        case .goaway: feed(.goAwayReceived(try Link.parse(GoAway.self, body).notice), now: now)
        case .auth: feed(.auth(try Link.parse(Auth.self, body)), now: now)
        default:
            // On a carrier without order, frames can overtake welcome. Unacknowledged ones are sent again (C-19).
            guard configuration.carrier == .unreliable else { throw .peer(.protocolViolation) }
            return
        }
        answered = id
    }

    private mutating func receive(_ welcome: Welcome, now: Instant) throws(LinkError) {
        // A welcome that does not match the hello, or exceeds its offer, has no effect (C-20).
        guard connection.handshake.accepts(welcome) else { throw .peer(.protocolViolation) }
        guard connection.handshake.verifies(welcome) else { return feed(.serverUnverified, now: now) }
        let limits = welcome.limits.negotiated(with: configuration.limits)
        let features = welcome.features.intersection(configuration.features).available(in: welcome.version)
        if let resumed = welcome.resumed {
            guard link.canResume(from: resumed), link.canAdopt(limits, features: features) else {
                // The link cannot continue. The next connection begins another (C-32).
                feed(.resumptionDiscarded, now: now)
                throw .peer(.protocolViolation)
            }
        }
        link.adopt(limits, features: features)
        link.deflatesPackets = configuration.compressesMessages
        link.confirm(welcome.resumed, now: now)
        feed(.welcomed(welcome), now: now)
    }

    private mutating func handle(
        _ event: LinkEvent, _ user: inout some ClientLinkUser & ~Copyable, now: Instant
    ) {
        switch event {
        case .pong(let nonce): feed(.pong(nonce: nonce), now: now)
        case .reconnectSpread(let spread): feed(.spread(spread), now: now)
        case .goAway(let goAway):
            feed(.goAwayReceived(goAway.notice), now: now)
            performSteps(&user, now: now)
        case .auth(let auth):
            feed(.auth(auth), now: now)
            performSteps(&user, now: now)
        case .open, .opened, .suspended, .resumed, .closed, .reset, .acknowledged:
            user.handle(event, &link, now: now)
        }
    }

    // MARK: Time and outputs

    /// The instant at which the driver calls `deadlinePassed`.
    package var deadline: Instant? {
        let earliest = connection.deadline.orEarlier(frameDeadline)
        return connection.isEstablished ? earliest.orEarlier(link.deadline) : earliest
    }

    /// Processes the deadlines of the connection and of the link that have passed.
    package mutating func deadlinePassed(_ user: inout some ClientLinkUser & ~Copyable, now: Instant) {
        if let due = connection.deadline, due <= now {
            feed(.deadlinePassed, now: now)
            performSteps(&user, now: now)
        }
        if connection.isEstablished {
            switch link.deadlinePassed(now: now) {
            case .proceed: break
            case .overdue: feed(.backupStarted, now: now)
            case .replaceConnection: feed(.peerSilent, now: now)
            case .ackTimeout: feed(.failed(.ackTimeout), now: now)
            }
            performSteps(&user, now: now)
        }
        if let frameDeadline, frameDeadline <= now {
            self.frameDeadline = nil
            feed(.failed(.frameTimeout), now: now)
            performSteps(&user, now: now)
        }
    }

    /// Updates the state that is derived from several events, requests the transmission of frames, and reports a change
    /// of the status.
    package mutating func finishTurn(_ user: inout some ClientLinkUser & ~Copyable, now: Instant) {
        let hasUnacknowledged = link.hasUnacknowledged
        if connection.isEstablished {
            if connection.hasBackup {
                let progress = link.lastAckProgress
                feed(.progressed(at: progress, hasUnacknowledged: hasUnacknowledged), now: now)
                performSteps(&user, now: now)
            }
            connection.adapt(to: link.rtt, expectsReply: hasUnacknowledged || user.awaitsResponse, now: now)
        } else if connection.isWaiting, connection.hasPending != user.hasPending {
            feed(.pending(user.hasPending), now: now)
            performSteps(&user, now: now)
        }
        if transmitRequest != connection.current,
            connection.handshake.isLeaving || connection.handshake.hasFrames || link.hasOutput(now: now)
        {
            transmitRequest = connection.current
            user.queue(.transmit(transmitRequest))
        }
        reportStatus(&user, now: now)
        if recorder.isFull { recorder.beginSegment(with: connection, now: now) }
    }

    private mutating func reportStatus(_ user: inout some ClientLinkUser & ~Copyable, now: Instant) {
        guard connection.status != reportedStatus else { return }
        connection.statusReported(now: now)
        recorder.recordStatus(of: connection, now: now)
        reportedStatus = connection.status
        user.queue(.status(reportedStatus))
    }

    /// Writes complete frames for a connection, as far as `out` has room.
    ///
    /// - Returns: Whether there may be more frames.
    package mutating func transmit(on id: ConnectionID, into out: inout OutputRawSpan, now: Instant) -> Bool {
        transmitRequest = .none
        guard id == connection.current else { return false }
        guard writeHandshake(into: &out, now: now) else { return true }
        guard link.isAttached else { return false }
        let start = out.byteCount
        link.transmit(into: &out, now: now)
        if connection.handshake.isLeaving, !link.hasOutput(now: now) {
            feed(.goAwaySent, now: now)
            _ = writeHandshake(into: &out, now: now)
        }
        if out.byteCount > start { connection.heartbeat.sent(now: now) }
        return connection.handshake.hasFrames || link.hasOutput(now: now)
    }

    private mutating func writeHandshake(into out: inout OutputRawSpan, now: Instant) -> Bool {
        guard connection.handshake.hasFrames else { return true }
        let isComplete = connection.handshake.write(into: &out)
        recorder.record(.framesWritten(leaving: connection.handshake.frameCount), of: connection, now: now)
        return isComplete
    }

    // MARK: Recording

    /// Records an event, and handles it.
    private mutating func feed(_ event: ConnectionEvent, now: Instant) {
        recorder.record(event, of: connection, now: now)
        connection.handle(event, now: now)
        recorder.handled(by: connection)
    }

    /// Returns the flight recording; empty if there is none. The driver has drained the outputs.
    package func recording(now: Instant) -> [UInt8] { recorder.recording(of: connection, now: now) }

    /// Returns the code of the last fault that ended a connection, once.
    package mutating func takeFault() -> ErrorCode? { recorder.takeFault() }

    // MARK: State

    /// Whether a connection is established and the server has not sent welcome.
    package func isAwaitingWelcome(on id: ConnectionID) -> Bool {
        connection.isReceiving(on: id) && !connection.isEstablished
    }

    /// Whether a server has answered on the latest connection: by welcome, a refusal or a message of an exchange.
    package func hasAnswer(on id: ConnectionID) -> Bool { id == answered }

    /// Whether sessions are opened on the current link. The first hello, and one after a refused resume, begins a
    /// different link.
    package var hasLink: Bool { link.isAttached || connection.handshake.resumesLink }

    /// The link that the next hello resumes; nil if it begins a link.
    package var linkID: LinkID? { connection.handshake.linkID }

    /// Whether there is a backup attempt.
    package var hasBackup: Bool { connection.hasBackup }

    /// What the connections have counted.
    package var metrics: ConnectionMetrics { connection.metrics }

    /// The state of the client and its cause.
    package var status: LinkStatus { connection.status }
}
