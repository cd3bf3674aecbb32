import MartletWire

/// The server's end of links with the sessions of an application: a `LinkServer`, and `LinkSessions` for each link.
///
/// | state of a link | owns | ends |
/// |---|---|---|
/// | offered | an entry in the order of arrival | the application takes it; the surplus of ended ones |
/// | taken | – | `releaseLink` |
///
/// A link that has ended keeps the messages that the application has not taken, until the application drops it.
///
/// The drain contract is that of `LinkServer`: after each event the driver performs the outputs of `nextOutput` until
/// there is none, and reads `deadline`.
package struct LinkListenerEngine: ~Copyable {
    /// The maximum number of ended links that the application has not taken; beyond it, the oldest is discarded with
    /// its messages.
    package static let maxEndedLinkCount = 256

    /// An output for the driver.
    package enum Output: Sendable {
        case link(LinkServerOutput)
        case result(CallID, SessionResult)
    }

    private var server: LinkServer
    private var user: ListenerSessions

    /// - Parameter seed: The number before the first link's ID.
    package init(_ configuration: LinkServerConfiguration, seed: UInt64) {
        server = LinkServer(configuration)
        user = ListenerSessions(firstID: seed)
    }

    /// The wall clock in milliseconds since 1970.
    package var wallClock: UInt64 {
        get { server.wallClock }
        set { server.wallClock = newValue }
    }

    // MARK: Connections

    /// A connection was accepted. Returns nil when there are too many; the driver then closes it at once (C-11).
    package mutating func accepted(now: Instant) -> ConnectionKey? { server.accepted(.reliable, user, now: now) }

    /// A connection has closed.
    package mutating func closed(_ key: ConnectionKey, now: Instant) { server.closed(key, &user, now: now) }

    /// The peer sends no more.
    package mutating func endOfStream(_ key: ConnectionKey, now: Instant) { server.endOfStream(key, &user, now: now) }

    /// Bytes arrived on a connection, in pieces of any length.
    package mutating func receive(_ bytes: RawSpan, on key: ConnectionKey, now: Instant) {
        server.receive(bytes, on: key, &user, now: now)
    }

    /// The result of `.authenticate`.
    package mutating func authenticated(_ key: ConnectionKey, _ answer: AuthenticationAnswer, now: Instant) {
        server.authenticated(key, answer, &user, now: now)
    }

    /// Writes whole frames of a connection, as far as `out` has room.
    ///
    /// - Returns: Whether there may be more output.
    package mutating func transmit(on key: ConnectionKey, into out: inout OutputRawSpan, now: Instant) -> Bool {
        server.transmit(on: key, into: &out, &user, now: now)
    }

    /// A connection's carrier holds this many bytes from `transmit` unsent.
    package mutating func noteUnsent(_ byteCount: Int, on key: ConnectionKey) { server.noteUnsent(byteCount, on: key) }

    // MARK: Calls

    /// Takes the next link; the result is `link`.
    package mutating func takeLink(_ call: CallID) {
        if let (key, record) = user.nextOffered() { return user.finish(call, record.result(key)) }
        if user.isOver { return user.finish(call, .end) }
        user.takers.append(call)
    }

    /// Begins a call about the sessions of a link.
    package mutating func begin(_ call: SessionCall, _ id: CallID, on key: LinkKey, now: Instant) {
        guard let record = user.records[key] else { return user.finish(id, .failed(.linkEnded)) }
        user.withLink(of: key) { link in record.sessions.begin(call, id, &link, now: now) }
        user.collect(record)
    }

    /// Cancels a call that waits; the key is nil for `takeLink`.
    package mutating func cancel(_ call: CallID, on key: LinkKey?) {
        guard let key, let record = user.records[key] else {
            guard let index = user.takers.firstIndex(of: call) else { return }
            user.takers.remove(at: index)
            return user.finish(call, .cancelled)
        }
        user.withLink(of: key) { link in record.sessions.cancel(call, &link) }
        user.collect(record)
    }

    /// The application has dropped a link, which ends. Its client begins a different one after `busyRetryAfter`.
    package mutating func releaseLink(_ key: LinkKey, now: Instant) {
        if let slot = user.links.slot(key) {
            let notice = Notice(code: .serverBusy, retryAfter: server.configuration.busyRetryAfter)
            server.endLink(slot, notice, &user, now: now)
        }
        user.records[key] = nil
    }

    /// The number of links that the application has not dropped, ended ones included.
    package var linkCount: Int { user.records.count }

    // MARK: End

    /// Closes all sessions behind their messages.
    package mutating func closeAll() {
        for (key, record) in user.records {
            user.withLink(of: key) { link in record.sessions.closeAll(&link) }
            user.collect(record)
        }
    }

    /// Whether the devices that have a connection have acknowledged all messages.
    package var isFlushed: Bool {
        user.links.slots.allSatisfy { slot in
            guard user.links.isLive(slot), user.links[slot].connection != nil else { return true }
            return user.records[user.links[slot].key]?.sessions.isFlushed(user.links[slot].link) ?? true
        }
    }

    /// Ends all links and calls, and the connections behind a notice (C-45).
    package mutating func end(now: Instant) {
        server.drain(retryAfter: nil, &user, now: now)
        for record in user.records.values {
            record.sessions.end(.stopped)
            user.collect(record)
        }
        user.isOver = true
        for call in user.takers { user.finish(call, .end) }
        user.takers = []
    }

    // MARK: Time and outputs

    /// The instant at which `deadlinePassed` is due; in the past while unread input remains.
    package var deadline: Instant? { server.deadline(user) }

    /// Acts on the deadlines that have passed.
    package mutating func deadlinePassed(now: Instant) {
        server.continueReading(&user, now: now)
        server.deadlinePassed(&user, now: now)
    }

    /// The next action of the driver; nil when there is none until the next event.
    package mutating func nextOutput(now: Instant) -> Output? {
        while true {
            if let keys = server.nextTransmits() { return .link(.transmit(keys)) }
            if let output = user.outputs.popFirst() { return output }
            guard user.links.hasDirty else { break }
            server.flush(isGroup: false, &user, now: now)
        }
        server.endTurn(now: now)
        user.budget.end()
        return nil
    }

    /// A turn of the driver's loop ends, which began at an instant.
    package mutating func turnEnded(begunAt start: Instant, now: Instant) { server.turnEnded(begunAt: start, now: now) }
}

