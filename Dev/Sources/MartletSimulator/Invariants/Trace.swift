import MartletLink

/// The observations of a run as a hash and, on request, as lines. The same seed gives the same trace.
struct Trace {
    /// FNV-1a over all observations, 64 bits.
    private(set) var hash: UInt64 = 0xCBF2_9CE4_8422_2325
    private(set) var lines: [String] = []
    let keepsLines: Bool

    init(keepsLines: Bool) {
        self.keepsLines = keepsLines
    }

    mutating func note(_ at: Instant, device: Int, _ what: StaticString, _ numbers: [UInt64]) {
        mix(at.nanoseconds)
        mix(UInt64(device))
        // The length of the text and the numbers distinguish the kinds of observations.
        mix(UInt64(what.utf8CodeUnitCount))
        for number in numbers { mix(number) }
        guard keepsLines else { return }
        let time = String(at.nanoseconds / 1_000_000)
        let padding = String(repeating: " ", count: max(0, 9 - time.count))
        let values = numbers.map(String.init).joined(separator: " ")
        lines.append("\(padding)\(time) ms  device \(device)  \(what) \(values)")
    }

    private mutating func mix(_ word: UInt64) {
        var word = word
        for _ in 0..<8 {
            hash = (hash ^ (word & 0xFF)) &* 0x0000_0100_0000_01B3
            word >>= 8
        }
    }
}
