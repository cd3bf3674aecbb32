import MartletTestKit
import MartletWire

@testable import Martlet
@testable import MartletLink
@testable import MartletRelay
@testable import MartletSimulator

/// Sessions: under any faults of clients and relay, every message is accepted once and delivered once, in order.
///
/// Input: three bytes for the path conditions, then steps: a byte for the action, a byte for the client and room, and
/// parameters.
enum SessionTarget {
    private static let maxSteps = 250

    static func run(_ input: RawSpan) {
        var program = ByteProgram(input)
        let world = FaultyWorld(&program)
        for _ in 0..<maxSteps where !program.isAtEnd { world.step(&program) }
        world.endFaults()
        world.settle()
        world.check()
    }
}

/// Clients that publish in two rooms while the program causes faults.
private final class FaultyWorld {
    private struct Line: Hashable {
        var client: Int
        var room: Int
        var counter: UInt64
        var text: String
    }

    /// The maximum number of messages, which bounds the duration of an input.
    private static let maxLines = 400

    private static let roomNames = ["lobby", "hall"].map { RoomName($0)! }
    private static let pauses: [Duration] = [
        .zero, .milliseconds(1), .milliseconds(25), .milliseconds(110), .milliseconds(400), .seconds(2), .seconds(7),
        .seconds(35), .seconds(65), .seconds(310),
    ]

    private let world: VirtualWorld
    private var rooms: [[RoomID]] = []
    private var lines: [Line] = []
    /// Messages that were cancelled or expired before they were sent on a connection.
    private var isWithdrawn: Set<Line> = []
    private var requests: [(client: Int, number: UInt64)] = []

    init(_ program: inout ByteProgram) {
        let (options, weather, distance) = (program.byte(), program.byte(), program.byte())
        let carrier: Carrier = options & 1 == 0 ? .reliable : .unreliable
        var configuration = RelayConfiguration()
        configuration.link.resumeLifetime = .seconds(60)
        if options & 2 != 0 {
            configuration.link.limits = Limits(
                maxBodyByteCount: 17 << 10, maxMessageByteCount: 48 << 10, linkWindow: 17 << 10,
                sessionWindow: 17 << 10, maxSessions: 2)
        }
        if options & 4 != 0 { configuration.link.features = [] }
        world = VirtualWorld(relay: configuration, seed: UInt64(options))
        world.relay.storeDelay = .milliseconds(Int64(options >> 6) * 60)
        let trouble = carrier == .unreliable ? Int(weather & 3) * 40 : 0
        for number in 0..<(options & 8 == 0 ? 2 : 3) {
            let conditions = PathConditions(
                delay: .milliseconds(Int64(distance)), jitter: .milliseconds(Int64(weather >> 2 & 3) * 20),
                bytesPerSecond: weather & 16 == 0 ? nil : 100_000, lostPerMille: trouble, doubledPerMille: trouble,
                overtakenPerMille: trouble)
            let client = world.addClient("client\(number)", conditions: conditions, carrier: carrier) {
                $0.link.compressesMessages = weather & 32 != 0
                if weather & 64 != 0 { $0.link.features = .all }
            }
            rooms.append(
                Self.roomNames.map { name in
                    guard let room = try? world.act(client, { try $0.open(name, now: $1) }) else {
                        fatalError("no room opens")
                    }
                    return room
                })
            world.act(client) { $0.handle(.start, now: $1) }
        }
    }

    // MARK: Actions

