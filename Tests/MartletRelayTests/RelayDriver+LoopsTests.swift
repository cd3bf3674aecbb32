import MartletLink
import MartletRelay
import MartletTransport
import MartletWire
import Testing

@Suite("Relay on several loops")
struct RelayDriverLoopsTests {
    private static let accounts = (0..<9).map { "account\($0)" }

    /// Peers of all accounts, each a member of all rooms, with one session for each room.
    private static func peers(at port: UInt16, in rooms: Int) async throws -> [WirePeer] {
        var peers: [WirePeer] = []
        for (number, account) in accounts.enumerated() {
            let peer = try await WirePeer.connect(to: port)
            try await peer.hello(FrameWriter.hello(account, device: UInt64(number)))
            for room in 0..<rooms {
                let session = SessionID(rawValue: UInt16(2 * room + 1))
                await peer.send(Open(room: RoomName("room\(room)")!, cursor: 0), on: session)
                let _: Opened = try await peer.next()
            }
            peers.append(peer)
        }
        return peers
    }

    @Test(arguments: [2, 3]) func `messages of all loops reach all members of all rooms`(_ loopCount: Int) async throws
    {
        try await withRelay(loopCount: loopCount) { relay, port in
            let peers = try await Self.peers(at: port, in: 4)
            #expect(await relay.statistics.links == peers.count)
            #expect(await relay.statistics.connectionsAccepted == UInt64(peers.count))
            for room in 0..<4 {
                let session = SessionID(rawValue: UInt16(2 * room + 1))
                for (number, peer) in peers.enumerated() {
                    let counter = UInt64(room * peers.count + number + 1)
                    #expect(try await peer.publish("hello", counter: counter, on: session) == UInt64(number + 1))
                }
            }
            #expect(await relay.statistics.messagesStored == UInt64(4 * peers.count))
            #expect(await relay.statistics.rooms == 4)
            let late = try await WirePeer.connect(to: port)
            try await late.hello(FrameWriter.hello("late", device: 100))
            for room in 0..<4 {
                let session = SessionID(rawValue: UInt16(2 * room + 1))
                await late.send(Open(room: RoomName("room\(room)")!, cursor: 0), on: session)
                for offset in 1...UInt64(peers.count) {
                    while true {
                        let frame = try await late.frame()
                        guard frame.header.type == .data else { continue }
                        #expect(try MessageView(parsing: frame.body.rawBytes).offset == offset)
                        break
                    }
                }
            }
        }
    }

    @Test("link on any loop resumes, and a revoked account loses its links")
    func resumeAndRevoke() async throws {
        try await withRelay(loopCount: 3) { relay, port in
            for (number, account) in Self.accounts.enumerated() {
                let peer = try await WirePeer.connect(to: port)
                let point = try await peer.hello(FrameWriter.hello(account, device: UInt64(number))).resumePoint([:])
                await peer.cut()
                let again = try await WirePeer.connect(to: port)
                let welcome = try await again.hello(FrameWriter.hello(account, device: UInt64(number), resume: point))
                #expect(welcome.resumed != nil)
                await relay.revoke(AccountName(account)!)
                #expect(try await again.finalNotice()?.code == .revoked)
            }
            #expect(await relay.statistics.links == 0)
            #expect(await relay.statistics.resumes == UInt64(Self.accounts.count))
        }
    }

    @Test("drain closes the connections of every loop")
    func drain() async throws {
        try await withRelay(loopCount: 3) { relay, port in
            let peers = try await Self.peers(at: port, in: 1)
            async let isIdle = relay.drain(within: .seconds(600))
            for peer in peers { #expect(try await peer.finalNotice()?.code == .draining) }
            #expect(await isIdle)
            #expect(await relay.statistics.connections == 0)
        }
    }

    @Test("traffic beyond the window between loops is stored completely")
    func window() async throws {
        let loops = LoopPlace(index: 0, count: 2)
        let accountLoop = loops.loop(of: AccountName("alice"))
        let room = try #require((0..<100).map { "room\($0)" }.first { loops.loop(of: RoomName($0)!) != accountLoop })
        try await withRelay(loopCount: 2) { relay, port in
            let alice = try await WirePeer.connect(to: port)
            try await alice.hello(FrameWriter.hello("alice"))
            try await alice.open(room, noLocal: true)
            let count = UInt64(3 * 16_384)
            for first in stride(from: 1, to: count, by: 512) {
                await alice.write { writer in
                    (first..<first + 512).flatMap { writer.text("x", counter: $0, on: .first) }
                }
                var accepted: UInt64 = 0
                while accepted < first + 511 {
                    let frame: Accepted = try await alice.next()
                    accepted = frame.runs.map { $0.firstCounter + UInt64($0.count) - 1 }.max() ?? accepted
                }
            }
            #expect(await relay.statistics.messagesStored == count)
        }
    }
}
