import MartletTestSupport
import MartletWire
import Testing

@testable import MartletLink
@testable import MartletRelay

@Suite struct RevocationsTests {
    private let start = Instant(nanoseconds: 1_000_000_000)

    // C-28
    @Test func `a revocation covers earlier credentials and no later ones`() {
        var revocations = Revocations()
        revocations.insert(.alice, now: start + .seconds(5))
        #expect(revocations.covers(.alice, provenAt: start))
        #expect(revocations.covers(.alice, provenAt: start + .seconds(5)))
        #expect(!revocations.covers(.alice, provenAt: start + .seconds(6)))
        #expect(!revocations.covers(.bob, provenAt: start))
    }

    @Test func `a revocation is removed after its lifetime, counted from the account's latest one`() {
        var revocations = Revocations()
        revocations.insert(.alice, now: start)
        revocations.insert(.bob, now: start)
        revocations.insert(.alice, now: start + .seconds(50))
        revocations.insert(.carol, now: start + .seconds(70))
        #expect(!revocations.covers(.bob, provenAt: start))
        #expect(revocations.covers(.alice, provenAt: start))
    }

    @Test func `more revocations than the maximum → the oldest is removed`() {
        var revocations = Revocations()
        for number in 0...Revocations.maxCount { revocations.insert(.named("name-\(number)"), now: start) }
        #expect(!revocations.covers(.named("name-0"), provenAt: start))
        #expect(revocations.covers(.named("name-1"), provenAt: start))
    }
}
