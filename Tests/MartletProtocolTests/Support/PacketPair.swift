import MartletWire

@testable import MartletProtocol

/// Two links that send each other packets, in virtual time, and answer each other's bytes 10 ms later.
///
/// In a pair that rests, a side that nothing happens to is packed at the end of each `run`: the link with its writer's
/// context, and the framer in front of it. What goes over the wire must not depend on that.
final class PacketPair {
    /// One side.
    final class End {
        var link: Link
        var framer: Framer
        var inflater = Inflater()
        var bodies: [[UInt8]] = []
        var packedCount = 0

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

        var isAtRest: Bool { link.isAtRest && link.deadline == nil && framer.isAtRest }

        fileprivate func pack() {
            link = Packer.copy(&link).value
            framer = Framer(
                maxBodyByteCount: link.limits.maxBodyByteCount, deflated: link.features.contains(.sharedDeflate),
                packedContext: framer.packedContext)
            packedCount += 1
        }
    }

    let rests: Bool
    let client: End
    let relay: End
    /// All that went over the wire, in its order.
    private(set) var sent: [[UInt8]] = []
    private(set) var now = Instant(nanoseconds: 1_000_000_000)

    init(rests: Bool, _ features: Features) {
        self.rests = rests
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
            guard let next = [client, relay].compactMap(\.link.deadline).min(), next <= end else { break }
            now = max(now, next)
            for end in [client, relay] where end.link.deadline.map({ $0 <= now }) == true {
                _ = end.link.deadlinePassed(now: now)
            }
        }
        now = max(now, end)
        for end in [client, relay] where end.isAtRest {
            // What the relay does with links that rest; it may change whose turn is next.
            end.link.scheduler.beginAnew()
            if rests { end.pack() }
        }
    }

    private func transmit(_ end: End) -> [UInt8] {
        end.link.hasOutput(now: now) ? Framer.drain { end.link.transmit(into: &$0, now: now) } : []
    }
}
