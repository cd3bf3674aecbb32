/// A linear regression by least squares.
struct Trend: Equatable, Sendable {
    private var count = 0.0
    private var sumX = 0.0
    private var sumY = 0.0
    private var sumXX = 0.0
    private var sumXY = 0.0

    mutating func add(_ x: Double, _ y: Double) {
        count += 1
        sumX += x
        sumY += y
        sumXX += x * x
        sumXY += x * y
    }

    /// The slope; nil with fewer than two different values of x.
    var slope: Double? {
        let spread = count * sumXX - sumX * sumX
        return count >= 2 && spread > 0 ? (count * sumXY - sumX * sumY) / spread : nil
    }
}

/// The maximum number of events in one second.
struct BusiestSecond: Equatable, Sendable {
    private var times: [Int64] = []

    /// Adds an event at a time in milliseconds. The times may be unordered.
    mutating func add(_ time: Int64) {
        times.append(time)
    }

    var count: Int {
        let times = times.sorted()
        var first = 0
        var most = 0
        for last in times.indices {
            while times[last] - times[first] >= 1000 { first += 1 }
            most = max(most, last - first + 1)
        }
        return most
    }
}
