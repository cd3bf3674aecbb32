import MartletTestKit
import MartletWire
import Testing

@testable import MartletProtocol

/// Whatever happens in whatever order: nothing is lost, nothing comes twice, every room has one order.
@Suite struct TroubleTests {
    @Test(arguments: UInt64(1)...200)
    func `in random trouble every line is accepted once and seen once, in the room's order`(seed: UInt64) {
        let trouble = TroubledWorld(seed: seed)
        trouble.run(stepCount: 60)
        #expect(trouble.settle())
        for room in [RoomName.lobby, .hall] {
            let log = trouble.log(room)
            #expect(Set(log) == Set(trouble.lines.filter { $0.room == room }))
            #expect(log.count == Set(log).count)
            #expect((trouble.world.relay.log[room] ?? []).map(\.offset) == (0..<log.count).map { UInt64($0) + 1 })
            for client in trouble.world.clients.indices {
                let counters = log.filter { $0.client == client }.map(\.counter)
                #expect(counters == counters.sorted())
                #expect(trouble.seen(client, room) == log.filter { $0.client != client })
            }
        }
        for client in trouble.world.clients.indices {
            #expect(trouble.acceptances(client) == trouble.sent(client))
        }
    }

    @Test(arguments: UInt64(1)...10) func `the same seed gives the same run`(seed: UInt64) {
        let runs = (0..<2).map { _ in
            let trouble = TroubledWorld(seed: seed)
            trouble.run(stepCount: 60)
            _ = trouble.settle()
            return trouble.world
        }
        #expect(runs[0].now == runs[1].now)
        #expect(runs[0].connectionCount == runs[1].connectionCount)
        for (left, right) in zip(runs[0].clients, runs[1].clients) {
            #expect(left.outputs.count == right.outputs.count)
            #expect(zip(left.outputs, right.outputs).allSatisfy { $0.at == $1.at && $0.output == $1.output })
        }
    }
}
