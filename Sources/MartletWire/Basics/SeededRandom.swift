/// The generator SplitMix64 (Steele, Lea and Flood, 2014): equal seeds give equal numbers.
///
/// It draws jitter, nonces and the input of tests. Its numbers are predictable and must not be used as secrets.
package struct SeededRandom: RandomNumberGenerator, Equatable, Sendable {
    /// The seed of a generator that continues here.
    package private(set) var state: UInt64

    /// Creates a generator with a seed.
    package init(seed: UInt64) {
        state = seed
    }

    /// Returns the next 64 bits.
    package mutating func next() -> UInt64 {
        state &+= 0x9E37_79B9_7F4A_7C15
        var mixed = state
        mixed = (mixed ^ (mixed >> 30)) &* 0xBF58_476D_1CE4_E5B9
        mixed = (mixed ^ (mixed >> 27)) &* 0x94D0_49BB_1331_11EB
        return mixed ^ (mixed >> 31)
    }

    /// Returns true with a probability of `perMille` in 1,000.
    package mutating func happens(perMille: Int) -> Bool {
        perMille > 0 && next() % 1000 < UInt64(perMille)
    }
}