/// The sessions of one link, which may have ended.
final class LinkRecord {
    let id: LinkID
    let who: DeviceKey
    let claims: Claims
    var sessions = LinkSessions()

    init(id: LinkID, who: DeviceKey, claims: Claims) {
        (self.id, self.who, self.claims) = (id, who, claims)
    }

    func result(_ key: LinkKey) -> SessionResult { .link(key, id, who, claims) }
}

/// The links of a listener and their sessions, as the user of its server.
struct ListenerSessions: LinkServerUser, ~Copyable {
    var links: LinkTable
    var budget = TurnBudget()
    var records: [LinkKey: LinkRecord] = [:]
    /// The calls that wait for a link.
    var takers: [CallID] = []
    var isOver = false
    var outputs = Deque<LinkListenerEngine.Output>()
    /// The links that the application has not taken, in the order of their arrival.
    private var offered: [LinkKey] = []
    private var inflater = Inflater()
    /// A link for the calls about a link that has ended.
    private var endedLink = Link(role: .relay, limits: .minimum, features: [], began: .zero)

    init(firstID: UInt64) { links = LinkTable(loop: 0, firstID: firstID) }

    mutating func finish(_ call: CallID, _ result: SessionResult) { outputs.append(.result(call, result)) }

    /// Passes the results of a link's calls to the driver.
    mutating func collect(_ record: LinkRecord) {
        while let (call, result) = record.sessions.nextResult() { finish(call, result) }
    }

    /// Calls `body` with a link, which changes.
    mutating func withLink(of key: LinkKey, _ body: (inout Link) -> Void) {
        guard let slot = links.slot(key) else { return body(&endedLink) }
        body(&links[slot].link)
        links.markDirty(slot)
    }

