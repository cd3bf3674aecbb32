/// The median and spread of samples.
public struct Statistics: Sendable {
    /// The samples in ascending order.
    public let sorted: [Double]

    /// Creates the statistics of at least one sample.
    public init(_ samples: [Double]) {
        precondition(!samples.isEmpty, "statistics of nothing")
        sorted = samples.sorted()
    }

    /// The median.
    public var median: Double { quantile(0.5) }

    /// Half the distance between the quartiles, as a share of the median.
    public var spread: Double {
        median == 0 ? 0 : (quantile(0.75) - quantile(0.25)) / 2 / median
    }

    /// The interpolated quantile of a share.
    public func quantile(_ share: Double) -> Double {
        let place = share * Double(sorted.count - 1)
        let low = Int(place)
        let high = min(low + 1, sorted.count - 1)
        return sorted[low] + (sorted[high] - sorted[low]) * (place - Double(low))
    }
}

/// A ratio of medians, with the range of the ratios of single rounds.
public struct Ratio: Sendable {
    /// The ratio of the medians.
    public let value: Double
    /// The lowest ratio of one round.
    public let lowest: Double
    /// The highest ratio of one round.
    public let highest: Double

    /// Creates the ratio of two series whose samples are paired by round; nil if the divisor is zero or missing.
    public init?(_ samples: [Double], to others: [Double]) {
        guard !samples.isEmpty, !others.isEmpty, others.allSatisfy({ $0 > 0 }) else { return nil }
        value = Statistics(samples).median / Statistics(others).median
        let ratios = zip(samples, others).map { $0 / $1 }
        lowest = ratios.min() ?? value
        highest = ratios.max() ?? value
    }
}
