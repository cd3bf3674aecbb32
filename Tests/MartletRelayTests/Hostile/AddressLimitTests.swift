import MartletLink
import MartletRelay
import MartletTransport
import MartletWire
import Testing

/// Specs/hostile.md row 51, and rows 52 and 53.
@Suite("Limits of an address")
struct AddressLimitTests {
    private struct PasswordStub: Authenticator {
        func authenticate(_ request: AuthenticationRequest) async throws -> Identity {
            guard request.device.rawValue == 1 else { throw AuthenticationFailure.unauthenticated }
            return Identity(request.account)
        }
    }

    /// Accepts device 1, and refuses the others from when `count` of them have asked.
    private actor GatedStub: Authenticator {
        private let count: Int
        private var askedCount = 0
        private var waiters: [CheckedContinuation<Void, Never>] = []

        init(count: Int) { self.count = count }

        func authenticate(_ request: AuthenticationRequest) async throws -> Identity {
            if request.device.rawValue == 1 { return Identity(request.account) }
            askedCount += 1
            if askedCount < count {
                await withCheckedContinuation { waiters.append($0) }
            } else {
                for waiter in waiters { waiter.resume() }
                waiters = []
            }
            throw AuthenticationFailure.unauthenticated
        }
    }

    private func limits(_ adjust: (inout PeerLimits) -> Void) -> PeerLimits {
        var limits = PeerLimits.unlimited
        adjust(&limits)
        return limits
    }

    // C-11, Specs/hostile.md row 51
    @Test("connection beyond the limit closes without a byte, others continue, a closed one makes room")
    func connections() async throws {
        let host = "127.77.0.4"
        let log = EventLog()
        try await withRelay(host: host, limits: limits { $0.maxConnections = 2 }, onEvent: log.note) { relay, port in
            let alice = try await WirePeer.connect(to: port, host: host)
            try await alice.hello()
            try await alice.open()
            let bob = try await WirePeer.connect(to: port, host: host)
            try await bob.hello(FrameWriter.hello("bob", device: 2))
            let flood = try await WirePeer.connect(to: port, host: host)
            #expect(try await flood.finalNotice() == nil)
            #expect(try await alice.publish("on", counter: 1) == 1)
            #expect(await relay.statistics.connectionsRefused == 1)
            #expect(await relay.statistics.connectionsAccepted == 2)
            await bob.cut()
            while !Task.isCancelled, await relay.statistics.connections > 1 { await Task.yield() }
            let next = try await WirePeer.connect(to: port, host: host)
            try await next.hello(FrameWriter.hello("bob", device: 3))
        }
        let reports = log.all.compactMap { if case .connectionsRefused(let count, _) = $0 { count } else { nil } }
        #expect(reports == [1])
    }

    // Specs/hostile.md row 52
    @Test("silent connections fill the handshakes of an address, established ones continue", arguments: [1, 2])
    func handshakes(loopCount: Int) async throws {
        try await withRelay(limits: limits { $0.maxHandshakes = 2 }, loopCount: loopCount) { relay, port in
            var members: [WirePeer] = []
            for number in 0..<6 as Range<UInt64> {
                let member = try await WirePeer.connect(to: port)
                try await member.hello(FrameWriter.hello("account\(number)", device: number + 1))
                members.append(member)
            }
            let silent = [try await WirePeer.connect(to: port), try await WirePeer.connect(to: port)]
            let refused = try await WirePeer.connect(to: port)
            #expect(try await refused.finalNotice() == nil)
            try await members[0].open()
            try await silent[0].hello(FrameWriter.hello("late", device: 9))
            let next = try await WirePeer.connect(to: port)
            try await next.hello(FrameWriter.hello("later", device: 10))
        }
    }

