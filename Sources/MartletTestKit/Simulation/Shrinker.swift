/// Takes away from a story what its failure does not need (Zeller and Hildebrandt, "Simplifying and Isolating
/// Failure-Inducing Input", 2002), until nothing more can go.
public struct Shrinker {
    /// Runs that it may take.
    public static let maxRunCount = 2000

    /// Runs that it took.
    public private(set) var runCount = 0
    private let fails: (Story) -> Bool

    /// A shrinker for stories that break the same promise.
    ///
    /// - Parameter fails: whether a story still fails in the same way.
    public init(while fails: @escaping (Story) -> Bool) {
        self.fails = fails
    }

    /// The shortest story that was found.
    public mutating func shrink(_ story: Story) -> Story {
        var story = story
        var size = max(1, story.steps.count / 2)
        while runCount < Shrinker.maxRunCount {
            let before = story.steps.count
            var start = 0
            while start < story.steps.count, runCount < Shrinker.maxRunCount {
                var candidate = story
                candidate.steps.removeSubrange(start..<min(start + size, story.steps.count))
                runCount += 1
                if fails(candidate) { story = candidate } else { start += size }
            }
            if size > 1 {
                size /= 2
            } else if story.steps.count == before {
                break
            }
        }
        return story
    }
}
