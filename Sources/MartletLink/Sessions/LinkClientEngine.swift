import MartletWire

/// The client's end of a link with the sessions of an application: a `ClientLink` and its `LinkSessions`.
///
/// The drain contract is that of `ClientLink`: after each event the driver performs the outputs of `nextOutput` until
/// there is none, and reads `deadline`.
package struct LinkClientEngine: ~Copyable {
    /// An output for the driver.
    package enum Output: Equatable, Sendable {
        case link(LinkOutput)
        case result(CallID, SessionResult)
    }

    private var client: ClientLink
    private var user = ClientSessions()

    package init(_ configuration: LinkConfiguration, seed: UInt64, now: Instant) {
        client = ClientLink(configuration, seed: seed, now: now)
    }

    // MARK: Events

    /// Handles an event of the application or of the carrier.
    package mutating func handle(_ input: LinkInput, now: Instant) { client.handle(input, &user, now: now) }

    /// Reports bytes received on a connection, in pieces of any length.
    package mutating func receive(_ bytes: RawSpan, on id: ConnectionID, now: Instant) {
        client.receive(bytes, on: id, &user, now: now)
    }

    /// Writes complete frames for a connection, as far as `out` has room.
    ///
    /// - Returns: Whether there may be more frames.
    package mutating func transmit(on id: ConnectionID, into out: inout OutputRawSpan, now: Instant) -> Bool {
        client.transmit(on: id, into: &out, now: now)
    }

    /// Begins a call of the application.
    package mutating func begin(_ call: SessionCall, _ id: CallID, now: Instant) {
        user.sessions.begin(call, id, &client.link, now: now)
    }

    /// Cancels a call that waits.
    package mutating func cancel(_ call: CallID) { user.sessions.cancel(call, &client.link) }

    /// Closes all sessions behind their messages.
    package mutating func closeAll() { user.sessions.closeAll(&client.link) }

    /// Ends all sessions and calls.
    package mutating func end(_ failure: LinkFailure) { user.sessions.end(failure) }

    // MARK: Time and outputs

    /// The instant at which the driver calls `deadlinePassed`.
    package var deadline: Instant? { client.deadline.orEarlier(user.sessions.deadline) }

    /// Processes the deadlines that have passed.
    package mutating func deadlinePassed(now: Instant) { client.deadlinePassed(&user, now: now) }

    /// Removes and returns the next output; nil if there is none until the next event.
    package mutating func nextOutput(now: Instant) -> Output? {
        if let output = user.nextOutput() { return output }
        user.sessions.fill(&client.link, now: now)
        user.notePending(on: client.link)
        client.finishTurn(&user, now: now)
        return user.nextOutput()
    }

    // MARK: State

    /// The state of the client and its cause.
    package var status: LinkStatus { client.status }

    /// Returns the flight recording of the connections. The outputs have been drained.
    package func recording(now: Instant) -> [UInt8] { client.recording(now: now) }

    /// Whether the server has acknowledged all messages.
    package var isFlushed: Bool { user.sessions.isFlushed(client.link) }

    /// Whether a connection is established and the server has not sent welcome.
    package func isAwaitingWelcome(on id: ConnectionID) -> Bool { client.isAwaitingWelcome(on: id) }

    /// Whether a server has answered on the latest connection.
    package func hasAnswer(on id: ConnectionID) -> Bool { client.hasAnswer(on: id) }
}

/// The sessions of a client as the user of its link.
struct ClientSessions: ClientLinkUser, ~Copyable {
    var sessions = LinkSessions()
    /// Whether there is no connection, and the server has not acknowledged all messages.
    private var hasUnacknowledged = false
    private var outputs = Deque<LinkOutput>()

    mutating func nextOutput() -> LinkClientEngine.Output? {
        if let (call, result) = sessions.nextResult() { return .result(call, result) }
        return outputs.popFirst().map { .link($0) }
    }

    var hasPending: Bool { sessions.hasPending || hasUnacknowledged }

    /// Messages that the link has taken wait for a connection, too (C-95).
    mutating func notePending(on link: borrowing Link) {
        hasUnacknowledged = !link.isAttached && !sessions.isFlushed(link)
    }

    var awaitsResponse: Bool { false }

    mutating func queue(_ output: LinkOutput) {
        if case .status(let status) = output, case .stopped(let reason?) = status.state {
            sessions.end(.gaveUp(reason))
        }
        outputs.append(output)
    }

    mutating func linkBegan(_ link: inout Link) { sessions.linkBegan() }

    mutating func linkAttached(_ link: inout Link, now: Instant) {}

    /// Sessions are opened after welcome, with the negotiated limits.
    mutating func established(_ link: inout Link, now: Instant) { sessions.established(&link, now: now) }

    mutating func receive(
        _ type: FrameType, _ content: FrameContent, on session: SessionID, _ creditByteCount: Int, _ link: inout Link,
        now: Instant
    ) throws(LinkError) {
        try sessions.receive(type, content, on: session, creditByteCount, &link, now: now)
    }

    mutating func handle(_ event: LinkEvent, _ link: inout Link, now: Instant) { sessions.handle(event, &link) }
}
