import MartletTestSupport
import MartletWire
import Testing

@testable import MartletLink
@testable import MartletRelay
@testable import MartletSimulator

/// Tests of virtual relays with one store: the model of the store, and clients at different relays.
@Suite struct SharedStoreTests {
    private let store = VirtualStore(isShared: true, seed: 1)

    private func entry(_ offset: UInt64, from device: UInt64) -> LogEntry {
        let stamp = RelayStamp(offset: offset, acceptedAt: 0, sender: .alice, device: DeviceID(rawValue: device))
        let message = Message(counter: offset, kind: .text, content: Message.textContent("text"), relay: stamp)
        return LogEntry(
            offset: offset, sender: .alice, device: stamp.device, counter: offset, acceptedAt: 0,
            body: EncodedBody(message.encode()))
    }

    private func append(_ offset: UInt64, rolesVersion: UInt64 = 0, log: LogID? = nil) -> Result<
        UInt64, RoomStoreError
    >? {
        let append = RoomAppend(
            room: .lobby, entries: [entry(offset, from: 7)], log: log ?? store.logID(.lobby), rolesVersion: rolesVersion
        )
        guard case .append(.lobby, _, _, let result) = store.answer(to: .append(append)) else { return nil }
        return result
    }

    //
    @Test func `append at an offset that the log has → the conflict has the messages from there`() {
        _ = append(1)
        _ = append(2)
        guard case .failure(.conflict(let history))? = append(1) else {
            Issue.record("there is no conflict")
            return
        }
        #expect(history.entries.first?.offset == 1 && history.firstOffset == 1)
        #expect(store.log[.lobby]?.map(\.offset) == [1, 2])
    }

    //
    @Test func `append with an earlier version of roles, or another log → refused`() {
        store.saveRoles([1], of: .lobby, nil)
        guard case .failure(.rolesChanged)? = append(1) else {
            Issue.record("the roles are not compared")
            return
        }
        guard case .failure(.logLost)? = append(1, rolesVersion: 1, log: LogID(rawValue: 1)) else {
            Issue.record("the log is not compared")
            return
        }
        #expect(store.log[.lobby] == nil)
        guard case .success? = append(1, rolesVersion: 1) else {
            Issue.record("the append is refused")
            return
        }
    }

    //
    @Test func `roles that replace an earlier version → refused, the saved ones remain`() {
        store.saveRoles([1], of: .lobby, replacing: 0, nil)
        guard case .failure(.rolesChanged) = store.saveRoles([2], of: .lobby, replacing: 0, nil) else {
            Issue.record("the version is not compared")
            return
        }
        #expect(store.roles[.lobby] == [1])
    }

    //
    @Test func `members at two relays → each receives the messages of the other, once and in one order`() throws {
        let world = VirtualWorld(relayCount: 2)
        for relay in world.relays { relay.storeDelay = .milliseconds(20) }
        let clients = ["alice", "bob"].map { world.addClient($0) }
        let rooms = try clients.map { try world.open(.lobby, for: $0) }
        world.run(for: .seconds(2))
        #expect(world.relays.map(\.loops.statistics.links) == [1, 1])
        for number in 0..<20 {
            for (client, room) in zip(clients, rooms) { try world.send("\(number)", from: client, in: room) }
        }
        world.run(for: .seconds(5))
        #expect(world.store.log[.lobby]?.map(\.offset) == Array(1...40))
        for (client, room) in zip(clients, rooms) {
            #expect(client.texts(in: room) == (0..<20).map { "\($0)" })
            #expect(client.accepted[room] == Set(1...20))
        }
    }

    @Test func `stopped relay → its client receives nothing until it continues`() throws {
        let world = VirtualWorld(relayCount: 2)
        let (alice, bob) = (world.addClient("alice"), world.addClient("bob"))
        let rooms = try [alice, bob].map { try world.open(.lobby, for: $0) }
        world.run(for: .seconds(2))
        world.stop(1)
        try world.send("hello", from: alice, in: rooms[0])
        world.run(for: .seconds(4))
        #expect(alice.accepted[rooms[0]] == [1] && bob.texts(in: rooms[1]) == [])
        world.resume(1)
        world.run(for: .seconds(2))
        #expect(bob.texts(in: rooms[1]) == ["hello"])
    }
}