    func step(_ program: inout ByteProgram) {
        let step = program.byte() % 40
        let place = program.byte()
        let index = Int(place) % world.clients.count
        let client = world.clients[index]
        let room = Int(place >> 4) % Self.roomNames.count
        let id = rooms[index][room]
        switch step {
        case 0...5: world.run(for: Self.pauses[program.below(Self.pauses.count)])
        case 6...12: say(index, room, program.below(200))
        case 13: say(index, room, program.below(40_000))
        case 14: for _ in 0...program.below(60) { say(index, room, 10) }
        case 15: say(index, room, 5, timeToLive: Self.pauses[program.below(Self.pauses.count)])
        case 16: takeBack(index, room)
        case 17: world.cut(client)
        case 18: world.blackHole(client)
        case 19: world.restore(client)
        case 20: world.dropNATMappings(of: client)
        case 21: world.restartRelay(downFor: .milliseconds(Int64(program.byte()) * 20))
        case 22: world.relay.refusesAppends.toggle()
        case 23: world.relay.refusesLoads.toggle()
        case 24: world.relay.refusesReads.toggle()
        case 25: world.act(client) { $0.suspend(id, now: $1) }
        case 26: world.act(client) { $0.resume(id, now: $1) }
        case 27: world.stopReading(client)
        case 28: world.startReading(client)
        case 29: client.takesMessages = false
        case 30: world.takeMessages(client)
        case 31: setMode(client, program.byte())
        case 32: world.act(client) { $0.handle(.stop, now: $1) }
        case 33: world.act(client) { $0.handle(.start, now: $1) }
        case 34: world.act(client) { $0.handle(.retryNow, now: $1) }
        case 35: changePath(client, program.byte())
        case 36: world.act(client) { $0.markRead(id, upTo: UInt64(program.byte()), now: $1) }
        case 37: sendTransient(client, id, &program)
        case 38: ask(index, id, &program)
        default: answer(index, id, program.byte())
        }
    }

    private func say(_ index: Int, _ room: Int, _ byteCount: Int, timeToLive: Duration? = nil) {
        guard lines.count < Self.maxLines else { return }
        let client = world.clients[index]
        let text = "\(lines.count)" + String(repeating: ".", count: byteCount)
        guard let counter = try? world.send(text, from: client, in: rooms[index][room], timeToLive: timeToLive) else {
            return
        }
        lines.append(Line(client: index, room: room, counter: counter, text: text))
    }

    private func takeBack(_ index: Int, _ room: Int) {
        guard let line = lines.last(where: { $0.client == index && $0.room == room }) else { return }
        _ = world.act(world.clients[index]) { $0.cancel(counter: line.counter, in: rooms[index][room], now: $1) }
    }

    private func setMode(_ client: VirtualClient, _ mode: UInt8) {
        world.act(client) { engine, now in
            switch mode % 4 {
            case 0: engine.handle(.enterForeground, now: now)
            case 1: engine.handle(.setMode(.background), now: now)
            case 2: engine.handle(.setMode(.suspended), now: now)
            default: engine.handle(.wake, now: now)
            }
        }
    }

    private func changePath(_ client: VirtualClient, _ path: UInt8) {
        let kind = PathKind.allCases[Int(path >> 2) % PathKind.allCases.count]
        let status = PathStatus(isUp: path & 3 != 0, kind: kind, network: NetworkID(rawValue: UInt64(path >> 4)))
        world.act(client) { $0.handle(.pathChanged(to: status), now: $1) }
    }

    private func sendTransient(_ client: VirtualClient, _ id: RoomID, _ program: inout ByteProgram) {
        let kind = program.byte()
        let content = FrameMaker.content(of: ContentKind(rawValue: 0xF001), &program)
        world.act(client) { engine, now in
            if kind & 1 == 0 { return engine.setTyping(kind & 2 == 0, in: id, now: now) }
            engine.sendTransient(ContentKind(rawValue: 0xF001), content, in: id, now: now)
        }
    }

    private func ask(_ index: Int, _ id: RoomID, _ program: inout ByteProgram) {
        if program.byte() & 3 == 0, let last = requests.popLast() {
            return world.act(world.clients[last.client]) { $0.cancelRequest(last.number, now: $1) }
        }
        let recipient = program.bool() ? AccountName("client\(program.below(3))") : nil
        let deadline = Self.pauses[program.below(Self.pauses.count)]
        let number = world.act(world.clients[index]) { engine, now in
            try? engine.request(MethodName("ask")!, to: recipient, in: id, deadline: deadline, now: now)
        }
        if let number { requests.append((index, number)) }
    }

    /// Answers the client's last received request, in time or late.
    private func answer(_ index: Int, _ id: RoomID, _ offset: UInt8) {
        let client = world.clients[index]
        let asked = client.events(in: id).compactMap { event in
            if case .request(let request) = event { request.id } else { nil }
        }
        guard var request = asked.last else { return }
        request.correlation &+= UInt64(offset % 2)
        world.act(client) { [request] in $0.respond(to: request, in: id, now: $1) }
    }

