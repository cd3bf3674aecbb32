import MartletProtocol
import MartletRelay
import MartletTransport
import MartletWire
import Testing

@Suite("A relay on several loops")
struct RelayDriverLoopsTests {
    private static let accounts = (0..<9).map { "account\($0)" }

    /// Everybody in every room; what a peer is told in a room it hears on the room's session.
    private static func guests(at port: UInt16, in rooms: Int) async throws -> [WirePeer] {
        var guests: [WirePeer] = []
        for (number, account) in accounts.enumerated() {
            let peer = try await WirePeer.connect(to: port)
            try await peer.hello(Speaker.hello(account, device: UInt64(number)))
            for room in 0..<rooms {
                let session = SessionID(rawValue: UInt16(2 * room + 1))
                await peer.send(Open(room: RoomName("room\(room)")!, cursor: 0), on: session)
                let _: Opened = try await peer.next()
            }
            guests.append(peer)
        }
        return guests
    }

    @Test(arguments: [2, 3]) func `everybody hears everybody in every room`(_ loopCount: Int) async throws {
        try await withRelay(loopCount: loopCount) { relay, port in
            let guests = try await Self.guests(at: port, in: 4)
            #expect(await relay.statistics.links == guests.count)
            #expect(await relay.statistics.connectionsAccepted == UInt64(guests.count))
            for room in 0..<4 {
                let session = SessionID(rawValue: UInt16(2 * room + 1))
                for (number, guest) in guests.enumerated() {
                    let counter = UInt64(room * guests.count + number + 1)
                    #expect(try await guest.post("hello", counter: counter, on: session) == UInt64(number + 1))
                }
            }
            #expect(await relay.statistics.messagesStored == UInt64(4 * guests.count))
            #expect(await relay.statistics.rooms == 4)
            let late = try await WirePeer.connect(to: port)
            try await late.hello(Speaker.hello("late", device: 100))
            for room in 0..<4 {
                let session = SessionID(rawValue: UInt16(2 * room + 1))
                await late.send(Open(room: RoomName("room\(room)")!, cursor: 0), on: session)
                for offset in 1...UInt64(guests.count) {
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

    @Test("a link is found again, and a revoked account loses its own, wherever they live")
    func resumeAndRevoke() async throws {
        try await withRelay(loopCount: 3) { relay, port in
            for (number, account) in Self.accounts.enumerated() {
                let peer = try await WirePeer.connect(to: port)
                let point = try await peer.hello(Speaker.hello(account, device: UInt64(number))).resumePoint([:])
                await peer.cut()
                let again = try await WirePeer.connect(to: port)
                let welcome = try await again.hello(Speaker.hello(account, device: UInt64(number), resume: point))
                #expect(welcome.resumed != nil)
                await relay.revoke(AccountName(account)!)
                #expect(try await again.farewell()?.code == .revoked)
            }
            #expect(await relay.statistics.links == 0)
            #expect(await relay.statistics.resumes == UInt64(Self.accounts.count))
        }
    }

    @Test("it drains on every loop")
    func drain() async throws {
        try await withRelay(loopCount: 3) { relay, port in
            let guests = try await Self.guests(at: port, in: 1)
            async let isIdle = relay.drain(within: .seconds(600))
            for guest in guests { #expect(try await guest.farewell()?.code == .draining) }
            #expect(await isIdle)
            #expect(await relay.statistics.connections == 0)
        }
    }

    @Test("more than a window of messages crosses, and nobody is held up for ever")
    func window() async throws {
        let place = LoopPlace(index: 0, count: 2)
        let home = place.loop(of: AccountName("alice")!)
        let room = try #require((0..<100).map { "room\($0)" }.first { place.loop(of: RoomName($0)!) != home })
        try await withRelay(loopCount: 2) { relay, port in
            let alice = try await WirePeer.connect(to: port)
            try await alice.hello(Speaker.hello("alice"))
            try await alice.open(room, noLocal: true)
            let count = UInt64(3 * 16_384)
            for first in stride(from: 1, to: count, by: 512) {
                await alice.say { speaker in
                    (first..<first + 512).flatMap { speaker.text("x", counter: $0, on: .first) }
                }
                var accepted: UInt64 = 0
                while accepted < first + 511 {
                    let told: Accepted = try await alice.next()
                    accepted = told.runs.map { $0.firstCounter + UInt64($0.count) - 1 }.max() ?? accepted
                }
            }
            #expect(await relay.statistics.messagesStored == count)
        }
    }
}
