import MartletWire
import Testing

@testable import MartletLink

/// The two ends of a link with sessions, on a carrier that has no delay.
final class SessionPair {
    /// One end, and the results of its calls.
    final class End {
        var link: Link
        var sessions = LinkSessions()
        private(set) var results: [UInt64: SessionResult] = [:]
        private var framer = Framer(maxBodyByteCount: Limits().maxBodyByteCount)
        private var inflater = Inflater()

        init(_ role: LinkRole, _ limits: Limits, now: Instant) {
            link = Link(role: role, limits: limits, features: .supported, began: now)
        }

        var hasPending: Bool { sessions.hasPending }
        var hasSessions: Bool { sessions.hasSessions }
        var deadline: Instant? { sessions.deadline }
        var isFlushed: Bool { sessions.isFlushed(link) }
        var sessionCount: Int { link.sessionCount }
        /// The number of messages that the link has taken.
        var doneCount: Int { results.values.count { $0 == .done } }

        func attach(_ positions: [SessionPosition]?, now: Instant) {
            framer = Framer(maxBodyByteCount: link.limits.maxBodyByteCount)
            link.attach(.reliable, isEarly: false, now: now)
            if let positions { link.confirm(positions, now: now) }
        }

        func begin(_ link: consuming Link, now: Instant) {
            self.link = link
            sessions.linkBegan()
            attach(nil, now: now)
            sessions.established(&self.link, now: now)
        }

        func receive(_ bytes: [UInt8], now: Instant) throws {
            var fault: LinkError?
            _ = try framer.consume(bytes.rawBytes) { header, body in
                do throws(LinkError) { try take(header, body, now: now) } catch { fault = error }
                return .proceed
            }
            if let fault { throw fault }
        }

        private func take(_ header: FrameHeader, _ body: RawSpan, now: Instant) throws(LinkError) {
            let reception = try link.receive(header, .body(body), inflater: &inflater, now: now)
            if case .deliver(let session, let credit) = reception {
                try sessions.receive(header.type, .body(body), on: session, credit, &link, now: now)
            }
            while let arrival = try link.nextArrival(now: now) {
                switch arrival {
                case .event(let event): sessions.handle(event, &link)
                case .frame(let session, let frame):
                    let body = FrameContent.body(frame.body.rawBytes)
                    try sessions.receive(frame.type, body, on: session, frame.creditByteCount, &link, now: now)
                }
            }
        }

        func transmit(now: Instant) -> [UInt8] {
            sessions.fill(&link, now: now)
            while let (call, result) = sessions.nextResult() {
                #expect(results[call.number] == nil, "a call has two results")
                results[call.number] = result
            }
            guard link.isAttached else { return [] }
            return [UInt8](capacity: 64 * 1024) { out in link.transmit(into: &out, now: now) }
        }
    }

    let client: End
    let server: End
    private(set) var now = Instant(nanoseconds: 1_000_000_000)
    private var callCount: UInt64 = 0

    /// Creates two ends with a connection.
    init(_ limits: Limits = Limits(), isEstablished: Bool = true) throws {
        client = End(.client, limits, now: now)
        server = End(.relay, limits, now: now)
        client.attach(nil, now: now)
        server.attach(nil, now: now)
        guard isEstablished else { return }
        client.sessions.established(&client.link, now: now)
        server.sessions.established(&server.link, now: now)
        try settle()
    }

    /// Begins a call, exchanges all frames, and returns the number of the call.
    @discardableResult
    func begin(_ call: SessionCall, at end: End) throws -> UInt64 {
        callCount += 1
        end.sessions.begin(call, CallID(callCount), &end.link, now: now)
        try settle()
        return callCount
    }

    /// Performs a call, and returns its result; nil if it waits.
    @discardableResult
    func call(_ call: SessionCall, at end: End) throws -> SessionResult? {
        let id = try begin(call, at: end)
        return end.results[id]
    }

    func cancel(_ call: UInt64, at end: End) throws {
        end.sessions.cancel(CallID(call), &end.link)
        try settle()
    }

    /// Opens a session at the client, and takes it at the server.
    func open(_ name: String, _ kind: SessionKind = .chat) throws -> (client: SessionKey, server: SessionKey) {
        let label = try #require(RoomName(name))
        guard case .session(let key, label, kind) = try call(.open(label, kind), at: client),
            case .session(let other, label, kind) = try call(.accept, at: server)
        else { throw NoSession() }
        return (key, other)
    }

    struct NoSession: Error {}

    /// Exchanges frames until none is left. Timers for delayed acknowledgements fire at once.
    func settle() throws {
        var isIdle = false
        while !isIdle {
            isIdle = true
            for (from, to) in [(client, server), (server, client)] {
                if let deadline = from.link.deadline, from.link.isAttached, deadline - now < .milliseconds(100) {
                    now = max(now, deadline)
                    _ = from.link.deadlinePassed(now: now)
                }
                let bytes = from.transmit(now: now)
                guard !bytes.isEmpty else { continue }
                isIdle = false
                try to.receive(bytes, now: now)
            }
        }
    }

    func cut() {
        client.link.detach()
        server.link.detach()
    }

    func resume() throws {
        let (positions, others) = (client.link.positions, server.link.positions)
        server.attach(positions, now: now)
        client.attach(others, now: now)
        try settle()
    }

    /// A different link begins, whose server has other sessions.
    func beginOtherLink() {
        client.begin(Link(role: .client, limits: client.link.limits, features: .supported, began: now), now: now)
        server.begin(Link(role: .relay, limits: server.link.limits, features: .supported, began: now), now: now)
    }

    func advance(by duration: Duration) throws {
        now = now + duration
        try settle()
    }
}
