import MartletTestSupport
import MartletWire
import Testing

@testable import MartletLink
@testable import MartletRelay
@testable import MartletSimulator

/// Exchanges of several messages before welcome, and renewals after it.
@Suite struct AuthenticationTests {
    private static let mechanism = MechanismName("X-TEST")
    private static let first = credential("first")
    private static let final = credential("final")

    private static func credential(_ text: String) -> Credential { Credential(Array(text.utf8))! }

    /// A relay whose exchanges have challenges, and accept the answer `right` at the end.
    private func stage(
        challenges: Int = 1, _ adjust: (inout RelayConfiguration) -> Void = { _ in }
    ) -> RelayStage {
        let stage = RelayStage(adjust)
        stage.relay.exchange = { number, message in
            if number < challenges { return .challenge(Self.credential("challenge \(number)")) }
            return message == Self.credential("right") ? .accepted(final: Self.final) : .refused
        }
        return stage
    }

    /// A connection that has sent a hello with a mechanism.
    private func began(
        _ stage: RelayStage, _ carrier: Carrier = .reliable, resume: ResumePoint? = nil
    ) throws -> RawPeer {
        let peer = try #require(stage.connect(carrier))
        peer.say(RawPeer.hello("alice", mechanism: Self.mechanism, credential: Self.first, resume: resume))
        return peer
    }

    private func phase(of peer: RawPeer, at stage: RelayStage) -> ServerConnection.Phase? {
        stage.relay.engine.server.connections.slot(peer.key).flatMap { stage.relay.engine.server.connections.phase($0) }
    }

    // MARK: Exchange

    // C-69
    @Test(arguments: 0...4) func `an exchange with up to four challenges -> welcome with the last message`(
        challenges: Int
    ) throws {
        let stage = stage(challenges: challenges)
        if challenges == 0 { stage.relay.exchange = { _, _ in .accepted(final: Self.final) } }
        let peer = try began(stage)
        for number in 0..<challenges {
            #expect(phase(of: peer, at: stage) == .challenged)
            #expect(peer.log.last(Auth.self)?.credential == Self.credential("challenge \(number)"))
            peer.say(Auth(credential: Self.credential(number == challenges - 1 ? "right" : "more")))
        }
        #expect(peer.log.last(Welcome.self)?.credential == Self.final)
        #expect(peer.log.last(Welcome.self)?.account == .named("alice"))
        #expect(peer.log.all(Auth.self).count == challenges)
    }

    // C-69, Specs/hostile.md row 55
    @Test func `a fifth challenge -> the peer is refused`() throws {
        let stage = stage(challenges: 100)
        let peer = try began(stage)
        for _ in 0..<4 { peer.say(Auth(credential: Self.credential("more"))) }
        #expect(peer.farewell == .unauthenticated)
        #expect(peer.log.all(Auth.self).count == 4)
    }

    // C-69, Specs/hostile.md row 55
    @Test func `a wrong last message -> unauthenticated, and nothing behind it is processed`() throws {
        let stage = stage()
        let peer = try began(stage)
        peer.say(Auth(credential: Self.credential("wrong")))
        #expect(peer.farewell == .unauthenticated)
        #expect(stage.relay.engine.statistics.links == 0)
        #expect(stage.relay.notes == [.link(.refused(.named("alice"), .unauthenticated))])
    }

    // C-16, C-18, C-69
    @Test func `early frames before, between and behind the messages -> processed after welcome in their order`() throws
    {
        let stage = stage(challenges: 2)
        let peer = try #require(stage.connect())
        var maker = peer.maker
        let texts = ["one", "two", "three"].enumerated().map { index, text in
            Message.encodeClient(counter: UInt64(index + 1), kind: .text, content: Message.textContent(text))
        }
        let hello = RawPeer.hello("alice", mechanism: Self.mechanism, credential: Self.first)
        peer.send(
            maker.frame(hello) + maker.frame(Open(room: .lobby, kind: .chat, cursor: 0), on: .first)
                + maker.frame(.data, texts[0], on: .first))
        peer.send(maker.frame(.data, texts[1], on: .first) + maker.frame(Auth(credential: Self.credential("more"))))
        #expect(stage.relay.log.isEmpty)
        peer.send(maker.frame(Auth(credential: Self.credential("right"))) + maker.frame(.data, texts[2], on: .first))
        #expect(peer.log.last(Welcome.self) != nil)
        #expect(peer.log.last(Opened.self) != nil)
        #expect(stage.relay.log[.lobby]?.map(\.counter) == [1, 2, 3])
    }

