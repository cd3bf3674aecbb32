import MartletTestKit
import MartletWire
import Testing

@testable import MartletProtocol

/// Whether anything grows with what happens again and again: what is held at rest after many times is no more than
/// after the first few.
@Suite struct HeldTests {
    private static let carriers: [Carrier] = [.reliable, .unreliable]

    /// The most that was held in a tenth of the times.
    private struct Most: Equatable {
        var byAlice = 0
        var byBob = 0
        var byRelay = 0

        func isWithin(_ other: Most) -> Bool {
            byAlice <= other.byAlice && byBob <= other.byBob && byRelay <= other.byRelay
        }
    }

    /// Does it a hundred times, each followed by some talk and a rest; the most of the first ten and of the last.
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

    @Test(arguments: carriers) func `connections that were cut leave nothing with either side`(carrier: Carrier) throws
    {
        let pair = try Pair(carrier)
        pair.settle()
        let (first, last) = try first(andLastOf: pair) {
            pair.world.cut(pair.alice)
            pair.world.cut(pair.bob)
        }
        #expect(last.isWithin(first), "\(first), then \(last)")
        #expect(pair.alice.engine.status.reconnects >= 100)
    }

    @Test(arguments: carriers) func `a device's earlier lives leave nothing with the relay`(carrier: Carrier) throws {
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
    /// Whether Bob's lines have all been accepted.
    fileprivate func texts(_ count: Int) -> Bool { bob.accepted[his]?.count == count }
}
