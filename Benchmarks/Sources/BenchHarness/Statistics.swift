/// The middle of some samples and how far they lie from it.
public struct Statistics: Sendable {
    /// The samples, ascending.
    public let sorted: [Double]

    /// Of at least one sample.
    public init(_ samples: [Double]) {
        precondition(!samples.isEmpty, "statistics of nothing")
        sorted = samples.sorted()
    }

    /// The value that half of the samples reach.
    public var median: Double { quantile(0.5) }

    /// Half of the distance between the quartiles, as a share of the median.
    public var spread: Double {
        median == 0 ? 0 : (quantile(0.75) - quantile(0.25)) / 2 / median
    }

    /// The value below which that share of the samples lies, interpolated.
    public func quantile(_ share: Double) -> Double {
        let place = share * Double(sorted.count - 1)
        let low = Int(place)
        let high = min(low + 1, sorted.count - 1)
        return sorted[low] + (sorted[high] - sorted[low]) * (place - Double(low))
    }
}

/// A ratio of medians, with the ratios of the single rounds around it.
public struct Ratio: Sendable {
    /// Median over median.
    public let value: Double
    /// The lowest ratio of one round.
    public let lowest: Double
    /// The highest ratio of one round.
    public let highest: Double

    /// Rounds are paired: the n-th sample of one was taken right before or after the n-th of the other. Nil when there
    /// is nothing to divide by.
    public init?(_ samples: [Double], to others: [Double]) {
        guard !samples.isEmpty, !others.isEmpty, others.allSatisfy({ $0 > 0 }) else { return nil }
        value = Statistics(samples).median / Statistics(others).median
        let ratios = zip(samples, others).map { $0 / $1 }
        lowest = ratios.min() ?? value
        highest = ratios.max() ?? value
    }
}
