/// A straight line through points, by least squares.
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

    /// What y gains when x gains one; nil with less than two different x.
    var slope: Double? {
        let spread = count * sumXX - sumX * sumX
        return count >= 2 && spread > 0 ? (count * sumXY - sumX * sumY) / spread : nil
    }
}

/// The most of something that comes within any one second, from when each came.
struct BusiestSecond: Equatable, Sendable {
    private var times: [Int64] = []

    /// One more, at a time in milliseconds; they may come out of order.
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
