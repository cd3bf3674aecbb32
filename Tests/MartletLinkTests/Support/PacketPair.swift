import MartletTestSupport
import MartletWire

@testable import MartletLink

/// Two links that exchange packets in virtual time, with a delay of 10 ms.
///
/// In a pair that releases, an idle side releases its memory at the end of each `run`, and another framer continues its
/// stream. The sent bytes must not depend on this.
final class PacketPair {
    /// One side.
    final class End {
        var link: Link
        var framer: Framer
        var inflater = Inflater()
        var bodies: [[UInt8]] = []
        var releaseCount = 0

        init(_ role: LinkRole, _ features: Features, now: Instant) {
            link = Link(role: role, limits: Limits(), features: features, began: now)
            link.attach(.reliable, isEarly: false, now: now)
            framer = Framer(maxBodyByteCount: link.limits.maxBodyByteCount)
            framer.allowPackets(deflated: features.contains(.sharedDeflate))
        }

        func send(_ body: some FrameBody, on session: SessionID) {
            _ = link.send(type(of: body).type, EncodedBody(body.encode()), on: session)
        }

        fileprivate func receive(_ bytes: [UInt8], now: Instant) throws {
            var fault: LinkError?
            _ = try framer.consumeContents(bytes.rawBytes) { header, content in
                do throws(LinkError) {
                    if case .deliver(let session, let credit) = try link.receive(
                        header, content, inflater: &inflater, now: now)
                    {
                        content.withBody { take([UInt8](copying: $0), credit, on: session) }
                    }
                    while let arrival = try link.nextArrival(now: now) {
                        switch arrival {
                        case .event(.open(let session, _)): link.accept(session, Opened(head: 0, first: 1))
                        case .event(.closed(let session, _)): link.close(session)
                        case .event: break
                        case .frame(let session, let frame): take(frame.body, frame.creditByteCount, on: session)
                        }
                    }
                    return .proceed
                } catch {
                    fault = error
                    return .stop
                }
            }
            if let fault { throw fault }
        }

        private func take(_ body: [UInt8], _ credit: Int, on session: SessionID) {
            bodies.append(body)
            link.release(credit, on: session)
        }

        var isIdle: Bool { link.deadline == nil && framer.isBetweenUnits }

        fileprivate func release() {
            link.releaseIdleMemory()
            let reader = framer.reader
            framer = Framer(maxBodyByteCount: link.limits.maxBodyByteCount)
            framer.serve(reader, deflated: link.features.contains(.sharedDeflate))
            releaseCount += 1
        }
    }

    let releases: Bool
    let client: End
    let relay: End
    /// The sent bytes in order.
    private(set) var sent: [[UInt8]] = []
    private(set) var now = Instant(nanoseconds: 1_000_000_000)

    init(releases: Bool, _ features: Features) {
        self.releases = releases
        client = End(.client, features, now: now)
        relay = End(.relay, features, now: now)
    }

    func run(for duration: Duration) throws {
        let end = now + duration
        while true {
            let bytes = [client, relay].map { transmit($0) }
            if bytes.contains(where: { !$0.isEmpty }) {
                sent += bytes
                now = now + .milliseconds(10)
                try relay.receive(bytes[0], now: now)
                try client.receive(bytes[1], now: now)
                continue
            }
            guard let next = [client, relay].compactMap({ $0.link.deadline }).min(), next <= end else { break }
            now = max(now, next)
            for end in [client, relay] where end.link.deadline.map({ $0 <= now }) == true {
                _ = end.link.deadlinePassed(now: now)
            }
        }
        now = max(now, end)
        for end in [client, relay] where end.isIdle {
            // A release does the same, which may change the order of turns.
            end.link.connection.scheduler.releaseIdleMemory()
            if releases { end.release() }
        }
    }

    private func transmit(_ end: End) -> [UInt8] {
        end.link.hasOutput(now: now) ? Framer.drain { end.link.transmit(into: &$0, now: now) } : []
    }
}
