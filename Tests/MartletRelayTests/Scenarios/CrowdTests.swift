import MartletLink
import MartletRelay
import MartletWire
import Testing

/// Many devices in many rooms, each of which loses its connection while it publishes.
@Suite("Many devices in many rooms")
struct CrowdTests {
    private static let roomCount = 12
    private static let membersPerRoom = 10
    private static let messagesPerMember = 10

    @Test("every member receives every message of its room once, in one order", arguments: [true, false])
    func everybody(storeIsImmediate: Bool) async throws {
        let store: any RoomStore = storeIsImmediate ? InMemoryStore() : SlowStore()
        try await withRelay(store: store) { relay, port in
            let logs = try await withThrowingTaskGroup(of: (room: Int, log: [MessageID]).self) { group in
                for index in 0..<Self.roomCount * Self.membersPerRoom {
                    group.addTask { (index % Self.roomCount, try await Member(index, port: port).log()) }
                }
                return try await group.reduce(into: [:]) { $0[$1.room, default: []].append($1.log) }
            }
            #expect(logs.count == Self.roomCount)
            for inRoom in logs.values {
                #expect(inRoom.count == Self.membersPerRoom)
                #expect(Set(inRoom).count == 1)
                #expect(Set(inRoom[0]).count == Self.membersPerRoom * Self.messagesPerMember)
            }
            let statistics = await relay.statistics
            #expect(statistics.messagesStored == 1200)
            #expect(statistics.resumes == 120)
            #expect(statistics.faults == 0)
        }
    }

    /// A device that publishes half of its messages, loses its connection, resumes, and publishes the rest.
    private struct Member {
        let index: Int
        let port: UInt16
        private let half = UInt64(CrowdTests.messagesPerMember / 2)
        private let all = UInt64(CrowdTests.messagesPerMember)

        init(_ index: Int, port: UInt16) {
            self.index = index
            self.port = port
        }

        /// The IDs of all messages of the room in order of receipt.
        func log() async throws -> [MessageID] {
            let account = "member \(index)"
            let device = UInt64(index + 1)
            let peer = try await WirePeer.connect(to: port)
            let welcome = try await peer.hello(FrameWriter.hello(account, device: device))
            try await peer.open("room \(index % CrowdTests.roomCount)")
            await publish(1...half, on: peer)
            await peer.cut()
            var log: [MessageID] = []
            while case .frame(let frame) = try await peer.arrival() { note(frame, in: &log) }

            let again = try await WirePeer.connect(to: port)
            let point = welcome.resumePoint(await peer.received.filter { $0.key != .control })
            let resumed = try await again.hello(FrameWriter.hello(account, device: device, resume: point))
            let received = try #require(resumed.resumed?.first { $0.session == .first }).received
            // `open` has sequence 1, so the message with counter n has sequence n + 1.
            await again.write { writer in
                writer.rewind(.first, to: received)
                return []
            }
            await publish(received...all, on: again)
            while log.count < CrowdTests.membersPerRoom * CrowdTests.messagesPerMember {
                note(try await again.frame(), in: &log)
            }
            await again.cut()
            return log
        }

        private func publish(_ counters: ClosedRange<UInt64>, on peer: WirePeer) async {
            await peer.write { writer in
                counters.flatMap { writer.text("\(index) publishes \($0)", counter: $0, on: .first) }
            }
        }

        private func note(_ frame: ReceivedFrame, in log: inout [MessageID]) {
            guard let message: Message = try? frame.parsed(), let stamp = message.relay else { return }
            log.append(MessageID(sender: stamp.sender, device: stamp.device, counter: message.counter))
        }
    }
}
