import MartletWire
import Testing

@testable import MartletLink

/// One side of a `LinkPair`: a link, its framer, and an application that records its frames.
final class LinkEnd {
    /// A frame delivered to the application.
    struct Delivery: Equatable {
        var at: Instant
        var session: SessionID
        var type: FrameType
        var body: [UInt8]
        var credit: Int
    }

    var link: Link
    var carrier: Carrier
    /// Whether the application releases credit at each delivery.
    var releases = true
    /// Whether sessions that the peer opens are accepted at once.
    var accepts = true
    /// Whether sessions that the peer closes are closed at once.
    var closes = true
    private(set) var deliveries: [Delivery] = []
    private(set) var events: [LinkEvent] = []
    /// The error that ended the connection.
    var fault: LinkError?
    /// The demands of deadlines, without `proceed` and `overdue`.
    var demands: [Link.OnDeadline] = []
    /// The number of deadlines with the answer `overdue`.
    var overdueCount = 0
    private var framer = Framer(maxBodyByteCount: Limits().maxBodyByteCount)
    private var inflater = Inflater()

    init(_ role: LinkRole, _ limits: Limits, carrier: Carrier, now: Instant) {
        link = Link(role: role, limits: limits, features: .supported, began: now)
        self.carrier = carrier
    }

    /// The bodies of a session's application frames in order of delivery.
    func bodies(on session: SessionID) -> [[UInt8]] {
        deliveries.filter { $0.session == session && $0.type == .data }.map(\.body)
    }

    func forget() {
        deliveries = []
        events = []
    }

    func beginStream() {
        framer = Framer(maxBodyByteCount: link.limits.maxBodyByteCount)
    }

    // MARK: Receiving

    /// Receives bytes from the carrier.
    func receive(_ bytes: [UInt8], now: Instant) {
        guard fault == nil, link.isAttached else { return }
        do throws(WireError) {
            _ = try framer.consume(bytes.rawBytes) { header, body in
                take(header, body, now: now)
                return .proceed
            }
        } catch {
            fault = LinkError(error)
        }
    }

    /// Receives one frame.
    @discardableResult
    func take(_ header: FrameHeader, _ body: RawSpan, now: Instant) -> Link.Reception? {
        guard fault == nil else { return nil }
        do throws(LinkError) {
            let reception = try link.receive(header, .body(body), inflater: &inflater, now: now)
            if case .deliver(let session, let credit) = reception {
                note(
                    Delivery(at: now, session: session, type: header.type, body: [UInt8](copying: body), credit: credit)
                )
            }
            try drain(now: now)
            return reception
        } catch {
            fault = error
            return nil
        }
    }

    private func drain(now: Instant) throws(LinkError) {
        while let arrival = try link.nextArrival(now: now) {
            switch arrival {
            case .event(let event):
                events.append(event)
                if accepts, case .open(let session, _) = event { link.accept(session, Opened(head: 0, first: 1)) }
                if closes, case .closed(let session, _) = event { link.close(session) }
            case .frame(let session, let frame):
                note(
                    Delivery(
                        at: now, session: session, type: frame.type, body: frame.body, credit: frame.creditByteCount))
            }
        }
    }

    private func note(_ delivery: Delivery) {
        deliveries.append(delivery)
        if releases { link.release(delivery.credit, on: delivery.session) }
    }

    /// Releases the credit of all deliveries.
    func releaseAll() {
        for delivery in deliveries { link.release(delivery.credit, on: delivery.session) }
    }

    // MARK: Sending and time

    /// The link's output, at most `capacity` bytes.
    func transmit(capacity: Int = 64 * 1024, now: Instant) -> [UInt8] {
        [UInt8](capacity: capacity) { out in
            link.transmit(into: &out, now: now)
        }
    }

    func deadlinePassed(now: Instant) {
        let demand = link.deadlinePassed(now: now)
        switch demand {
        case .proceed: break
        case .overdue: overdueCount += 1
        case .replaceConnection, .ackTimeout: demands.append(demand)
        }
        do throws(LinkError) { try drain(now: now) } catch { fault = error }
    }
}
