/// The resources of a process during a soak.
struct SoakFigures: Sendable {
    /// A series of measured numbers.
    struct Course: Equatable, Sendable {
        private var values: [Int] = []

        mutating func add(_ value: Int) {
            values.append(value)
        }

        /// The difference between the medians of the last quarter and the first quarter; 0 if there are too few
        /// numbers.
        var drift: Int {
            let quarter = values.count / 4
            guard quarter > 0 else { return 0 }
            return values.suffix(quarter).sorted()[quarter / 2] - values.prefix(quarter).sorted()[quarter / 2]
        }
    }

    private(set) var latest: ProcessFigures?
    /// The resident memory in mebibytes over hours, after the warm-up.
    private(set) var memory = Trend()
    private(set) var descriptors = Course()
    private(set) var threads = Course()

    mutating func add(_ figures: ProcessFigures?, at elapsed: Duration, counts: Bool) {
        guard let figures else { return }
        latest = figures
        guard counts else { return }
        memory.add(elapsed / .seconds(3600), Double(figures.residentByteCount) / 1_048_576)
        descriptors.add(figures.descriptorCount)
        threads.add(figures.threadCount)
    }
}
