import MartletWire
import Testing

@testable import MartletProtocol

/// Peers that guess credentials, at the limiter of a relay.
@Suite struct GuessingHostileTests {
    private let honest = AddressPrefix(v6High: 0x2001_0DB8)
    private var limiter = PeerLimiter(PeerLimits())
    private var now = Instant(nanoseconds: 1_000_000_000)

    /// Connects, sends a hello with a wrong credential, and leaves. Returns whether the authenticator was asked.
    private mutating func guess(_ account: AccountName, from prefix: AddressPrefix) -> Bool {
        guard limiter.accepted(prefix, now: now) == .admit else { return false }
        defer { limiter.closed(prefix, isHandshake: true) }
        guard case .authenticate = limiter.authenticationBegan(of: account, from: prefix, now: now) else {
            return false
        }
        limiter.decisionEnded(from: prefix)
        limiter.authenticationEnded(from: prefix)
        limiter.authenticationFailed(of: account, from: prefix, now: now)
        return true
    }

    /// The delay of the account's owner, who signs in and leaves; nil if refused.
    private mutating func signIn(_ account: AccountName) -> Duration? {
        guard limiter.accepted(honest, now: now) == .admit,
            case .authenticate(let delay) = limiter.authenticationBegan(of: account, from: honest, now: now)
        else { return nil }
        limiter.decisionEnded(from: honest)
        limiter.authenticationEnded(from: honest)
        limiter.handshakeEnded(honest)
        limiter.closed(honest, isHandshake: false)
        return delay
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

    // Specs/hostile.md row 53
    @Test mutating func `guesses under different names from one address → the address is refused as well`() {
        let checkedCount = (0..<10_000).count { guess(.named("name\($0)"), from: AddressPrefix(v4: 1)) }
        #expect(checkedCount == 5)
        #expect(limiter.keptCounts == (1, 5))
    }
}