    // C-67, Specs/hostile.md rows 53 and 64
    @Test("of 10 guesses at once 4 are decided, then the account gets serverBusy there, and the others sign in")
    func guesses() async throws {
        let adjusted = limits {
            $0.maxFailures = 4
            $0.minRefusal = .seconds(60)
        }
        try await withRelay(limits: adjusted, authenticator: GatedStub(count: 4)) { relay, port in
            let member = try await WirePeer.connect(to: port)
            try await member.hello()
            let waiting = try await WirePeer.connect(to: port)
            var guesses: [WirePeer] = []
            for _ in 0..<10 { guesses.append(try await WirePeer.connect(to: port)) }
            for guess in guesses { await guess.send(FrameWriter.hello(device: 2)) }
            var codes: [ErrorCode] = []
            for guess in guesses { codes.append(try await guess.expect(Reject.self).notice.code) }
            #expect(codes.count { $0 == .unauthenticated } == 4)
            #expect(codes.count { $0 == .serverBusy } == 6)
            await waiting.send(FrameWriter.hello(device: 3))
            let notice = try await waiting.expect(Reject.self).notice
            #expect(notice.code == .serverBusy)
            #expect(try #require(notice.retryAfter) > .zero)
            #expect(notice.reason == "too many sign-ins of this account from this address have failed")
            // Its device that was signed in before, and another account.
            let again = try await WirePeer.connect(to: port)
            try await again.hello()
            let neighbor = try await WirePeer.connect(to: port)
            try await neighbor.hello(FrameWriter.hello("bob"))
            try await again.open()
            #expect(await relay.statistics.links == 2)
        }
    }

    // C-67, Specs/hostile.md row 53
    @Test("after guesses a hello behind a refused resume gets serverBusy", arguments: [1, 2])
    func refusedResume(loopCount: Int) async throws {
        let adjusted = limits {
            $0.maxFailures = 1
            $0.minRefusal = .seconds(60)
        }
        try await withRelay(limits: adjusted, loopCount: loopCount, authenticator: PasswordStub()) { relay, port in
            let mallory = try await WirePeer.connect(to: port)
            let guess = try await WirePeer.connect(to: port)
            let forged = ResumePoint(link: LinkID(rawValue: 1), token: ResumeToken(1, 2, 3, 4), positions: [])
            await mallory.send(FrameWriter.hello("mallory", resume: forged))
            #expect(try await mallory.expect(Reject.self).notice.code == .resumeRejected)
            await guess.send(FrameWriter.hello(device: 2))
            #expect(try await guess.expect(Reject.self).notice.code == .unauthenticated)
            await mallory.send(FrameWriter.hello())
            #expect(try await mallory.expect(Reject.self).notice.code == .serverBusy)
        }
    }

    // C-67, Specs/hostile.md row 53
    @Test("the owner of a guessed account signs in after a delay")
    func delay() async throws {
        let adjusted = limits { $0.maxAuthenticationDelay = .milliseconds(10) }
        try await withRelay(limits: adjusted, authenticator: PasswordStub()) { relay, port in
            for _ in 0..<3 {
                let guess = try await WirePeer.connect(to: port)
                await guess.send(FrameWriter.hello(device: 2))
                #expect(try await guess.expect(Reject.self).notice.code == .unauthenticated)
            }
            let gone = try await WirePeer.connect(to: port)
            await gone.send(FrameWriter.hello())
            await gone.cut()
            let owner = try await WirePeer.connect(to: port)
            try await owner.hello()
            try await owner.open()
        }
    }

    // C-114, Specs/hostile.md row 105
    @Test("a named proxy states the addresses of its clients, each of which has its own limits", arguments: [1, 2])
    func proxies(loopCount: Int) async throws {
        let log = EventLog()
        let network = try #require(IPNetwork("127.0.0.0/8"))
        try await withRelay(
            limits: limits { $0.maxConnections = 1 }, loopCount: loopCount, proxies: [network], onEvent: log.note
        ) { _, port in
            func connect(_ client: String) async throws -> WirePeer {
                let peer = try await WirePeer.connect(to: port)
                await peer.write { _ in Array("PROXY TCP4 \(client) 198.51.100.1 4711 443\r\n".utf8) }
                return peer
            }
            let alice = try await connect("192.0.2.1")
            try await alice.hello()
            let bob = try await connect("192.0.2.2")
            try await bob.hello(FrameWriter.hello("bob", device: 2))
            #expect(try await connect("192.0.2.1").finalNotice() == nil)
            let plain = try await WirePeer.connect(to: port)
            await plain.send(FrameWriter.hello(device: 3))
            #expect(try await plain.finalNotice() == nil)
        }
        #expect(log.all.contains { if case .proxyRefused(_?) = $0 { true } else { false } })
        let peers = log.all.compactMap { if case .note(.link(.linked), let peer) = $0 { peer } else { nil } }
        #expect(Set(peers) == [SocketAddress("192.0.2.1:4711"), SocketAddress("192.0.2.2:4711")])
    }
}
