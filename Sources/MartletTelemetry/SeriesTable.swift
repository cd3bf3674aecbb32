import MartletRelay
import MartletWire

/// The series of the points that an exporter has taken since its creation. Points of further series are dropped
/// (R-194, Specs/hostile.md row 109).
struct SeriesTable {
    private let maxCount: Int
    private let maxCountOfSource: Int
    /// The hashes of the series. Two series with one hash count as one.
    private var known: Set<Int> = []
    /// The number of series that each source has added.
    private var added: [TelemetrySource: Int] = [:]

    init(maxCount: Int, maxCountOfSource: Int) {
        self.maxCount = maxCount
        self.maxCountOfSource = maxCountOfSource
    }

    /// Returns whether a point of the series may be taken.
    mutating func admit(_ series: [UInt8], of agent: String?, from source: TelemetrySource) -> Bool {
        var hasher = Hasher()
        hasher.combine(series)
        hasher.combine(agent)
        let hash = hasher.finalize()
        if known.contains(hash) { return true }
        guard known.count < maxCount, added[source, default: 0] < maxCountOfSource else { return false }
        known.insert(hash)
        added[source, default: 0] += 1
        return true
    }
}
