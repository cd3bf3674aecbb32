import MartletTestSupport
import MartletWire
import Testing

@testable import MartletLink
@testable import MartletRelay
@testable import MartletSimulator

/// Links of devices that move between the relays of a bus.
@Suite struct DeviceMoveTests {
    private static let two = RelayID(rawValue: 2)
    private let stage = RelayStage { $0.busDatagramByteCount = 4096 }

    /// Relay 2 reports that a device has begun a link there.
    private func linked(_ account: AccountName, device: UInt64 = 1) {
        let item = BusItem.linked(account, DeviceID(rawValue: device))
        stage.act { $0.busReceived(.item(item, from: Self.two, number: 1), now: $1) }
    }

    /// The devices whose links the relay has reported since the last call.
    private func reported() -> [DeviceKey] {
        var peers = BusPeers(id: Self.two, maxDatagramByteCount: 4096)
        let events = stage.relay.takeDatagrams().flatMap { peers.receive($0.rawBytes, now: stage.now) }
        return events.compactMap {
            guard case .item(.linked(let account, let device), _, _) = $0 else { return nil }
            return DeviceKey(account: account, device: device)
        }
    }

    //
    @Test func `the device of a link has begun one elsewhere → it ends with its connection, without a notice`() {
        let (alice, bob) = (stage.member("alice", of: .lobby), stage.member("bob", of: .lobby))
        stage.run(for: .seconds(5))
        linked(.alice)
        #expect(alice.closedAt == stage.now && alice.farewell == nil && bob.closedAt == nil)
        #expect(stage.relay.engine.statistics.links == 1)
        #expect(stage.relay.engine.sessions.rooms.local.residents == [.lobby])
        linked(.bob)
        #expect(stage.relay.engine.sessions.rooms.local.residents == [])
    }

    //
    @Test func `a suspended link, and its device has begun one elsewhere → it ends`() {
        let alice = stage.member("alice")
        alice.cut()
        stage.run(for: .seconds(5))
        #expect(stage.relay.engine.statistics.suspendedLinks == 1)
        linked(.alice)
        #expect(stage.relay.engine.statistics.suspendedLinks == 0)
    }

    //
    @Test func `a different device, or the same one of a different account, has begun a link there → no effect`() {
        let alice = stage.member("alice")
        stage.run(for: .seconds(5))
        linked(.alice, device: 2)
        linked(.bob)
        #expect(alice.closedAt == nil && stage.relay.engine.statistics.links == 1)
    }

    //
    @Test func `a report less than 5 s after the link began → no effect, since it may be late`() {
        let alice = stage.member("alice")
        stage.run(for: .milliseconds(4999))
        linked(.alice)
        #expect(alice.closedAt == nil)
        stage.run(for: .milliseconds(1))
        linked(.alice)
        #expect(alice.closedAt == stage.now)
    }

    //
    @Test func `a device begins a link → reported; it resumes the link → not reported`() throws {
        let alice = stage.member("alice", of: .lobby)
        #expect(reported() == [DeviceKey(account: .alice, device: DeviceID(rawValue: 1))])
        let welcome = try #require(alice.log.last(Welcome.self))
        alice.cut()
        #expect(try #require(stage.connect()).resume("alice", from: welcome)?.epoch == Epoch(rawValue: 2))
        #expect(reported() == [])
    }

    //
    @Test(arguments: [0, 1]) func `a report at a relay with two loops → for the loop of the account`(_ loop: Int) {
        let event = BusPeers.Event.item(.linked(.alice, DeviceID(rawValue: 1)), from: Self.two, number: 1)
        let place = LoopPlace(index: 0, count: 2)
        #expect(event.concerns(loop, place) == (place.loop(of: AccountName.alice) == loop))
    }
}
