import Testing

@testable import MartletLink

@Suite struct TokenBucketTests {
    private func taken(_ bucket: inout TokenBucket, _ count: Int, at now: Instant) -> Int {
        (0..<count).reduce(0) { sum, _ in sum + (bucket.take(now: now) ? 1 : 0) }
    }

    @Test func `a burst, then a token for each interval`() {
        var bucket = TokenBucket(burst: 10, perMinute: 60)
        #expect(taken(&bucket, 20, at: .zero) == 10)
        #expect(taken(&bucket, 5, at: .zero + .milliseconds(999)) == 0)
        #expect(taken(&bucket, 5, at: .zero + .seconds(1)) == 1)
        #expect(taken(&bucket, 20, at: .zero + .seconds(5)) == 4)
        #expect(taken(&bucket, 20, at: .zero + .seconds(3600)) == 10)
    }

    @Test func `a refused request takes no token`() {
        var bucket = TokenBucket(burst: 1, perMinute: 33 * 60)
        var count = 0
        // Every microsecond over a second: an interval of 30 ms must not be lost to rounding.
        for microsecond in 0..<1_000_000 as Range<Int64> where bucket.take(now: .zero + .microseconds(microsecond)) {
            count += 1
        }
        #expect(count == 33)
    }

    @Test func `a bucket that has been full for an hour → it has its burst, and not one token more`() {
        var bucket = TokenBucket(burst: 3, perMinute: 60)
        let now = Instant.zero + .seconds(3600)
        #expect(bucket.has(3, now: now) && !bucket.has(4, now: now))
        _ = bucket.take(now: now)
        #expect(bucket.has(2, now: now) && !bucket.has(3, now: now) && bucket.has(3, now: now + .seconds(1)))
    }

    @Test func `availableAt is the instant of the next token`() {
        var bucket = TokenBucket(burst: 2, perMinute: 60)
        #expect(bucket.availableAt() <= .zero + .seconds(9))
        #expect(taken(&bucket, 5, at: .zero + .seconds(10)) == 2)
        #expect(bucket.availableAt() == .zero + .seconds(11))
        #expect(taken(&bucket, 1, at: .zero + .seconds(11)) == 1)
    }
}
