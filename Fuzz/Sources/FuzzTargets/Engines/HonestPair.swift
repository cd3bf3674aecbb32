import MartletTestKit
import MartletWire

@testable import Martlet
@testable import MartletLink
@testable import MartletSimulator

/// Two correct clients that exchange messages in one room of a virtual world, and the checks of their result.
final class HonestPair {
    private let world: VirtualWorld
    private let clients: [VirtualClient]
    private let rooms: [RoomID]
    private var lines: [[String]] = [[], []]
    /// The messages that each has received from the other, among the examined ones.
    private var received = [(lines: 0, messages: 0), (lines: 0, messages: 0)]

    init(in world: VirtualWorld, carrier: Carrier) {
        self.world = world
        clients = ["alice", "bob"].map { name in
            world.addClient(name, conditions: PathConditions(delay: .milliseconds(20)), carrier: carrier)
        }
        rooms = clients.map { client in
            guard let room = try? world.act(client, { try $0.open(RoomName("lobby"), now: $1) }) else {
                fatalError("no room opens")
            }
            world.act(client) { $0.handle(.start, now: $1) }
            return room
        }
        world.run(for: .milliseconds(200))
    }

    func say(from index: Int, _ byteCount: Int) {
        let text = "\(index).\(lines[index].count)" + String(repeating: ".", count: byteCount)
        guard (try? world.send(text, from: clients[index], in: rooms[index])) != nil else { return }
        lines[index].append(text)
    }

    /// Within an hour all messages are accepted and delivered once, in the order of their sender.
    func settle(_ poll: () -> Void) {
        let limit = world.now + .seconds(3600)
        while world.now < limit, !isSettled {
            world.run(until: min(limit, world.now + .seconds(5))) { isSettled }
            poll()
        }
        for index in clients.indices {
            let accepted = clients[index].accepted[rooms[index]]?.count ?? 0
            hold(accepted == lines[index].count, "\(accepted) of \(lines[index].count) messages are accepted")
            let seen = (clients[index].received[rooms[index]] ?? []).map(\.message)
            let offsets = seen.compactMap { $0.relay?.offset }
            hold(zip(offsets, offsets.dropFirst()).allSatisfy { $0 < $1 }, "offsets that do not increase: \(offsets)")
            let other = AccountName(index == 0 ? "bob" : "alice")
            let texts = seen.filter { $0.relay?.sender == other }.compactMap(\.text)
            hold(
                texts == lines[1 - index], "received \(texts.count) of \(lines[1 - index].count), or in another order")
        }
    }

    private var isSettled: Bool {
        clients.indices.allSatisfy { index in
            (clients[index].accepted[rooms[index]]?.count ?? 0) == lines[index].count
                && heardCount(index) >= lines[1 - index].count
        }
    }

    /// The number of received messages, counted from the last call.
    private func heardCount(_ index: Int) -> Int {
        let other = AccountName(index == 0 ? "bob" : "alice")
        let messages = clients[index].received[rooms[index]] ?? []
        received[index].lines += messages[received[index].messages...].count { $0.message.relay?.sender == other }
        received[index].messages = messages.count
        return received[index].lines
    }
}