    // MARK: The end

    /// Ends all faults.
    func endFaults() {
        world.relay.refusesAppends = false
        world.relay.refusesLoads = false
        world.relay.refusesReads = false
        for (index, client) in world.clients.enumerated() {
            client.conditions.lostPerMille = min(client.conditions.lostPerMille, 40)
            world.restore(client)
            world.startReading(client)
            world.takeMessages(client)
            let status = PathStatus(isUp: true, kind: .wifi, network: NetworkID(rawValue: 1))
            world.act(client) { $0.handle(.pathChanged(to: status), now: $1) }
            world.act(client) { $0.handle(.enterForeground, now: $1) }
            for id in rooms[index] { world.act(client) { $0.resume(id, now: $1) } }
            world.act(client) { $0.handle(.start, now: $1) }
        }
    }

    func settle() {
        let isSettled = world.run(until: world.now + .seconds(3600)) {
            world.clients.allSatisfy { $0.engine.isSettled }
        }
        hold(isSettled, "messages are pending after an hour: \(world.clients.map { $0.engine.status })")
        for client in world.clients.indices {
            for event in rooms[client].flatMap({ world.clients[client].events(in: $0) }) { note(event, client) }
        }
        // Accepted messages must still be delivered.
        let expected = world.clients.indices.map { index in
            lines.count { $0.client != index && !isWithdrawn.contains($0) }
        }
        world.run(until: world.now + .seconds(3600)) {
            world.clients.indices.allSatisfy { index in
                world.clients[index].received.values.reduce(0) { $0 + $1.count } >= expected[index]
            }
        }
    }

    private func note(_ event: RoomEvent, _ client: Int) {
        guard case .failed(let counter, let failure) = event else { return }
        hold(failure == .expired || failure == .cancelled, "a message failed: \(failure)")
        guard let line = lines.first(where: { $0.client == client && $0.counter == counter }) else {
            return hold(false, "an unknown message failed")
        }
        isWithdrawn.insert(line)
    }

    func check() {
        for room in Self.roomNames.indices {
            let log = self.log(room)
            hold(Set(log).count == log.count, "the log contains a message twice")
            let all = lines.filter { $0.room == room && !isWithdrawn.contains($0) }
            hold(Set(log) == Set(all), "\(log.count) messages are in the log, \(all.count) were published")
            let offsets = (world.relay.log[Self.roomNames[room]] ?? []).map(\.offset)
            hold(offsets.elementsEqual((0..<offsets.count).map { UInt64($0) + 1 }), "offsets with gaps: \(offsets)")
            for client in world.clients.indices {
                hold(log.filter { $0.client == client } == all.filter { $0.client == client }, "messages out of order")
                let seen = self.seen(client, room)
                let expected = log.filter { $0.client != client }
                hold(seen == expected, "\(seen.count) messages delivered of \(expected.count), or in another order")
            }
        }
        for index in world.clients.indices {
            let accepted = acceptances(index)
            let sent = lines.count { $0.client == index && !isWithdrawn.contains($0) }
            hold(accepted == sent, "\(accepted) acceptances of \(sent) messages")
        }
    }

    private func log(_ room: Int) -> [Line] {
        (world.relay.log[Self.roomNames[room]] ?? []).map { entry in
            let bytes = entry.body.bytes
            let text = (try? Message(parsing: bytes.rawBytes))?.text ?? ""
            return Line(client: Int(entry.device.rawValue) - 1, room: room, counter: entry.counter, text: text)
        }
    }

    private func seen(_ client: Int, _ room: Int) -> [Line] {
        (world.clients[client].received[rooms[client][room]] ?? []).map { entry in
            let sender = Int(entry.message.relay?.device.rawValue ?? 0) - 1
            return Line(client: sender, room: room, counter: entry.message.counter, text: entry.message.text ?? "")
        }
    }

    private func acceptances(_ client: Int) -> Int {
        world.clients[client].outputs.reduce(0) { sum, entry in
            if case .room(_, .accepted(let run)) = entry.output { sum + Int(run.count) } else { sum }
        }
    }
}
