import MartletMetrics
package import MartletWire

/// The consequence of a frame for the link's connection.
package enum FrameConsequence {
    case proceed
    /// The budget of the connection is spent.
    case pause
    /// The peer ends the connection, because of a fault, and resumes.
    case disconnect
    /// The device ends the link (C-42).
    case endLink
    /// The device renews its credential (C-71).
    case renew(Credential)
}

/// Whether an account may have one more link.
package enum LinkAdmission {
    case admitted
    /// A suspended link of the account has to end.
    case replaces(slot: Int)
    case refused(ErrorCode)
}

/// The user of a server's links: the owner of the links and of what is done with their sessions.
///
/// The server calls its user while it handles an event. A link is named by its slot in `links`.
package protocol LinkServerUser: ~Copyable {
    var links: LinkTable { get set }

    /// The remaining work of the connection that is read.
    var budget: TurnBudget { get set }

    /// Whether new connections and links are refused for lack of memory.
    var isMemoryFull: Bool { get }

    /// Whether new links are refused for lack of memory.
    var isMemoryShort: Bool { get }

    /// Queues an output for the driver, behind all earlier ones.
    mutating func queue(_ output: LinkServerOutput)

    /// Whether an account that has been authenticated may have one more link, beside the bounds of the server.
    mutating func admission(ofLinkOf account: AccountName, now: Instant) -> LinkAdmission

    /// A link begins.
    mutating func linkBegan(_ slot: Int, _ claims: Claims, now: Instant)

    /// A link is resumed, with the limits, features and claims of this hello.
    mutating func linkResumed(_ slot: Int, _ claims: Claims, now: Instant)

    /// A link has a connection.
    mutating func linkAttached(_ slot: Int, now: Instant)

    /// A link has lost its connection.
    mutating func linkSuspended(_ slot: Int, now: Instant)

    /// A link ends. It is in the table until the return.
    mutating func linkEnds(_ slot: Int, now: Instant)

    /// The device has renewed its credential.
    mutating func renewed(_ claims: Claims, of slot: Int, now: Instant)

    /// The suspended link that ends when there are too many (C-62).
    mutating func suspendedLinkToEnd() -> Int?

    /// A frame for a link, whose connection is read. The user passes it to `Link.receive`, and calls `takeArrivals` if
    /// the link has handled or skipped it.
    mutating func receive(
        _ header: FrameHeader, _ content: FrameContent, on slot: Int, now: Instant
    ) throws(LinkError) -> FrameConsequence

    /// A frame of a session, in order. Its credit is held until the user releases it.
    mutating func deliver(
        _ type: FrameType, _ content: FrameContent, on session: SessionID, _ creditByteCount: Int, of slot: Int,
        now: Instant
    ) throws(LinkError)

    /// An event of a session.
    mutating func handle(_ event: LinkEvent, of slot: Int, now: Instant)

    /// A link that had changed is asked for output. Returns its connection and whether it has output; nil if it has
    /// ended, has no connection, or remains changed.
    ///
    /// - Parameter isGroup: Whether more events of the user follow in this turn.
    mutating func update(_ slot: Int, isGroup: Bool, now: Instant) -> (connection: Int, hasOutput: Bool)?

    /// Sets the timer of a link that has no output.
    mutating func arm(_ slot: Int, now: Instant)

    /// Writes frames of a link, and sets its timer. Returns whether there may be more output.
    mutating func transmit(_ slot: Int, into out: inout OutputRawSpan, now: Instant) -> Bool

    /// The timer of a link has fired.
    mutating func timerFired(_ slot: Int, now: Instant)
}

extension LinkServerUser where Self: ~Copyable {
    /// Takes the events of a link, and the frames that were held behind a gap.
    package mutating func takeArrivals(of slot: Int, now: Instant) throws(LinkError) -> FrameConsequence {
        var result: FrameConsequence?
        while let arrival = try links[slot].link.nextArrival(now: now) {
            switch consume arrival {
            case .event(.goAway(let goAway)): return goAway.notice.code == .none ? .endLink : .disconnect
            case .event(.auth(let auth)):
                guard let credential = auth.credential else { throw .peer(.protocolViolation) }
                result = .renew(credential)
            case .event(let event): handle(event, of: slot, now: now)
            case .frame(let session, let frame):
                let body = FrameContent.body(frame.body.rawBytes)
                try deliver(frame.type, body, on: session, frame.creditByteCount, of: slot, now: now)
            }
        }
        return result ?? (budget.isSpent ? .pause : .proceed)
    }
}

