import Martlet
import MartletLink
import MartletTestKit
import MartletWire

extension VirtualWorld {
    /// Requests bytes from an engine while the send buffer has space.
    func fill(_ index: Int, atRelay: Bool) {
        let conditions = clients[connections[index].client].conditions
        while connections[index][atRelay: atRelay].isOpen, !connections[index][pipeFromRelay: atRelay].isWaiting {
            let pipe = connections[index][pipeFromRelay: atRelay]
            if clients[connections[index].client].carrier == .reliable,
                pipe.unreadByteCount >= VirtualPipe.windowByteCount
            {
                connections[index][pipeFromRelay: atRelay].isWaiting = true
                return
            }
            let backlog = pipe.backlog(conditions, now: now)
            guard backlog < VirtualPipe.bufferByteCount / 2 else {
                connections[index][pipeFromRelay: atRelay].isWaiting = true
                let drained = Int64(backlog - VirtualPipe.bufferByteCount / 4) * 1_000_000
                let wait = Duration.microseconds(drained / Int64(conditions.bytesPerSecond ?? 1))
                return schedule(.writable(connection: index, atRelay: atRelay), after: wait)
            }
            let bytes = encrypted(index, atRelay: atRelay) { transmit(index, atRelay: atRelay) }
            guard !bytes.isEmpty else { return finishSending(index, atRelay: atRelay) }
            send(bytes, index, atRelay: atRelay)
        }
    }

    private func finishSending(_ index: Int, atRelay: Bool) {
        guard connections[index][atRelay: atRelay].isClosing else { return }
        closeTLS(index, atRelay: atRelay)
        handle(.closeTimeout(connection: index, atRelay: atRelay))
    }

    private func transmit(_ index: Int, atRelay: Bool) -> [UInt8] {
        let connection = connections[index]
        let capacity = VirtualPipe.bufferByteCount / 2 + FrameHeader.byteCount
        return [UInt8](capacity: capacity) { out in
            if atRelay {
                if connection.generation == generation {
                    relay.loops.transmit(on: connection.key, into: &out, now: now)
                }
            } else {
                clients[connection.client].engine.transmit(on: connection.id, into: &out, now: now)
            }
        }
    }

    private func send(_ bytes: [UInt8], _ index: Int, atRelay: Bool) {
        let client = clients[connections[index].client]
        let conditions = client.conditions
        let isStream = client.carrier == .reliable
        for piece in isStream ? segments(bytes) : frames(bytes) {
            guard !isStream, !isHandshake(piece) else {
                schedule(Segment(piece), index, atRelay: atRelay)
                continue
            }
            let arrival = arrival(of: piece.count, index, atRelay: atRelay)
            let event = Event.arrived(Segment(piece), connection: index, atRelay: !atRelay)
            if random.happens(perMille: conditions.lostPerMille) {
                trouble.lost += 1
                continue
            }
            let isLate = random.happens(perMille: conditions.overtakenPerMille)
            if isLate { trouble.overtaken += 1 }
            schedule(event, at: isLate ? arrival + conditions.delay : arrival)
            if random.happens(perMille: conditions.doubledPerMille) {
                trouble.doubled += 1
                schedule(event, at: arrival + conditions.delay / 2)
            }
        }
    }

    /// Schedules the arrival of a segment that is not lost.
    func schedule(_ segment: Segment, _ index: Int, atRelay: Bool) {
        let arrival = arrival(of: segment.byteCount, index, atRelay: atRelay)
        connections[index][pipeFromRelay: atRelay].unreadByteCount += segment.byteCount
        schedule(.arrived(segment, connection: index, atRelay: !atRelay), at: arrival)
    }

    private func arrival(of byteCount: Int, _ index: Int, atRelay: Bool) -> Instant {
        let client = clients[connections[index].client]
        return connections[index][pipeFromRelay: atRelay].send(
            byteCount, client.conditions, isStream: client.carrier == .reliable, random: random.next(), now: now)
    }

    private func segments(_ bytes: [UInt8]) -> [[UInt8]] {
        stride(from: 0, to: bytes.count, by: 1460).map { Array(bytes[$0..<min($0 + 1460, bytes.count)]) }
    }

    /// A datagram carries one frame.
    func frames(_ bytes: [UInt8]) -> [[UInt8]] {
        var result: [[UInt8]] = []
        var rest = bytes[...]
        while rest.count >= FrameHeader.byteCount {
            let body = rest.dropFirst(20).prefix(4).reduce(0) { $0 << 8 | Int($1) }
            result.append(Array(rest.prefix(FrameHeader.byteCount + body)))
            rest = rest.dropFirst(FrameHeader.byteCount + body)
        }
        return result
    }

    /// Whether a frame belongs to the handshake. The model does not lose such frames, because the handshake of a
    /// datagram carrier is not specified.
    func isHandshake(_ frame: [UInt8]) -> Bool {
        frame.count > 6 && frame[6] == 0x40
    }
}
