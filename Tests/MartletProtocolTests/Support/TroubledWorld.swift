import MartletTestKit
import MartletWire

@testable import MartletProtocol

/// Two to four clients that talk in two rooms while everything that can happen to them does, all from one seed.
final class TroubledWorld {
    struct Line: Hashable {
        var client: Int
        var room: RoomName
        var counter: UInt64
        var text: String
    }

    let world: VirtualWorld
    let carrier: Carrier
    private(set) var rooms: [[RoomName: RoomID]] = []
    private(set) var lines: [Line] = []
    private var random: VirtualRandom
    private var healings: [(at: Instant, heal: () -> Void)] = []

    init(seed: UInt64) {
        random = VirtualRandom(seed: seed &* 0x9E37_79B9)
        carrier = seed.isMultiple(of: 2) ? .reliable : .unreliable
        var configuration = RelayConfiguration()
        configuration.resumeLifetime = .seconds(60)
        world = VirtualWorld(relay: configuration, seed: seed)
        world.relay.storeDelay = .milliseconds(Int64(below(3)) * 100)
        for number in 0..<(2 + below(3)) {
            let isUnreliable = carrier == .unreliable
            let conditions = PathConditions(
                delay: .milliseconds(Int64(5 + below(200))), jitter: .milliseconds(Int64(below(100))),
                bytesPerSecond: below(3) == 0 ? 100_000 : nil, lostPerMille: isUnreliable ? below(60) : 0,
                doubledPerMille: isUnreliable ? below(60) : 0, overtakenPerMille: isUnreliable ? below(60) : 0)
            let client = world.addClient("client\(number)", conditions: conditions, carrier: carrier)
            rooms.append([:])
            for room in [RoomName.lobby, .hall] {
                rooms[number][room] = world.act(client) { engine, now in try? engine.open(room, now: now) }
            }
            world.act(client) { $0.start(now: $1) }
        }
    }

    /// Talk and trouble.
    func run(stepCount: Int) {
        for _ in 0..<stepCount {
            step()
            let end = world.now + .milliseconds(Int64(below(below(4) == 0 ? 4000 : 400)))
            while let next = healings.enumerated().min(by: { $0.element.at < $1.element.at }), next.element.at <= end {
                world.run(until: next.element.at)
                healings.remove(at: next.offset).heal()
            }
            world.run(until: end)
        }
        for healing in healings { healing.heal() }
        healings = []
    }

    /// Whether everything that was sent is accepted, within an hour without further trouble.
    func settle() -> Bool {
        world.run(until: world.now + .seconds(3600)) { world.clients.indices.allSatisfy { accepted($0) == sent($0) } }
            && world.run(until: world.now + .seconds(3600)) {
                world.clients.indices.allSatisfy { received($0) == expected($0) }
            }
    }

    // MARK: What there is to compare

    func sent(_ client: Int) -> Int { lines.count { $0.client == client } }

    func accepted(_ client: Int) -> Int { world.clients[client].accepted.values.reduce(0) { $0 + $1.count } }

    func expected(_ client: Int) -> Int { lines.count - sent(client) }

    func received(_ client: Int) -> Int { world.clients[client].received.values.reduce(0) { $0 + $1.count } }

    /// The relay's log of a room, as lines.
    func log(_ room: RoomName) -> [Line] {
        (world.relay.log[room] ?? []).map { entry in
            let bytes = entry.body.bytes
            let text = (try? Message(parsing: bytes.rawBytes))?.text ?? ""
            return Line(client: Int(entry.device.rawValue) - 1, room: room, counter: entry.counter, text: text)
        }
    }

    /// What a client was given of a room, as lines.
    func seen(_ client: Int, _ room: RoomName) -> [Line] {
        guard let id = rooms[client][room] else { return [] }
        return (world.clients[client].received[id] ?? []).map { entry in
            let sender = Int(entry.message.relay?.device.rawValue ?? 0) - 1
            return Line(client: sender, room: room, counter: entry.message.counter, text: entry.message.text ?? "")
        }
    }

    /// How often a client was told that a message of its was accepted.
    func acceptances(_ client: Int) -> Int {
        world.clients[client].outputs.reduce(0) { sum, entry in
            if case .room(_, .accepted(let run)) = entry.output { sum + Int(run.count) } else { sum }
        }
    }

    // MARK: Inside

    private func below(_ bound: Int) -> Int { Int(random.next() % UInt64(bound)) }

    private func later(_ heal: @escaping () -> Void) {
        healings.append((world.now + .milliseconds(Int64(500 + below(below(4) == 0 ? 60_000 : 10_000))), heal))
    }

    private func step() {
        let index = below(world.clients.count)
        let client = world.clients[index]
        let room = below(2) == 0 ? RoomName.lobby : .hall
        guard let id = rooms[index][room] else { return }
        switch below(100) {
        case 0..<4: world.cut(client)
        case 4..<7:
            world.blackHole(client)
            later { [world] in world.restore(client) }
        case 7..<9: world.forgetTranslations(of: client)
        case 9..<11: world.restartRelay(downFor: .milliseconds(Int64(below(5000))))
        case 11..<14:
            world.relay.refusesAppends = true
            later { [world] in world.relay.refusesAppends = false }
        case 14:
            world.relay.refusesLoads = true
            later { [world] in world.relay.refusesLoads = false }
        case 15:
            world.relay.refusesReads = true
            later { [world] in world.relay.refusesReads = false }
        case 16..<19:
            world.act(client) { $0.suspend(id, now: $1) }
            later { [world] in world.act(client) { $0.resume(id, now: $1) } }
        case 19..<21:
            world.stopReading(client)
            later { [world] in world.startReading(client) }
        case 21..<23:
            client.takesMessages = false
            later { [world] in world.takeMessages(client) }
        case 23: world.act(client) { $0.setMode(.background, now: $1) }
        case 24: world.act(client) { $0.enterForeground(now: $1) }
        case 25:
            world.act(client) { $0.stop(now: $1) }
            later { [world] in world.act(client) { $0.start(now: $1) } }
        case 26: world.act(client) { $0.retryNow(now: $1) }
        default:
            for _ in 0...below(5) { say(index, room, id) }
        }
    }

    private func say(_ index: Int, _ room: RoomName, _ id: RoomID) {
        let size = below(12) == 0 ? below(40_000) : below(200)
        let text = "\(lines.count)" + String(repeating: ".", count: size)
        guard let counter = try? world.send(text, from: world.clients[index], in: id) else { return }
        lines.append(Line(client: index, room: room, counter: counter, text: text))
    }
}