    // C-69
    @Test func `an answer in single bytes, with half of an early frame before it -> welcome`() throws {
        let stage = stage()
        let peer = try began(stage)
        let open = peer.maker.frame(Open(room: .lobby, kind: .chat, cursor: 0), on: .first)
        for byte in open + peer.maker.frame(Auth(credential: Self.credential("right"))) { peer.send([byte]) }
        #expect(peer.log.last(Opened.self) != nil)
        let found = stage.relay.engine.server.connections.slot(peer.key)
        let slot = try #require(found)
        #expect(stage.relay.engine.server.connections.find(slot)?.partialSince == nil)
    }

    // C-9, Specs/hostile.md row 55
    @Test func `more than 16 KiB of other frames than auth -> protocolViolation`() throws {
        let stage = stage()
        let peer = try began(stage)
        let ping = peer.maker.frame(Ping(nonce: 1))
        for _ in 0..<(16 * 1024 / ping.count) { peer.send(ping) }
        #expect(peer.closedAt == nil)
        #expect(stage.heldByteCount(peer) <= 16 * 1024)
        peer.send(ping)
        #expect(peer.farewell == .protocolViolation)
    }

    // C-8, C-10, Specs/hostile.md row 55
    @Test func `no answer to a challenge -> authTimeout 10 s after the start of the connection`() throws {
        let stage = stage()
        let peer = try began(stage)
        stage.run(for: .milliseconds(9_999))
        #expect(peer.closedAt == nil)
        stage.run(for: .milliseconds(1))
        #expect(peer.farewell == .authTimeout)
    }

    // C-69, W-97
    @Test(arguments: [Auth(), Auth(credentialLifetime: .seconds(1))])
    func `an answer without a message -> protocolViolation`(auth: Auth) throws {
        let stage = stage()
        let peer = try began(stage)
        peer.say(auth)
        #expect(peer.farewell == .protocolViolation)
    }

    // C-69, Specs/hostile.md row 55
    @Test func `an answer of more than 4,096 bytes -> unauthenticated; compressed or cut off -> the connection ends`()
        throws
    {
        let stage = stage()
        var writer = TLVWriter()
        writer.append(.credential, bytes: [UInt8](repeating: 1, count: 4097))
        let long = try began(stage)
        long.say(.auth, writer.bytes)
        #expect(long.farewell == .unauthenticated)
        let cause = "a message of the exchange is too long"
        #expect(stage.relay.notes == [.link(.refused(.named("alice"), .unauthenticated, cause: cause))])
        let compressed = try began(stage)
        compressed.say(.auth, Deflater().compress(writer.bytes.rawBytes) ?? [], compression: .zlib)
        #expect(compressed.farewell == .compressionNotAllowed)
        let half = try began(stage)
        half.send(Array(half.maker.frame(Auth(credential: Self.credential("right"))).dropLast()))
        half.finish()
        #expect(half.closedAt != nil)
        #expect(half.log.last(Welcome.self) == nil)
    }

    // C-69, Specs/hostile.md row 55
    @Test func `a goaway, a second hello or an unknown critical frame in place of an answer -> the connection ends`()
        throws
    {
        let stage = stage()
        let leaving = try began(stage)
        leaving.say(GoAway(Notice(code: .none)))
        #expect(leaving.closedAt != nil && leaving.farewell == nil)
        let twice = try began(stage)
        twice.say(RawPeer.hello("alice", mechanism: Self.mechanism, credential: Self.first))
        #expect(twice.farewell == .protocolViolation)
        let unknown = try began(stage)
        unknown.say(FrameType(rawValue: 0x8123), [])
        #expect(unknown.farewell == .unknownCritical)
        #expect(stage.relay.engine.statistics.connections == 0)
        let ignored = try began(stage)
        ignored.say(FrameType(rawValue: 0x0123), [])
        ignored.say(Auth(credential: Self.credential("right")))
        #expect(ignored.log.last(Welcome.self) != nil)
    }

    // C-15, Specs/hostile.md rows 32 and 55
    @Test func `a challenge of more than three times the input -> refused without it`() throws {
        let stage = stage()
        stage.relay.exchange = { _, _ in .challenge(Credential([UInt8](repeating: 1, count: 4096))!) }
        let peer = try began(stage)
        #expect(peer.farewell == .unauthenticated)
        #expect(peer.log.all(Auth.self).isEmpty)
    }

