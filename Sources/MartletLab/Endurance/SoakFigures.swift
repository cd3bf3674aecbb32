/// What a process took in the course of a soak.
struct SoakFigures: Sendable {
    /// Numbers in the order in which they were seen.
    struct Course: Equatable, Sendable {
        private var values: [Int] = []

        mutating func add(_ value: Int) {
            values.append(value)
        }

        /// By how much the middle of the last quarter is above that of the first; 0 when there is too little to say.
        var drift: Int {
            let quarter = values.count / 4
            guard quarter > 0 else { return 0 }
            return values.suffix(quarter).sorted()[quarter / 2] - values.prefix(quarter).sorted()[quarter / 2]
        }
    }

    private(set) var latest: ProcessFigures?
    /// Mebibytes over hours, after the warm-up.
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
