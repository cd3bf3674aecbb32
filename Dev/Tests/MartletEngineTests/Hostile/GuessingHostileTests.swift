import MartletTestSupport
import MartletWire
import Testing

@testable import MartletLink
@testable import MartletRelay

/// Peers that guess credentials, at the limiter of a relay.
@Suite struct GuessingHostileTests {
    private let honest = AddressPrefix(v6High: 0x2001_0DB8)
    private var limiter = PeerLimiter(PeerLimits())
    private var now = Instant(nanoseconds: 1_000_000_000)

    /// Connects, sends a hello with a wrong credential, and leaves. Returns whether the authenticator was asked.
    private mutating func guess(_ account: AccountName, from prefix: AddressPrefix) -> Bool {
        guard limiter.accepted(prefix, now: now) == .admit else { return false }
        defer { limiter.closed(prefix, isHandshake: true) }
        let peer = PeerLimiter.Peer(account, DeviceID(rawValue: 7), from: prefix)
        // The guesser waits for the delay of the account, and not for the allowance of the address.
        guard case .decide(let decision) = limiter.decisionBegan(of: peer, waited: .seconds(2), now: now) else {
            return false
        }
        limiter.decisionEnded(decision)
        limiter.authenticationFailed(of: peer, now: now)
        return true
    }

    /// The delay of the account's owner, who signs in and leaves; nil if refused.
    private mutating func signIn(
        _ account: AccountName, from prefix: AddressPrefix? = nil, device: UInt64 = 1
    ) -> Duration? {
        let peer = PeerLimiter.Peer(account, DeviceID(rawValue: device), from: prefix ?? honest)
        guard limiter.accepted(peer.prefix, now: now) == .admit else { return nil }
        defer { limiter.closed(peer.prefix, isHandshake: true) }
        var waited = Duration.zero
        while true {
            switch limiter.decisionBegan(of: peer, waited: waited, now: now + waited) {
            case .decide(let decision):
                limiter.decisionEnded(decision)
                limiter.authenticationSucceeded(of: peer, now: now)
                return waited
            case .wait(let delay): waited += delay
            case .refuse: return nil
            }
        }
    }

    // C-67, Specs/hostile.md row 53
    @Test mutating func `10,000 guesses from one address, 10 a second → one a minute is checked`() {
        var checkedCount = 0
        var delays: [Duration?] = []
        for number in 0..<10_000 {
            if guess(.alice, from: AddressPrefix(v4: 1)) { checkedCount += 1 }
            if number % 10 == 0 { delays.append(signIn(.alice)) }
            now = now + .milliseconds(100)
        }
        // 10 at once, then one a minute for 1,000 s.
        #expect(checkedCount <= 11 + 1000 / 60)
        #expect(delays.allSatisfy { $0.map { $0 <= .seconds(2) } ?? false })
    }

    // C-67, Specs/hostile.md row 53
    @Test
    mutating func `10,000 guesses at once from 2,000 addresses → the owner is delayed by 2 s, never refused`() {
        var checkedCount = 0
        for number in 0..<10_000 as Range<UInt32> {
            if guess(.alice, from: AddressPrefix(v4: number % 2000)) { checkedCount += 1 }
            #expect(signIn(.alice) == min(.milliseconds(200) * (Int(number) + 1), .seconds(2)))
        }
        #expect(checkedCount == 10_000)
        #expect(!guess(.alice, from: AddressPrefix(v4: 0)))
        #expect(signIn(.bob) == .zero)
        now = now + .seconds(300)
        #expect(signIn(.alice) == .zero)
    }

    // C-113, Specs/hostile.md rows 53 and 104
    @Test mutating func `10,000 guesses under different names from one address → 64, then 30 in a minute`() {
        let office = AddressPrefix(v4: 1)
        #expect((0..<10_000).count { guess(.named("name\($0)"), from: office) } == 64)
        #expect(limiter.keptCounts.accounts == 64)
        now = now + .seconds(60)
        #expect((0..<10_000).count { guess(.named("other\($0)"), from: office) } == 30)
    }

    // C-113, Specs/hostile.md row 104
    @Test
    mutating func `a neighbor guesses → others sign in after 2 s at most, at once if they have before`() {
        let office = AddressPrefix(v4: 1)
        #expect(signIn(.alice, from: office) == .zero)
        for number in 0..<64 { #expect(guess(.named("name\(number)"), from: office)) }
        #expect(signIn(.alice, from: office) == .zero)
        // Another device of the account, and another account.
        #expect(signIn(.alice, from: office, device: 2) == .zero)
        #expect(signIn(.bob, from: office) == .seconds(2))
        #expect(signIn(.bob, from: office) == .zero)
        now = now + .seconds(86_400)
        for number in 0..<64 { #expect(guess(.named("name\(number)"), from: office)) }
        #expect(signIn(.carol, from: office) == .seconds(2))
        #expect(signIn(.alice, from: office) == .seconds(2))
    }

    // C-113, Specs/hostile.md row 104
    @Test mutating func `guesses of an account from its address → refused, but not the device that has signed in`() {
        let office = AddressPrefix(v4: 1)
        #expect(signIn(.alice, from: office, device: 1) == .zero)
        #expect((0..<100).count { _ in guess(.alice, from: office) } == 5)
        #expect(signIn(.alice, from: office, device: 2) == nil)
        #expect(signIn(.alice, from: office, device: 1) == .seconds(1))
    }
}