    // C-13, Specs/hostile.md row 4
    @Test func `an auth before hello -> expectedHello`() throws {
        let stage = stage()
        let peer = try #require(stage.connect())
        peer.say(Auth(credential: Self.first))
        #expect(peer.farewell == .expectedHello)
    }

    // C-34, C-69
    @Test func `a resume that is refused at the end of an exchange -> the next hello begins another exchange`() throws {
        let stage = stage()
        let point = ResumePoint(link: LinkID(rawValue: 77), token: ResumeToken(1, 2, 3, 4), positions: [])
        let peer = try began(stage, resume: point)
        peer.say(Auth(credential: Self.credential("right")))
        #expect(peer.log.last(Reject.self)?.notice.code == .resumeRejected)
        peer.say(RawPeer.hello("alice", mechanism: Self.mechanism, credential: Self.first))
        #expect(peer.log.all(Auth.self).count == 2)
        peer.say(Auth(credential: Self.credential("right")))
        #expect(peer.log.last(Welcome.self)?.epoch == Epoch(rawValue: 1))
    }

    // C-28, C-69
    @Test func `an account that is revoked during an exchange -> revoked`() throws {
        let stage = stage()
        let peer = try began(stage)
        stage.act { $0.revoke(.named("alice"), now: $1) }
        stage.run(for: .seconds(1))
        // Only a client that knows the password learns of the revocation.
        let wrong = try began(stage)
        wrong.say(Auth(credential: Self.credential("wrong")))
        #expect(wrong.farewell == .unauthenticated)
        peer.say(Auth(credential: Self.credential("right")))
        #expect(peer.farewell == .revoked)
    }

    // C-69
    @Test func `frames without order around the messages -> welcome`() throws {
        let stage = stage()
        let peer = try began(stage, .unreliable)
        peer.say(Open(room: .lobby, kind: .chat, cursor: 0), on: .first)
        peer.say(Auth(credential: Self.credential("right")))
        #expect(peer.log.last(Opened.self) != nil)
    }

    // MARK: Renewal

    /// A member whose credential expires after 60 s.
    private func member(_ stage: RelayStage) -> RawPeer {
        stage.relay.credentialLifetime = .seconds(60)
        return stage.member("alice")
    }

    // C-71
    @Test func `a welcome of a credential that expires names the time until then`() {
        let stage = RelayStage()
        #expect(member(stage).log.last(Welcome.self)?.credentialLifetime == .seconds(60))
        stage.relay.credentialLifetime = nil
        #expect(stage.member("bob").log.last(Welcome.self)?.credentialLifetime == nil)
    }

    // C-71
    @Test func `another credential before the first expires -> the connection continues until the second does`() {
        let stage = RelayStage()
        let peer = member(stage)
        stage.run(for: .seconds(50))
        peer.say(Auth(credential: Self.first))
        #expect(peer.log.last(Auth.self)?.credentialLifetime == .seconds(60))
        stage.run(for: .milliseconds(59_999))
        #expect(peer.closedAt == nil)
        stage.run(for: .milliseconds(1))
        #expect(peer.farewell == .unauthenticated)
    }

    // C-71
    @Test func `a credential that does not expire -> no lifetime, and no further renewal is permitted`() {
        let stage = RelayStage()
        let peer = member(stage)
        stage.relay.credentialLifetime = nil
        peer.say(Auth(credential: Self.first))
        #expect(peer.log.last(Auth.self) == Auth())
        stage.run(for: .seconds(100))
        #expect(peer.closedAt == nil)
        peer.say(Auth(credential: Self.first))
        #expect(peer.farewell == .protocolViolation)
    }

    // C-66, C-71
    @Test func `a renewal whose answer is late -> the connection ends when the first credential expires`() {
        let stage = RelayStage()
        let peer = member(stage)
        stage.relay.authenticationDelay = .seconds(100)
        peer.say(Auth(credential: Self.first))
        stage.run(for: .seconds(60))
        #expect(peer.farewell == .unauthenticated)
        let expiry = RelayNote.link(.refused(.named("alice"), .unauthenticated, cause: "the credential has expired"))
        #expect(stage.relay.notes.contains(expiry))
        stage.run(for: .seconds(60))
        #expect(stage.relay.engine.statistics.connections == 0)
    }