    mutating func nextOffered() -> (LinkKey, LinkRecord)? {
        guard let key = offered.first, let record = records[key] else { return nil }
        offered.removeFirst()
        return (key, record)
    }

    // MARK: The server

    var isMemoryFull: Bool { false }

    var isMemoryShort: Bool { false }

    mutating func queue(_ output: LinkServerOutput) { outputs.append(.link(output)) }

    mutating func admission(ofLinkOf account: AccountName, now: Instant) -> LinkAdmission { .admitted }

    mutating func linkBegan(_ slot: Int, _ claims: Claims, now: Instant) {
        let key = links[slot].key
        let record = LinkRecord(id: links[slot].id, who: links[slot].who, claims: claims)
        records[key] = record
        record.sessions.established(&links[slot].link, now: now)
        if takers.isEmpty {
            offered.append(key)
        } else {
            finish(takers.removeFirst(), record.result(key))
        }
    }

    mutating func linkResumed(_ slot: Int, _ claims: Claims, now: Instant) {}

    mutating func linkAttached(_ slot: Int, now: Instant) {}

    mutating func linkSuspended(_ slot: Int, now: Instant) {}

    mutating func linkEnds(_ slot: Int, now: Instant) {
        guard let record = records[links[slot].key] else { return }
        record.sessions.end(.linkEnded)
        collect(record)
        let ended = offered.filter { links.slot($0) == nil || $0 == links[slot].key }
        guard ended.count > LinkListenerEngine.maxEndedLinkCount, let oldest = ended.first else { return }
        offered.removeAll { $0 == oldest }
        records[oldest] = nil
    }

    mutating func renewed(_ claims: Claims, of slot: Int, now: Instant) {}

    func suspendedLinkToEnd() -> Int? { links.longestSuspended }

    mutating func receive(
        _ header: FrameHeader, _ content: FrameContent, on slot: Int, now: Instant
    ) throws(LinkError) -> FrameConsequence {
        budget.charge(frameOf: content.byteCount)
        let inflated = inflater.producedByteCount
        let reception = try links[slot].link.receive(header, content, inflater: &inflater, now: now)
        budget.charge((inflater.producedByteCount - inflated) / TurnBudget.bytesPerUnit)
        links.markDirty(slot)
        guard case .deliver(let session, let credit) = reception else { return try takeArrivals(of: slot, now: now) }
        try deliver(header.type, content, on: session, credit, of: slot, now: now)
        return budget.isSpent ? .pause : .proceed
    }

    mutating func deliver(
        _ type: FrameType, _ content: FrameContent, on session: SessionID, _ creditByteCount: Int, of slot: Int,
        now: Instant
    ) throws(LinkError) {
        guard let record = records[links[slot].key] else { return }
        defer { collect(record) }
        try record.sessions.receive(type, content, on: session, creditByteCount, &links[slot].link, now: now)
    }

    mutating func handle(_ event: LinkEvent, of slot: Int, now: Instant) {
        guard let record = records[links[slot].key] else { return }
        record.sessions.handle(event, &links[slot].link)
        collect(record)
    }

    mutating func update(_ slot: Int, isGroup: Bool, now: Instant) -> (connection: Int, hasOutput: Bool)? {
        guard links.isLive(slot) else { return nil }
        links.clearDirty(slot)
        if let record = records[links[slot].key] {
            record.sessions.fill(&links[slot].link, now: now)
            collect(record)
        }
        return links[slot].connection.map { ($0, links[slot].link.hasOutput(now: now)) }
    }

    mutating func arm(_ slot: Int, now: Instant) {
        links.arm(slot, hasIdleMemory: false, now: now)
        if let deadline = records[links[slot].key]?.sessions.deadline { links.arm(slot, at: deadline) }
    }

    mutating func transmit(_ slot: Int, into out: inout OutputRawSpan, now: Instant) -> Bool {
        links[slot].link.transmit(into: &out, now: now)
        arm(slot, now: now)
        return links[slot].link.hasOutput(now: now)
    }

    mutating func timerFired(_ slot: Int, now: Instant) { links.markDirty(slot) }
}
