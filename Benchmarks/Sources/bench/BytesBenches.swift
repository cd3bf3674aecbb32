import BenchHarness
import Martlet
import MartletLink
import MartletSimulator
import MartletTestKit
import MartletWire

/// The bytes between a client with little traffic and its server: all bytes in both directions that a message causes,
/// from its frame to the last acknowledgement.
///
/// Martlet's bytes are counted: both engines exchange one message after another in virtual time. Other protocols' bytes
/// are computed from their specifications, compressed ones with zlib.
enum BytesBenches {
    private static let sender = "ada.lovelace@example"
    private static let room = "lobby"

    static func cases(_ options: Options) -> [Case] {
        let latin = Fortunes.latin(10_000)
        let chinese = Fortunes.chinese(5_000)
        return texts("latin", latin) + texts("chinese", chinese) + ConnectBenches.cases()
    }

    private static func texts(_ name: String, _ texts: [String]) -> [Case] {
        [
            Case(
                "bytes/\(name) plain", per: "message",
                [
                    subject("martlet") { ours(texts, .followingEachOther, .compact) },
                    subject("martlet, one a second") { ours(texts, .eachSecond, .compact) },
                    subject("martlet, 32 at once") { ours(texts, .thirtyTwoAtOnce, .compact) },
                    subject("martlet 1.0") { ours(texts, .followingEachOther, []) },
                    subject("MQTT QoS 1 + protobuf") { mean(texts, mqtt) },
                    subject("text alone") { mean(texts, \.utf8.count) },
                ]),
            Case(
                "bytes/\(name) compressed", per: "message",
                [
                    subject("martlet") { ours(texts, .followingEachOther, [.compact, .sharedDeflate]) },
                    subject("martlet, one a second") { ours(texts, .eachSecond, [.compact, .sharedDeflate]) },
                    subject("martlet, 32 at once") { ours(texts, .thirtyTwoAtOnce, [.compact, .sharedDeflate]) },
                    subject("JSON + WebSocket deflate") { WebSocketBytes.mean(texts, sender: sender, room: room) },
                ]),
        ]
    }

    /// The result is deterministic, so it is computed once.
    private static func subject(_ name: String, _ bytes: @escaping () -> Double) -> Subject {
        var known: Double?
        return Subject(name) {
            let value = known ?? bytes()
            known = value
            return ["bytes": value]
        }
    }

    private static func mean(_ texts: [String], _ byteCount: (String) -> Int) -> Double {
        Double(texts.reduce(0) { $0 + byteCount($1) }) / Double(texts.count)
    }

    // MARK: Ours

    /// The interval of messages.
    private enum Pace {
        /// Each message follows the acceptance of the previous one.
        case followingEachOther
        /// Each message follows all effects of the previous one, including delayed acknowledgements.
        case eachSecond
        /// Thirty-two messages at once.
        case thirtyTwoAtOnce
    }

    private static func ours(_ texts: [String], _ pace: Pace, _ features: Features) -> Double {
        let world = VirtualWorld()
        let client = world.addClient(sender, conditions: PathConditions(delay: .milliseconds(20))) {
            $0.link.features.formUnion(features)
            $0.link.compressesMessages = features.contains(.sharedDeflate)
        }
        client.remembers = false
        var accepted: UInt64 = 0
        client.onOutput = { if case .room(_, .accepted(let run)) = $0 { accepted = run.counters.upperBound } }
        world.act(client) { engine, now in engine.handle(.start, now: now) }
        let open = world.act(client) { engine, now in try? engine.open(RoomName(room)!, now: now) }
        guard let open else { preconditionFailure("the room is not opened") }
        world.run(for: .seconds(2))
        let before = client.engine.counters
        let step = pace == .thirtyTwoAtOnce ? 32 : 1
        for start in stride(from: 0, to: texts.count, by: step) {
            for text in texts[start..<min(start + step, texts.count)] {
                guard let counter = try? world.send(text, from: client, in: open) else {
                    preconditionFailure("a message is not taken")
                }
                guard pace == .followingEachOther else { continue }
                world.run(until: world.now + .seconds(60)) { accepted >= counter }
            }
            // Longer than a delayed acknowledgement and shorter than a heartbeat.
            if pace != .followingEachOther { world.run(for: .seconds(1)) }
        }
        world.run(for: .seconds(1))
        let after = client.engine.counters
        let bytes = (after.bytesSent - before.bytesSent) + (after.bytesReceived - before.bytesReceived)
        return Double(bytes) / Double(texts.count)
    }

    // MARK: MQTT 3.1.1, QoS 1

    /// PUBLISH (§3.3) with the message as protobuf, and PUBACK (§3.4).
    private static func mqtt(_ text: String) -> Int {
        // Field numbers below 16 have tags of one byte. The ID has 64 bits, the time is in milliseconds.
        let count = text.utf8.count
        let message = (1 + 8) + (1 + 1 + sender.utf8.count) + (1 + 6) + (1 + varint(count) + count)
        let rest = 2 + room.utf8.count + 2 + message
        return 1 + varint(rest) + rest + 4
    }

    private static func varint(_ value: Int) -> Int { value < 128 ? 1 : value < 16_384 ? 2 : 3 }
}

/// Round trips until the relay has the first message.
enum ConnectBenches {
    private static let roundTrip = Duration.milliseconds(100)

    static func cases() -> [Case] {
        [
            Case("connect/new", per: "connection", [Subject("martlet") { sample(resumed: false) }]),
            Case("connect/resumed", per: "connection", [Subject("martlet") { sample(resumed: true) }]),
        ]
    }

    private static func sample(resumed: Bool) -> Sample {
        let world = VirtualWorld()
        let client = world.addClient("ada", conditions: PathConditions(delay: roundTrip / 2))
        var dialled = world.now
        client.onOutput = { if case .link(.connect) = $0 { dialled = world.now } }
        world.act(client) { engine, now in engine.handle(.start, now: now) }
        let room = RoomName("lobby")
        guard let id = world.act(client, { engine, now in try? engine.open(room, now: now) }) else { return [:] }
        if resumed {
            world.run(for: .seconds(5))
            world.cut(client)
            world.run(for: roundTrip)
        }
        guard let counter = try? world.send("hello", from: client, in: id) else { return [:] }
        let limit = world.now + .seconds(60)
        world.run(until: limit) { world.relay.log[room]?.isEmpty == false }
        let there = world.now - dialled
        world.run(until: limit) { client.accepted[id]?.contains(counter) == true }
        return ["round trips": there / roundTrip, "round trips until accepted": (world.now - dialled) / roundTrip]
    }
}
