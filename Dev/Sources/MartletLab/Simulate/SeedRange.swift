/// A closed range of seeds, written as `1..10000` or as one number.
struct SeedRange: Equatable, Sendable {
    let seeds: ClosedRange<UInt64>

    init?(parsing text: String) {
        if let seed = UInt64(text) {
            seeds = seed...seed
            return
        }
        guard let dots = text.firstRange(of: ".."), let first = UInt64(text[..<dots.lowerBound]),
            let last = UInt64(text[dots.upperBound...]), first <= last, last - first < UInt64(Int.max)
        else { return nil }
        seeds = first...last
    }

    var count: Int { Int(seeds.upperBound - seeds.lowerBound) + 1 }
}
