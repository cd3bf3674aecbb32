import MartletSimulator
import MartletWire
import Testing

@testable import Martlet
@testable import MartletLink
@testable import MartletRelay

@Suite struct LinkConnectionTests {
    private final class Talk {
        let world: VirtualWorld
        let client: VirtualClient
        let room: RoomID

        init(_ features: Features, relay: Features = .all, carrier: Carrier = .reliable, compresses: Bool = false) {
            var configuration = RelayConfiguration()
            configuration.link.features = relay
            world = VirtualWorld(relay: configuration)
            client = world.addClient("ada", carrier: carrier) {
                $0.link.features = features
                $0.link.compressesMessages = compresses
            }
            world.act(client) { engine, now in engine.handle(.start, now: now) }
            room = world.act(client) { engine, now in try! engine.open(RoomName("lobby"), now: now) }
            world.run(for: .seconds(2))
        }

        /// Whether the client's packets have a deflate stream; nil without packets.
        var isStreaming: Bool? { client.engine.client.link.connection.packets.writer?.isStreaming }

        /// The bytes in both directions that a text causes until both sides are idle.
        func cost(_ text: String) throws -> UInt64 {
            let before = client.engine.counters
            _ = try world.send(text, from: client, in: room)
            world.run(for: .seconds(1))
            let after = client.engine.counters
            return after.bytesSent + after.bytesReceived - before.bytesSent - before.bytesReceived
        }
    }

    @Test func `a text in packets costs a few bytes more than its content`() throws {
        let talk = Talk(.supported.union(.compact))
        _ = try talk.cost("the first names what the others leave out")
        #expect(try talk.cost("hello") <= 5 + 21)
        #expect(talk.world.relay.log[RoomName("lobby")]?.count == 2)
    }

    // W-76.
    @Test(
        "packets are sent only where both sides have said that they read them",
        arguments: [(Features.all, Features.supported), (.supported, .all)])
    func fallBack(_ client: Features, _ relay: Features) throws {
        let talk = Talk(client, relay: relay)
        _ = try talk.cost("hello")
        #expect(try talk.cost("hello") > 200)
        #expect(talk.world.relay.log[RoomName("lobby")]?.count == 2)
    }

    // W-76.
    @Test func `datagrams carry no packets`() throws {
        let talk = Talk(.all, carrier: .unreliable)
        _ = try talk.cost("hello")
        #expect(try talk.cost("hello") > 200)
    }

    // W-94.
    @Test func `a deflate stream ends a minute after the last output`() throws {
        let talk = Talk(.all, compresses: true)
        let line = "the bird that never lands was seen above the harbour again"
        _ = try talk.cost(line)
        #expect(try talk.cost(line) < 48)
        #expect(talk.isStreaming == true)
        talk.world.run(for: .seconds(58))
        #expect(talk.isStreaming == true)
        talk.world.run(for: .seconds(3))
        #expect(talk.isStreaming == false)
        #expect(try talk.cost(line) > 48)
        #expect(talk.world.relay.log[RoomName("lobby")]?.count == 3)
    }

    @Test func `a message that must not be compressed is sent uncompressed`() throws {
        let talk = Talk(.all, compresses: true)
        let line = "the bird that never lands was seen above the harbour again"
        for counter in UInt64(1)...2 {
            let before = talk.client.engine.counters.bytesSent
            try talk.world.act(talk.client) { engine, now in
                try engine.send(
                    counter: counter, content: MessageContent(text: line), isCompressible: false, in: talk.room,
                    now: now)
            }
            talk.world.run(for: .seconds(1))
            #expect(talk.client.engine.counters.bytesSent - before > UInt64(line.utf8.count))
        }
    }

    @Test func `a link sends packets on its next connection too`() throws {
        let talk = Talk(.all, compresses: true)
        _ = try talk.cost("before")
        talk.world.cut(talk.client)
        _ = try talk.cost("while nothing is there")
        talk.world.run(for: .seconds(10))
        _ = try talk.cost("the first names again what the others leave out")
        #expect(try talk.cost("after") < 48)
        #expect(talk.client.engine.status.resumes == 1)
        #expect(talk.world.relay.log[RoomName("lobby")]?.count == 4)
    }
}
