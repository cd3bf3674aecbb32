import Testing

@testable import MartletDatabase

@Suite struct LogTruncationTests {
    // R-174, M-29
    @Test func `a failed attempt → a second one; a later removal → an attempt; an end → none`() async throws {
        let truncation = LogTruncation(delay: .zero)
        let (attempts, attempt) = AsyncStream.makeStream(of: Int.self)
        let results = AttemptResults()
        truncation.start {
            let count = await results.next()
            attempt.yield(count)
            return count > 2
        }
        var iterator = attempts.makeAsyncIterator()
        for expected in 1...3 { #expect(await iterator.next() == expected) }
        truncation.schedule()
        #expect(await iterator.next() == 4)
        truncation.end()
        truncation.schedule()
        attempt.finish()
        #expect(await iterator.next() == nil)
    }
}

private actor AttemptResults {
    private var count = 0

    func next() -> Int {
        count += 1
        return count
    }
}