/// The server's end of its links on one loop: connections, handshakes, and the frames of links.
///
/// A hello admits a connection, which gets a link, new or resumed. A fault of a connection ends that connection and
/// suspends its link.
///
/// | part | owns | outlives |
/// |---|---|---|
/// | `connections` | handshakes, incomplete frames, timers of connections | – |
/// | `unread` | the rest of the input of connections that have spent their budget | the turn |
/// | `transmits` | the connections that have output | the turn |
/// | `links` of the user | sessions, unacknowledged frames, credit | the connection, for the resume lifetime |
///
/// The drain contract is that of the engine of which the server is a part: after each event the driver performs the
/// outputs that the user has queued. The engine calls `flush` and then `nextTransmits` until there is no output, and
/// `endTurn`. Bytes are not outputs: `receive` takes them in pieces of any length, and `transmit` writes them when a
/// connection has room.
package struct LinkServer: ~Copyable {
    package let configuration: LinkServerConfiguration
    /// The wall clock in milliseconds since 1970, for the expiry of credentials.
    package var wallClock: UInt64 = 0
    private(set) var connections = ConnectionTable()
    private(set) var transmits = TransmitQueue()
    private(set) var unread = UnreadInput()
    private let place: LoopPlace
    /// The framer for all connections without an incomplete frame.
    private var spareFramer: FramerBox?
    /// Connections about whose next credential the authenticator decides (C-71).
    private var renewals: Set<ConnectionKey> = []
    private var drainNotice: Notice?
    private var revocations = Revocations()
    private var load: LoadShedding
    private var spread = ReconnectSpread()
    package private(set) var statistics = LinkServerStatistics()

    /// A server without connections.
    package init(_ configuration: LinkServerConfiguration, place: LoopPlace = .only) {
        self.configuration = configuration
        self.place = place
        load = LoadShedding(maxConnections: configuration.maxConnections)
    }

    // MARK: Connections

    /// A connection was accepted. Returns nil when there are too many; the driver then closes it at once (C-11).
    package mutating func accepted(
        _ carrier: Carrier, _ user: borrowing some LinkServerUser & ~Copyable, now: Instant
    ) -> ConnectionKey? {
        guard connections.count < configuration.maxConnections, !user.isMemoryFull else {
            statistics.connectionsRefused += 1
            return nil
        }
        let slot = connections.insert(ServerConnection(carrier: carrier, now: now))
        statistics.connectionsAccepted += 1
        connections.arm(slot, configuration)
        return connections.key(slot)
    }

    /// A connection has closed. Its link is suspended.
    package mutating func closed(
        _ key: ConnectionKey, _ user: inout some LinkServerUser & ~Copyable, now: Instant
    ) {
        guard let slot = connections.slot(key) else { return }
        detach(slot, &user, now: now)
        renewals.remove(key)
        connections.remove(slot)
    }

    /// The peer sends no more. An incomplete frame is not delivered (Specs/hostile.md row 8).
    package mutating func endOfStream(
        _ key: ConnectionKey, _ user: inout some LinkServerUser & ~Copyable, now: Instant
    ) {
        guard let slot = connections.slot(key), connections[slot].phase != .closing else { return }
        guard !connections[slot].hasUnread else { return unread.noteEnd(of: key) }
        do { try connections[slot].framer?.framer.finish() } catch {
            return fail(slot, LinkError(error), &user, now: now)
        }
        end(slot, afterFlush: true, &user, now: now)
    }

    /// Writes whole frames of a connection, as far as `out` has room.
    ///
    /// - Returns: Whether there may be more output.
    package mutating func transmit(
        on key: ConnectionKey, into out: inout OutputRawSpan, _ user: inout some LinkServerUser & ~Copyable,
        now: Instant
    ) -> Bool {
        guard let slot = connections.slot(key) else { return false }
        let hasMore = write(from: slot, into: &out, &user, now: now)
        transmits.transmitted(slot, hasMore: hasMore, in: &connections, now: now)
        return hasMore
    }

    private mutating func write(
        from slot: Int, into out: inout OutputRawSpan, _ user: inout some LinkServerUser & ~Copyable, now: Instant
    ) -> Bool {
        guard connections[slot].outbox.write(into: &out) else { return true }
        guard let link = connections[slot].linkSlot else { return false }
        return user.transmit(link, into: &out, now: now)
    }

    /// A connection's carrier holds this many bytes from `transmit` unsent; they count in the memory budget (R-48,
    /// Specs/hostile.md row 49).
    package mutating func noteUnsent(_ byteCount: Int, on key: ConnectionKey) {
        guard let slot = connections.slot(key), byteCount != Int(connections[slot].unsentByteCount) else { return }
        connections[slot].unsentByteCount = UInt32(clamping: byteCount)
        connections.settle(slot)
    }

    /// The number of connections.
    package var connectionCount: Int { connections.count }

    /// Bytes that framers and carriers hold.
    package var byteCount: Int { connections.byteCount }

    /// Bytes of unread input.
    package var unreadByteCount: Int { unread.byteCount }

    /// Bytes that the carrier of the connection in a slot holds unsent.
    package func unsentByteCount(of slot: Int) -> Int { Int(connections[slot].unsentByteCount) }

    /// The key of the connection in a slot.
    package func key(_ slot: Int) -> ConnectionKey { connections.key(slot) }

    // MARK: Time

    /// The instant at which `deadlinePassed` is due; in the past while unread input remains.
    package func deadline(_ user: borrowing some LinkServerUser & ~Copyable) -> Instant? {
        guard unread.isEmpty else { return .zero }
        return connections.deadline.orEarlier(user.links.deadline)
            .orEarlier(transmits.deadline(in: connections, timeout: configuration.slowConsumerTimeout))
            .orEarlier(user.links.suspensionDeadline(lifetime: configuration.resumeLifetime))
    }

    /// Acts on the deadlines of connections and links that have passed.
    package mutating func deadlinePassed(_ user: inout some LinkServerUser & ~Copyable, now: Instant) {
        expireCredentials(&user, now: now)
        endSlowConsumers(&user, now: now)
        while let slot = user.links.popExpiredSuspension(lifetime: configuration.resumeLifetime, now: now) {
            endLink(slot, nil, &user, now: now)
        }
        while let due = connections.popOverdue(configuration, now: now) {
            if due.code == .idleTimeout {
                end(due.slot, afterFlush: false, &user, now: now)
            } else {
                fail(due.slot, .peer(due.code), &user, now: now)
            }
        }
        while let slot = user.links.popExpired(now: now) { linkDeadline(slot, &user, now: now) }
    }

    /// Ends connections whose carriers have not had room for the timeout.
    private mutating func endSlowConsumers(_ user: inout some LinkServerUser & ~Copyable, now: Instant) {
        transmits.endTurn(in: &connections, now: now)
        let timeout = configuration.slowConsumerTimeout
        while let slot = transmits.popOverdue(in: connections, timeout: timeout, now: now) {
            switch connections[slot].phase {
            case .attached: fail(slot, .peer(.slowConsumer), &user, now: now)
            // The handshake has its own timeouts.
            case .awaitingHello, .authenticating, .challenged:
                transmits.transmitted(slot, hasMore: true, in: &connections, now: now)
            case .closing: break
            }
        }
    }

    private mutating func linkDeadline(
        _ slot: Int, _ user: inout some LinkServerUser & ~Copyable, now: Instant
    ) {
        guard let connection = user.links[slot].connection else { return }
        if !user.links[slot].link.hasUnacknowledged { user.links[slot].link.releaseIdleMemory() }
        user.timerFired(slot, now: now)
        guard let deadline = user.links[slot].link.deadline else { return }
        guard deadline <= now else { return user.links.arm(slot, at: deadline) }
        switch user.links[slot].link.deadlinePassed(now: now) {
        case .proceed, .overdue: user.links.markDirty(slot)
        case .replaceConnection: end(connection, afterFlush: false, &user, now: now)
        case .ackTimeout: fail(connection, .peer(.ackTimeout), &user, now: now)
        }
    }

    // MARK: Outputs

    /// Requests the transmission of changed links, and sets the timers of the others.
    ///
    /// - Parameter isGroup: Whether more events of the user follow in this turn.
    package mutating func flush(
        isGroup: Bool, _ user: inout some LinkServerUser & ~Copyable, now: Instant
    ) {
        let slots = user.links.takeDirty()
        // Receivers of messages precede publishers, which wait for an acknowledgement only.
        for slot in slots.reversed() {
            guard let (connection, hasOutput) = user.update(slot, isGroup: isGroup, now: now) else { continue }
            // The timer is set after the transmission, unless the carrier has no room.
            if hasOutput, transmits.request(connection, in: &connections, now: now) { continue }
            user.arm(slot, now: now)
        }
        user.links.recycle(slots)
    }

    /// The connections that the driver is to ask for bytes; nil when there are none.
    package mutating func nextTransmits() -> [ConnectionKey]? { transmits.takeUnreported() }

    /// Ends the turn, in which no output remains.
    package mutating func endTurn(now: Instant) { transmits.endTurn(in: &connections, now: now) }

    // MARK: Operator

    /// Ends every connection and link of an account whose credential was revoked (C-28, Specs/hostile.md row 24).
    /// Authentications in progress, here or during a transfer between loops, are refused.
    package mutating func revoke(
        _ account: AccountName, _ user: inout some LinkServerUser & ~Copyable, now: Instant
    ) {
        revocations.insert(account, now: now)
        endLinks(of: account, Notice(code: .revoked), &user, now: now)
    }

    /// Ends every link of an account, with its connection.
    package mutating func endLinks(
        of account: AccountName, _ notice: Notice, _ user: inout some LinkServerUser & ~Copyable, now: Instant
    ) {
        for slot in user.links.slots where user.links.isLive(slot) && user.links[slot].who.account == account {
            endLink(slot, notice, &user, now: now)
        }
    }

    /// Refuses new peers and ends all connections, with the time or the address of the next attempt (C-45).
    package mutating func drain(
        retryAfter: Duration?, redirect: String? = nil, _ user: inout some LinkServerUser & ~Copyable, now: Instant
    ) {
        let notice = Notice(code: .draining, retryAfter: retryAfter, redirect: redirect)
        drainNotice = notice
        for slot in connections.slots where connections.isLive(slot) && connections[slot].phase != .closing {
            end(slot, with: .goaway, notice, &user, now: now)
        }
    }

    // MARK: Other loops

    /// Takes a connection out of the server, for the server of its account's loop; nil when it has closed.
    package mutating func transfer(_ key: ConnectionKey) -> TransferredConnection? {
        guard let slot = connections.slot(key), connections[slot].handshake?.admission != nil else { return nil }
        let connection = connections[slot]
        connections.remove(slot)
        return TransferredConnection(connection: connection)
    }

    /// Continues the handshake of a connection from another loop. Returns nil when there are too many; the driver then
    /// closes it at once (C-11).
    package mutating func adopt(
        _ transferred: TransferredConnection, _ user: inout some LinkServerUser & ~Copyable, now: Instant
    ) -> ConnectionKey? {
        guard connections.count < configuration.maxConnections,
            let handshake = transferred.connection.handshake, let admission = handshake.admission.take()
        else { return nil }
        let slot = connections.insert(transferred.connection)
        let key = connections.key(slot)
        if let notice = refusal(of: admission.hello, user, now: now) {
            end(slot, with: .reject, notice, &user, now: now)
        } else {
            finishHandshake(slot, handshake, admission, &user, now: now)
        }
        return key
    }

    /// A turn of the driver's loop ends, which began at an instant. Further calls may follow in the same turn.
    package mutating func turnEnded(begunAt start: Instant, now: Instant) {
        load.turnEnded(begunAt: start, now: now)
    }

    /// The reason why a hello is not currently served: the server drains, or is near its limits and the hello resumes
    /// no link. Nil if it is served.
    private mutating func refusal(
        of hello: Hello, _ user: borrowing some LinkServerUser & ~Copyable, now: Instant
    ) -> Notice? {
        if let drainNotice { return drainNotice }
        guard hello.resume == nil,
            load.refusesLink(connectionCount: connections.count, isMemoryShort: user.isMemoryShort, now: now)
        else { return nil }
        statistics.linksRefused += 1
        return Notice(code: .serverBusy, retryAfter: configuration.busyRetryAfter)
    }

    /// The duration over which clients spread their attempts after the server's end (C-92).
    private mutating func reconnectSpread(_ links: borrowing LinkTable, now: Instant) -> Duration {
        spread.duration(
            clientCount: (links.count - links.suspendedCount) * place.count, loopCount: place.count, now: now)
    }

    // MARK: Input

    /// Bytes arrived on a connection, in any pieces; they are borrowed.
    ///
    /// Input beyond the connection's budget of a turn is kept, `.pauseReading` stops further input, and
    /// `continueReading` continues (R-50, Specs/hostile.md row 42).
    package mutating func receive(
        _ bytes: RawSpan, on key: ConnectionKey, _ user: inout some LinkServerUser & ~Copyable, now: Instant
    ) {
        guard let slot = connections.slot(key), connections[slot].phase != .closing else { return }
        connections[slot].noteReceived(byteCount: bytes.byteCount, now: now)
        guard connections[slot].phase != .authenticating else { return hold(bytes, on: slot, &user, now: now) }
        guard !connections[slot].hasUnread else { return unread.extend(key, with: bytes) }
        user.budget.begin(key)
        read(bytes, on: slot, &user, now: now)
    }

    /// Parses as much as the budget permits and keeps the rest.
    private mutating func read(
        _ bytes: RawSpan, on slot: Int, _ user: inout some LinkServerUser & ~Copyable, now: Instant
    ) {
        guard let count = parse(bytes, on: slot, &user, now: now) else { return }
        connections[slot].hasUnread = true
        unread.append(bytes.extracting(droppingFirst: count), of: connections.key(slot))
        user.queue(.pauseReading(connections.key(slot)))
    }

    /// Parses the unread input of the connection that has waited longest, as much as a budget permits.
    package mutating func continueReading(_ user: inout some LinkServerUser & ~Copyable, now: Instant) {
        while var part = unread.popFirst() {
            guard let slot = connections.slot(part.connection), connections[slot].phase != .closing else { continue }
            user.budget.restart(part.connection)
            let count = parse(
                part.bytes.rawBytes.extracting(droppingFirst: part.readByteCount), on: slot, &user, now: now)
            if let count {
                part.readByteCount += count
                return unread.append(part)
            }
            return finishUnread(part, &user, now: now)
        }
    }

    /// All unread input of a connection was parsed.
    private mutating func finishUnread(
        _ part: UnreadInput.Part, _ user: inout some LinkServerUser & ~Copyable, now: Instant
    ) {
        guard let slot = connections.slot(part.connection), connections[slot].phase != .closing else { return }
        connections[slot].hasUnread = false
        if part.isLast { return endOfStream(part.connection, &user, now: now) }
        // A connection that is authenticating is read again after the authenticator's answer.
        if connections[slot].phase != .authenticating { user.queue(.resumeReading(part.connection)) }
    }

    /// Keeps input behind a hello. Input of an unauthenticated peer is bounded (C-9).
    private mutating func hold(
        _ bytes: RawSpan, on slot: Int, _ user: inout some LinkServerUser & ~Copyable, now: Instant
    ) {
        guard let handshake = connections[slot].handshake,
            handshake.held.count + bytes.byteCount <= ServerConnection.maxHeldByteCount
        else { return fail(slot, .peer(.protocolViolation), &user, now: now) }
        handshake.held.append(bytes: bytes)
    }

    /// Parses input. Returns the number of parsed bytes when the budget is spent, otherwise nil.
    private mutating func parse(
        _ bytes: RawSpan, on slot: Int, _ user: inout some LinkServerUser & ~Copyable, now: Instant
    ) -> Int? {
        let box = takeFramer(for: slot, &user.links)
        defer { returnFramer(box, of: slot, &user.links) }
        var consumed = 0
        var frameCount = 0
        while consumed < bytes.byteCount || box.framer.hasWaitingFrames {
            guard !user.budget.isSpent else { return consumed }
            var failure: LinkError?
            let before = consumed
            do throws(WireError) {
                consumed += try box.framer.consumeContents(bytes.extracting(droppingFirst: consumed)) {
                    frameCount += 1
                    do throws(LinkError) {
                        return try receive($0, $1, on: slot, &user, now: now)
                    } catch {
                        failure = error
                    }
                    return .stop
                }
            } catch {
                failure = LinkError(error)
            }
            if let failure {
                fail(slot, failure, &user, now: now)
                return nil
            }
            if box.framer.allowsPackets, !chargePackets(box, on: slot, &user, now: now) { return nil }
            switch connections.phase(slot) {
            case nil, .closing: return nil
            case .authenticating:
                hold(bytes.extracting(droppingFirst: consumed), on: slot, &user, now: now)
                return nil
            case .attached(let link): user.links[Int(link)].link.noteReceived(byteCount: consumed - before)
            case .awaitingHello, .challenged: break
            }
        }
        checkPartial(slot, box, hadFrames: frameCount > 0, now: now)
        return nil
    }

    /// The framer with the connection's incomplete frame, or the one for all other connections.
    private mutating func takeFramer(for slot: Int, _ links: inout LinkTable) -> FramerBox {
        if let own = connections[slot].framer { return own }
        let box = spareFramer ?? FramerBox(Framer(maxBodyByteCount: 0))
        spareFramer = nil
        box.framer.maxBodyByteCount = Int(connections[slot].maxBodyByteCount)
        box.framer.maxPacketsPerCall = TurnBudget.packetsPerCall
        if let link = connections[slot].linkSlot {
            links[link].serve(&box.framer)
        } else {
            box.framer.serve()
        }
        // Early frames of a refused resume precede the client's next hello. A datagram may overtake the hello; its
        // frames are retransmitted (C-13, C-34).
        box.framer.expectsHello =
            connections[slot].phase == .awaitingHello && connections[slot].carrier == .reliable
            && connections[slot].handshake?.skipsFrames == false
        return box
    }

    /// The connection keeps the framer while it holds an incomplete frame. A framer that has failed is discarded.
    private mutating func returnFramer(_ box: FramerBox, of slot: Int, _ links: inout LinkTable) {
        guard connections.isLive(slot), connections[slot].phase != .closing else { return }
        if let link = connections[slot].linkSlot { links[link].keepReader(of: box.framer) }
        if !box.framer.isBetweenUnits {
            connections[slot].framer = box
            connections.settle(slot)
        } else {
            if connections[slot].framer != nil {
                connections[slot].framer = nil
                connections.settle(slot)
            }
            spareFramer = box
        }
    }

    /// Charges packets beside their frames. Returns false when too many packets without frames have ended the
    /// connection (S-59).
    private mutating func chargePackets(
        _ box: FramerBox, on slot: Int, _ user: inout some LinkServerUser & ~Copyable, now: Instant
    ) -> Bool {
        let counts = box.framer.takePacketCounts()
        user.budget.charge(counts.packets + counts.streams * TurnBudget.streamUnits)
        let unproductive = counts.withoutFrames + counts.streams * TurnBudget.streamUnits
        guard unproductive > 0, let link = connections[slot].linkSlot else { return true }
        do throws(LinkError) {
            try user.links[link].link.chargeUnproductive(unproductive, now: now)
            return true
        } catch {
            fail(slot, error, &user, now: now)
            return false
        }
    }

    /// Starts the timeout of an incomplete frame (Specs/hostile.md row 5).
    private mutating func checkPartial(_ slot: Int, _ box: FramerBox, hadFrames: Bool, now: Instant) {
        let before = connections[slot].partialSince
        if box.framer.bufferedByteCount == 0 {
            connections[slot].partialSince = nil
        } else if before == nil || hadFrames {
            connections[slot].partialSince = now
            if before == nil { connections.arm(slot, configuration) }
        }
    }

    private mutating func receive(
        _ header: FrameHeader, _ content: FrameContent, on slot: Int,
        _ user: inout some LinkServerUser & ~Copyable, now: Instant
    ) throws(LinkError) -> FramerStep {
        switch connections.phase(slot) {
        case .awaitingHello:
            guard header.type == .hello else {
                user.budget.charge(frameOf: content.byteCount)
                return user.budget.isSpent ? .stop : .proceed
            }
            try content.withBody { body throws(LinkError) in
                try receiveHello(header, body, on: slot, &user, now: now)
            }
            return .stop
        case .attached(let link):
            let link = Int(link)
            // The pong repeats the spread, which has changed since the welcome (C-92).
            if header.type == .ping {
                user.links[link].link.reconnectSpread = reconnectSpread(user.links, now: now)
            }
            switch try user.receive(header, content, on: link, now: now) {
            case .proceed: return .proceed
            case .pause: break
            case .disconnect: end(slot, afterFlush: true, &user, now: now)
            case .endLink: endLink(link, nil, &user, now: now)
            case .renew(let credential): try renew(slot, link, with: credential, &user)
            }
            if case .attached = connections.phase(slot), !user.budget.isSpent { return .proceed }
            return .stop
        case .challenged: return try receiveAnswer(header, content, on: slot, &user, now: now)
        case .authenticating, .closing, nil: return .stop
        }
    }

    // MARK: Handshake

    private mutating func receiveHello(
        _ header: FrameHeader, _ body: RawSpan, on slot: Int, _ user: inout some LinkServerUser & ~Copyable,
        now: Instant
    ) throws(LinkError) {
        guard header.compression == .none else { throw .peer(.compressionNotAllowed) }
        guard header.type.rule?.allows(header) == true else { throw .peer(.protocolViolation) }
        let hello: Hello
        do { hello = try Hello(parsing: body) } catch {
            throw .peer(error.scope == .frame ? .invalidHello : error.code)
        }
        guard hello.spokenVersions.contains(where: { $0.major == WireVersion.current.major }) else {
            throw .peer(.unsupportedVersion)
        }
        if let notice = refusal(of: hello, user, now: now) { return end(slot, with: .reject, notice, &user, now: now) }
        connections[slot].authenticate(hello, now: now)
        connections.arm(slot, configuration)
        user.queue(.pauseReading(connections.key(slot)))  // C-9
        user.queue(
            .authenticate(
                connections.key(slot),
                AuthenticationRequest(
                    account: hello.account, device: hello.device, mechanism: hello.mechanism,
                    credential: hello.credential, agent: hello.agent, presentedToken: hello.resume?.token)))
    }

    /// Admits an authenticated peer, and parses its early input, in its order (C-18).
    private mutating func finishHandshake(
        _ slot: Int, _ handshake: ServerHandshake, _ admission: Admission,
        _ user: inout some LinkServerUser & ~Copyable, now: Instant
    ) {
        let account = admission.account
        guard !revocations.covers(account, provenAt: handshake.askedAt) else {
            return refuse(slot, account, Notice(code: .revoked), nil, &user, now: now)
        }
        guard account != configuration.reservedAccount else {  // R-59, Specs/hostile.md row 59
            return refuse(slot, account, Notice(code: .forbidden), nil, &user, now: now)
        }
        admit(slot, admission, &user, now: now)
        guard connections.phase(slot) != .closing else { return }
        statistics.handshakes.record(now - handshake.begunAt)
        user.queue(.resumeReading(connections.key(slot)))
        let held = handshake.held
        handshake.held = []
        // The timer of the handshake is no longer needed.
        connections[slot].disarm()
        connections.arm(slot, configuration)
        user.budget.restart(connections.key(slot))
        if !held.isEmpty { read(held.rawBytes, on: slot, &user, now: now) }
    }

    private mutating func admit(
        _ slot: Int, _ admission: Admission, _ user: inout some LinkServerUser & ~Copyable, now: Instant
    ) {
        let (hello, who, token) = (admission.hello, admission.device, admission.grant.digest)
        // Minor versions only add: a client of a later one uses the current version, a client of an earlier one its
        // own (W-40, C-22).
        let spoken = hello.spokenVersions.filter { $0.major == WireVersion.current.major }.max() ?? .current
        let version = min(spoken, configuration.features.spokenVersion)
        let features = hello.features.intersection(configuration.features).available(in: version)  // W-41
        let limits = hello.limits.negotiated(with: configuration.limits)
        var resumed: [SessionPosition]?
        let link: Int
        if let point = hello.resume {
            guard let found = resumable(point, by: admission, in: user.links),
                user.links[found].link.canAdopt(limits, features: features)
            else { return refuseResume(slot, who, &user, now: now) }
            link = found
            // The older connection is fenced before the welcome, so that the link has one owner (W-47, C-32, C-38,
            // Specs/hostile.md row 22).
            if let older = user.links[link].connection {
                user.links[link].replaceConnection(lastReceived: connections[older].lastReceived)
                end(older, with: .goaway, Notice(code: .staleEpoch), &user, now: now)
            }
            user.links[link].beginEpoch(token)
            user.links[link].link.adopt(limits, features: features)
            user.linkResumed(link, admission.identity.claims, now: now)
            attach(link, to: slot, &user, now: now)
            user.links[link].link.confirm(point.positions, now: now)
            _ = try? user.takeArrivals(of: link, now: now)
            resumed = user.links[link].link.positions
            note(.resumed(who, user.links[link].id, epoch: user.links[link].epoch), on: slot, &user)
        } else {
            if let older = user.links.slot(of: who) {
                endLink(older, Notice(code: .replaced), &user, now: now)  // C-2, C-39
            }
            if let code = makeRoom(forLinkOf: who.account, &user, now: now) {
                let retryAfter = code == .serverBusy ? configuration.busyRetryAfter : nil
                let notice = Notice(code: code, retryAfter: retryAfter)
                return end(slot, with: .reject, notice, &user, now: now)
            }
            let new = Link(
                role: .relay, limits: limits, features: features, began: now,
                firstSequence: configuration.firstSequence)
            link = user.links.insert(new, of: who, token: token)
            user.linkBegan(link, admission.identity.claims, now: now)
            attach(link, to: slot, &user, now: now)
            note(.linked(who, user.links[link].id), on: slot, &user)
        }
        spread.arrived(now: now)
        let welcome = Welcome(
            version: version, features: features, limits: limits, account: who.account, link: user.links[link].id,
            resumeToken: admission.grant.token, epoch: user.links[link].epoch,
            resumeLifetime: configuration.resumeLifetime, heartbeatInterval: nil,
            reconnectSpread: reconnectSpread(user.links, now: now), credential: admission.final,
            credentialLifetime: setExpiry(of: admission.identity, on: slot, now: now), resumed: resumed)
        enqueue(.welcome, welcome.encode(), on: slot, now: now)
        user.links.markDirty(link)
    }

    /// The link that a client may resume. Every obstacle has the same answer (C-31, C-35).
    private func resumable(
        _ point: ResumePoint, by admission: Admission, in links: borrowing LinkTable
    ) -> Int? {
        guard let presented = admission.presented, let slot = links.slot(of: point.link),
            links[slot].who == admission.device, links[slot].accepts(presented),
            links[slot].link.canResume(from: point.positions)
        else { return nil }
        return slot
    }

    /// Refuses a whole resume. The connection may send another hello a limited number of times (Specs/hostile.md row
    /// 23), unless early frames of the old link can overtake it (C-34, C-35, W-38).
    private mutating func refuseResume(
        _ slot: Int, _ who: DeviceKey, _ user: inout some LinkServerUser & ~Copyable, now: Instant
    ) {
        note(.refused(who.account, .resumeRejected), on: slot, &user)
        let notice = Notice(code: .resumeRejected)
        if connections[slot].awaitAnotherHello(maxResumeAttempts: configuration.maxResumeAttempts) {
            enqueue(.reject, Reject(notice).encode(), on: slot, now: now)
        } else {
            end(slot, with: .reject, notice, &user, now: now)
        }
    }

    /// Makes room for one more link of an account; otherwise returns the reason of the refusal.
    private mutating func makeRoom(
        forLinkOf account: AccountName, _ user: inout some LinkServerUser & ~Copyable, now: Instant
    ) -> ErrorCode? {
        switch user.admission(ofLinkOf: account, now: now) {
        case .admitted: break
        case .replaces(let slot): endLink(slot, nil, &user, now: now)
        case .refused(let code): return code
        }
        return user.links.count < configuration.maxLinks && !user.isMemoryFull ? nil : .serverBusy
    }

    // MARK: Authentication

    /// The result of `.authenticate` or `.continueExchange`.
    package mutating func authenticated(
        _ key: ConnectionKey, _ answer: AuthenticationAnswer, _ user: inout some LinkServerUser & ~Copyable,
        now: Instant
    ) {
        guard let slot = connections.slot(key) else { return }
        if renewals.remove(key) != nil { return renewed(slot, answer, &user, now: now) }
        guard connections[slot].phase == .authenticating, let handshake = connections[slot].handshake,
            let hello = handshake.hello
        else { return }
        switch answer {
        case .challenge(let message):
            challenge(slot, handshake, with: message, &user, now: now)
        case .refused(let notice, let cause):
            refuse(slot, hello.account, notice, cause, &user, now: now)
        case .accepted(let identity, let grant, let presented, let final):
            handshake.hello = nil
            let admission = Admission(
                hello: hello, identity: identity, grant: grant, presented: presented, final: final)
            guard place.loop(of: identity.account) == place.index else {
                handshake.admission = admission
                return user.queue(.transfer(key, loop: place.loop(of: identity.account)))
            }
            finishHandshake(slot, handshake, admission, &user, now: now)
        }
    }

    private mutating func refuse(
        _ slot: Int, _ account: AccountName, _ notice: Notice, _ cause: String?,
        _ user: inout some LinkServerUser & ~Copyable, now: Instant
    ) {
        note(.refused(account, notice.code, cause: cause), on: slot, &user)
        end(slot, with: .reject, notice, &user, now: now)
    }

    /// Sends a message of the exchange, and reads the input for the answer. An authenticator without an end, or with
    /// messages too long for an unauthenticated peer, refuses the peer (C-69, Specs/hostile.md row 55).
    private mutating func challenge(
        _ slot: Int, _ handshake: ServerHandshake, with message: Credential,
        _ user: inout some LinkServerUser & ~Copyable, now: Instant
    ) {
        let body = Auth(credential: message).encode()
        guard handshake.challengeCount < ServerConnection.maxChallengeCount,
            handshake.maySend(bodyByteCount: body.count)
        else {
            guard let account = handshake.hello?.account else { return }
            return refuse(
                slot, account, Notice(code: .unauthenticated), "the exchange has too many or too long messages",
                &user, now: now)
        }
        let held = connections[slot].challenge()
        enqueue(.auth, body, on: slot, now: now)
        user.queue(.resumeReading(connections.key(slot)))
        user.budget.restart(connections.key(slot))
        if !held.isEmpty { read(held.rawBytes, on: slot, &user, now: now) }
    }

    /// Receives a frame of a challenged peer. Early frames may precede the auth frame; they are kept until welcome
    /// (C-18, C-69). A message that is too long fails the exchange like a wrong one (Specs/hostile.md row 55).
    private mutating func receiveAnswer(
        _ header: FrameHeader, _ content: FrameContent, on slot: Int,
        _ user: inout some LinkServerUser & ~Copyable, now: Instant
    ) throws(LinkError) -> FramerStep {
        guard header.type == .auth else {
            if try endsExchange(header, content, on: slot, &user, now: now) { return .stop }
            user.budget.charge(frameOf: content.byteCount)
            let byteCount = FrameHeader.byteCount + content.byteCount
            guard let handshake = connections[slot].handshake,
                handshake.held.count + byteCount <= ServerConnection.maxHeldByteCount
            else { throw .peer(.protocolViolation) }
            content.withBody { handshake.held += header.frame(body: $0) }
            return user.budget.isSpent ? .stop : .proceed
        }
        guard header.compression == .none else { throw .peer(.compressionNotAllowed) }
        guard header.type.rule?.allows(header) == true else { throw .peer(.protocolViolation) }
        let auth = try content.withBody { body throws(LinkError) -> Auth? in
            do throws(WireError) { return try Auth(parsing: body) } catch {
                guard case .invalidValue(.credential) = error else { throw .peer(error.code) }
                return nil
            }
        }
        guard let auth else {
            if let account = connections[slot].handshake?.hello?.account {
                refuse(
                    slot, account, Notice(code: .unauthenticated), "a message of the exchange is too long", &user,
                    now: now)
            }
            return .stop
        }
        guard let message = auth.credential else { throw .peer(.protocolViolation) }
        connections[slot].takeAnswer()
        user.queue(.pauseReading(connections.key(slot)))  // C-9
        user.queue(.continueExchange(connections.key(slot), message))
        return .stop
    }

    /// Ends the connection of a challenged peer that leaves, or sends a frame that no link accepts. Such a frame is not
    /// kept until welcome, so that the connection does not occupy its place until then (C-69).
    private mutating func endsExchange(
        _ header: FrameHeader, _ content: FrameContent, on slot: Int,
        _ user: inout some LinkServerUser & ~Copyable, now: Instant
    ) throws(LinkError) -> Bool {
        switch header.type {
        case .goaway:
            guard header.type.rule?.allows(header) == true else { throw .peer(.protocolViolation) }
            _ = try content.withBody { body throws(LinkError) in try Link.parse(GoAway.self, body) }
            end(slot, afterFlush: true, &user, now: now)
            return true
        case .hello where connections[slot].carrier == .reliable: throw .peer(.protocolViolation)
        case let type where type.isCritical && type.rule == nil: throw .peer(.unknownCritical)
        default: return false
        }
    }

    /// Asks the authenticator about another credential of an established connection, whose credential expires. Only one
    /// can be asked about at a time (C-71, Specs/hostile.md row 56).
    private mutating func renew(
        _ slot: Int, _ link: Int, with credential: Credential, _ user: inout some LinkServerUser & ~Copyable
    ) throws(LinkError) {
        let key = connections.key(slot)
        guard connections.hasCredentialExpiry(slot), renewals.insert(key).inserted else {
            throw .peer(.protocolViolation)
        }
        let who = user.links[link].who
        let request = AuthenticationRequest(account: who.account, device: who.device, credential: credential)
        user.queue(.authenticate(key, request))
    }

    /// The credential has to be of the same account. Otherwise the connection ends as if the earlier one had expired. A
    /// server without the time to decide leaves it the earlier one.
    private mutating func renewed(
        _ slot: Int, _ answer: AuthenticationAnswer, _ user: inout some LinkServerUser & ~Copyable, now: Instant
    ) {
        guard let link = connections[slot].linkSlot else { return }
        let account = user.links[link].who.account
        guard case .accepted(let identity, _, _, _) = answer, identity.account == account else {
            var notice = Notice(code: .unauthenticated)
            var cause: String? = "the credential is for another account"
            if case .refused(let refusal, let its) = answer { (notice, cause) = (refusal, its) }
            note(.refused(account, notice.code, cause: cause), on: slot, &user)
            if notice.code == .serverBusy { return }
            return end(slot, with: .goaway, notice, &user, now: now)
        }
        user.renewed(identity.claims, of: link, now: now)
        let lifetime = setExpiry(of: identity, on: slot, now: now)
        enqueue(.auth, Auth(credentialLifetime: lifetime).encode(), on: slot, now: now)
    }

    /// Sets the instant at which the credential of a connection expires. Returns the duration until then; nil if it
    /// does not expire.
    private mutating func setExpiry(of identity: Identity, on slot: Int, now: Instant) -> Duration? {
        let lifetime = identity.expiresAt.map { expiresAt in
            let rest = Duration.milliseconds(Int64(clamping: expiresAt) - Int64(clamping: wallClock))
            return min(max(rest, .zero), .seconds(1 << 30))
        }
        connections.setCredentialExpiry(slot, at: lifetime.map { now + $0 })
        return lifetime
    }

    /// Ends connections whose credentials have expired. The clients continue their links with other credentials (C-66).
    private mutating func expireCredentials(_ user: inout some LinkServerUser & ~Copyable, now: Instant) {
        while let slot = connections.popExpiredCredential(now: now) {
            if let link = connections[slot].linkSlot {
                let account = user.links[link].who.account
                let note = LinkNote.refused(account, .unauthenticated, cause: "the credential has expired")
                self.note(note, on: slot, &user)
            }
            end(slot, with: .goaway, Notice(code: .unauthenticated), &user, now: now)
        }
    }

    // MARK: Links

    private mutating func attach(
        _ link: Int, to slot: Int, _ user: inout some LinkServerUser & ~Copyable, now: Instant
    ) {
        let carrier = connections[slot].carrier
        user.links.resume(link)
        user.links[link].attach(slot, carrier, deflatesPackets: configuration.deflatesPackets, now: now)
        user.linkAttached(link, now: now)
        connections[slot].attach(link, maxBodyByteCount: user.links[link].link.limits.maxBodyByteCount)
    }

    /// Suspends the connection's link.
    private mutating func detach(_ slot: Int, _ user: inout some LinkServerUser & ~Copyable, now: Instant) {
        let lastReceived = connections[slot].lastReceived
        guard let link = connections[slot].linkSlot, user.links.isLive(link),
            user.links[link].detach(slot, lastReceived: lastReceived)
        else { return }
        // What arrived before a fault of the connection precedes the frames of the next one.
        _ = try? user.takeArrivals(of: link, now: now)
        user.links.suspend(link, now: now)
        user.linkSuspended(link, now: now)
        note(.suspended(user.links[link].who, user.links[link].id), on: slot, &user)
        while user.links.suspendedCount > configuration.maxSuspendedLinks, let surplus = user.suspendedLinkToEnd() {
            endLink(surplus, nil, &user, now: now)
        }
        user.links.trimSuspensions()
    }

    /// Ends a link and its connection, with a notice if the peer did not ask for it. The link is not suspended
    /// meanwhile, so no other link is removed for it (C-62).
    package mutating func endLink(
        _ slot: Int, _ notice: Notice?, _ user: inout some LinkServerUser & ~Copyable, now: Instant
    ) {
        let (who, id, connection) = (user.links[slot].who, user.links[slot].id, user.links[slot].connection)
        user.linkEnds(slot, now: now)
        user.links.remove(slot)
        note(.ended(who, id), on: connection, &user)
        guard let connection else { return }
        if let notice {
            end(connection, with: .goaway, notice, &user, now: now)
        } else {
            end(connection, afterFlush: true, &user, now: now)
        }
    }

    // MARK: End

    /// Ends a connection for a fault, which a notice reports if possible (C-41).
    package mutating func fail(
        _ slot: Int, _ error: LinkError, _ user: inout some LinkServerUser & ~Copyable, now: Instant
    ) {
        guard connections[slot].phase != .closing else { return }
        note(.faulted(error.code), on: slot, &user)
        if error.code == .authTimeout, let account = connections[slot].handshake?.hello?.account {
            note(.refused(account, .authTimeout), on: slot, &user)
        }
        // C-22
        let spoken: [WireVersion] = error.code == .unsupportedVersion ? configuration.features.spokenVersions : []
        // An invalid hello has the answer of a refused one (C-13).
        let type: FrameType = error.code == .invalidHello ? .reject : .goaway
        end(slot, with: type, Notice(code: error.code, spokenVersions: spoken), &user, now: now)
    }

    /// Queues a goaway or a reject, and ends the connection behind it (C-40).
    ///
    /// The answer to an unauthenticated peer has at most three times the bytes of its input, so that no third host can
    /// be flooded (Specs/hostile.md row 32). A longer notice is shortened or omitted (W-37, C-15).
    private mutating func end(
        _ slot: Int, with type: FrameType, _ notice: Notice, _ user: inout some LinkServerUser & ~Copyable,
        now: Instant
    ) {
        for shorter in [notice, notice.withoutReason, Notice(code: notice.code)] {
            let body = type == .reject ? Reject(shorter).encode() : GoAway(shorter).encode()
            if let handshake = connections[slot].handshake, !handshake.maySend(bodyByteCount: body.count) { continue }
            enqueue(type, body, on: slot, now: now)
            break
        }
        end(slot, afterFlush: true, &user, now: now)
    }

    /// Ends a connection. Its link is suspended.
    package mutating func end(
        _ slot: Int, afterFlush: Bool, _ user: inout some LinkServerUser & ~Copyable, now: Instant
    ) {
        guard connections[slot].phase != .closing else { return }
        detach(slot, &user, now: now)
        renewals.remove(connections.key(slot))
        connections[slot].close()
        connections.disarm(slot)
        user.queue(.close(connections.key(slot), afterFlush: afterFlush))
        if !afterFlush { connections.remove(slot) }
    }

    /// Queues a handshake frame.
    private mutating func enqueue(_ type: FrameType, _ body: [UInt8], on slot: Int, now: Instant) {
        let byteCount = connections[slot].outbox.append(type, body)
        connections[slot].handshake?.sentByteCount += byteCount
        transmits.request(slot, in: &connections, now: now)
    }

    /// Reports a note, and counts its event.
    private mutating func note(
        _ note: LinkNote, on slot: Int?, _ user: inout some LinkServerUser & ~Copyable
    ) {
        switch note {
        case .faulted(let code): statistics.faults.count(code)
        case .resumed: statistics.resumes += 1
        case .linked: statistics.linksBegun += 1
        case .refused(_, let code, _): statistics.refusals.count(code)
        case .suspended, .ended: break
        }
        user.queue(.note(note, on: slot.map { connections.key($0) }))
    }

    // MARK: Quiescence

    /// Checks that no connection has unfinished work, although its peer has received everything.
    package func check(_ check: inout QuiescenceCheck) { connections.check(&check) }
}

extension Notice {
    fileprivate var withoutReason: Notice {
        Notice(code: code, retryAfter: retryAfter, redirect: redirect, spokenVersions: spokenVersions)
    }
}