    // C-71, Specs/hostile.md row 56
    @Test func `a renewal refused with serverBusy -> the connection continues until the first credential expires`() {
        let stage = RelayStage()
        let peer = member(stage)
        stage.relay.refusals[.named("alice")] = Notice(code: .serverBusy, retryAfter: .seconds(5))
        peer.say(Auth(credential: Self.first))
        #expect(peer.log.last(GoAway.self) == nil && peer.closedAt == nil)
        stage.run(for: .seconds(60))
        #expect(peer.farewell == .unauthenticated)
    }

    // C-71, Specs/hostile.md row 56
    @Test(arguments: [Notice(code: .unauthenticated), Notice(code: .revoked)])
    func `a refused renewal -> goaway with its notice, and the link waits`(notice: Notice) {
        let stage = RelayStage()
        let peer = member(stage)
        stage.relay.refusals[.named("alice")] = notice
        peer.say(Auth(credential: Self.first))
        #expect(peer.log.last(GoAway.self)?.notice == notice)
        #expect(stage.relay.engine.statistics.suspendedLinks == 1)
    }

    // C-71, Specs/hostile.md row 56
    @Test func `a credential of another account -> goaway unauthenticated`() throws {
        let stage = RelayStage()
        let peer = member(stage)
        stage.relay.authenticationDelay = .seconds(1)
        peer.say(Auth(credential: Self.first))
        let grant = TokenGrant(token: ResumeToken(1, 2, 3, 4), digest: TokenDigest(1, 2, 3, 4))
        stage.act {
            $0.authenticated(peer.key, .accepted(Identity(.named("bob")), grant, presented: nil), now: $1)
        }
        #expect(peer.farewell == .unauthenticated)
        let cause = "the credential is for another account"
        #expect(stage.relay.notes.contains(.link(.refused(.named("alice"), .unauthenticated, cause: cause))))
    }

    // C-71, Specs/hostile.md row 56
    @Test func `a second renewal before the answer, or one without a lifetime -> protocolViolation`() {
        let stage = RelayStage()
        let twice = member(stage)
        stage.relay.authenticationDelay = .seconds(1)
        twice.say(Auth(credential: Self.first))
        twice.say(Auth(credential: Self.first))
        #expect(twice.farewell == .protocolViolation)
        stage.relay.authenticationDelay = .zero
        stage.relay.credentialLifetime = nil
        for auth in [Auth(credential: Self.first), Auth()] {
            let never = stage.member("bob", device: 9)
            never.say(auth)
            #expect(never.farewell == .protocolViolation)
        }
    }

    // S-59, Specs/hostile.md row 56
    @Test func `more than 1,000 renewals at once -> controlFlood`() {
        let stage = RelayStage()
        let peer = member(stage)
        var count = 0
        while peer.closedAt == nil, count < 2000 {
            peer.say(Auth(credential: Self.first))
            count += 1
        }
        #expect(peer.farewell == .controlFlood)
        #expect(count == 1001)
    }

    // C-28, C-71
    @Test func `an account that is revoked during a renewal -> revoked, and the answer has no effect`() {
        let stage = RelayStage()
        let peer = member(stage)
        stage.relay.authenticationDelay = .seconds(1)
        peer.say(Auth(credential: Self.first))
        stage.act { $0.revoke(.named("alice"), now: $1) }
        #expect(peer.farewell == .revoked)
        stage.run(for: .seconds(2))
        #expect(stage.relay.engine.statistics.links == 0)
    }

    // C-71, R-53
    @Test func `other claims -> the room policy is asked again`() {
        let stage = RelayStage { $0.asksRoomPolicy = true }
        stage.relay.credentialLifetime = .seconds(60)
        var asked: [[String]] = []
        stage.relay.policy = { request in
            asked.append(request.identity.claims.roles)
            return .granted(.all)
        }
        let peer = stage.member("alice", of: .lobby)
        stage.relay.authenticationDelay = .seconds(1)
        peer.say(Auth(credential: Self.first))
        let grant = TokenGrant(token: ResumeToken(1, 2, 3, 4), digest: TokenDigest(1, 2, 3, 4))
        let identity = Identity(.named("alice"), claims: Claims(roles: ["guest"]))
        stage.act { $0.authenticated(peer.key, .accepted(identity, grant, presented: nil), now: $1) }
        #expect(asked == [[], ["guest"]])
        #expect(stage.relayLink(of: peer, { $0.claims.roles }) == ["guest"])
    }
}
