import Martlet
import MartletSimulator
import MartletTestSupport
import MartletWire
import Testing

@testable import MartletLink

/// Held state does not grow with repeated events: at rest it is no more after many of them than after the first few.
@Suite struct HeldTests {
    private static let carriers: [Carrier] = [.reliable, .unreliable]

    /// The maximum held in a tenth of the repetitions.
    private struct Most: Equatable {
        var byAlice = 0
        var byBob = 0
        var byRelay = 0

        func isWithin(_ other: Most) -> Bool {
            byAlice <= other.byAlice && byBob <= other.byBob && byRelay <= other.byRelay
        }
    }

    /// Repeats an event a hundred times, each with a message and a pause. Returns the maxima of the first and last ten.
    private func first(andLastOf pair: Pair, _ event: () throws -> Void) throws -> (first: Most, last: Most) {
        var tenths: [Most] = []
        for number in 0..<100 {
            try event()
            try pair.world.send("\(100 + number)", from: pair.bob, in: pair.his)
            pair.world.run(for: .seconds(90))
            #expect(pair.texts(number + 1))
            if number % 10 == 0 { tenths.append(Most()) }
            tenths[number / 10].byAlice = max(tenths[number / 10].byAlice, pair.alice.heldCount)
            tenths[number / 10].byBob = max(tenths[number / 10].byBob, pair.bob.heldCount)
            tenths[number / 10].byRelay = max(tenths[number / 10].byRelay, pair.world.relay.heldCount)
        }
        return (tenths[0], tenths[9])
    }

    @Test(arguments: carriers) func `cut connections leave no state on either side`(carrier: Carrier) throws {
        let pair = try Pair(carrier)
        pair.settle()
        let (first, last) = try first(andLastOf: pair) {
            pair.world.cut(pair.alice)
            pair.world.cut(pair.bob)
        }
        #expect(last.isWithin(first), "\(first), then \(last)")
        #expect(pair.alice.engine.status.reconnects >= 100)
    }

    @Test(arguments: carriers) func `crashes of a device leave no state at the relay`(carrier: Carrier) throws {
        let pair = try Pair(carrier)
        pair.settle()
        let (first, last) = try first(andLastOf: pair) {
            pair.world.crash(pair.alice)
            _ = try pair.world.open(.lobby, for: pair.alice)
        }
        #expect(last.isWithin(first), "\(first), then \(last)")
    }
}

extension Pair {
    /// Whether all messages of Bob were accepted.
    fileprivate func texts(_ count: Int) -> Bool { bob.accepted[his]?.count == count }
}
