import MartletToolSupport
import Testing

@testable import MartletLab

@Suite struct CorruptionTests {
    /// Returns the offsets of flipped bits for zeros in pieces of these sizes, repeated.
    private func flips(oneIn block: Int, seed: UInt64, count: Int, pieces: [Int]) -> (places: [Int], masks: [UInt8]) {
        var corruption = Corruption(oneIn: block, seed: seed)
        var output: [UInt8] = []
        var turn = 0
        while output.count < count {
            var piece = [UInt8](repeating: 0, count: min(pieces[turn % pieces.count], count - output.count))
            corruption.apply(to: &piece)
            output += piece
            turn += 1
        }
        let places = output.indices.filter { output[$0] != 0 }
        #expect(corruption.flippedCount == places.count)
        return (places, places.map { output[$0] })
    }

    @Test func `exactly one bit in every block is flipped`() {
        let flips = flips(oneIn: 100, seed: 7, count: 10_000, pieces: [10_000])
        #expect(flips.places.map { $0 / 100 } == Array(0..<100))
        #expect(Set(flips.places.map { $0 % 100 }).count > 30)
        #expect(flips.masks.allSatisfy { $0.nonzeroBitCount == 1 })
        #expect(Set(flips.masks).count == 8)
    }

    @Test(arguments: [[1], [7], [100], [99, 1, 350]])
    func `the flipped bits depend on the seed and not on the pieces`(pieces: [Int]) {
        let whole = flips(oneIn: 100, seed: 7, count: 5_000, pieces: [5_000])
        #expect(flips(oneIn: 100, seed: 7, count: 5_000, pieces: pieces) == whole)
        #expect(flips(oneIn: 100, seed: 8, count: 5_000, pieces: pieces) != whole)
    }

    @Test func `a block of one byte flips a bit in every byte`() {
        #expect(flips(oneIn: 1, seed: 1, count: 50, pieces: [50]).places == Array(0..<50))
    }
}
