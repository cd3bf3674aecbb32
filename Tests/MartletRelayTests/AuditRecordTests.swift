import MartletLink
import MartletRelay
import MartletTransport
import MartletWire
import Testing

@Suite struct AuditRecordTests {
    private let alice = AccountName("alice")
    private let lobby = RoomName("lobby")

    @Test func `events without meaning for an audit → no record`() throws {
        let key = DeviceKey(account: alice, device: DeviceID(rawValue: 7))
        let events: [RelayEvent] = [
            .note(.link(.suspended(key, LinkID(rawValue: 1))), peer: nil),
            .note(.link(.ended(key, LinkID(rawValue: 1))), peer: nil),
            .note(.link(.faulted(.badMagic)), peer: nil), .connectionsRefused(3, latest: nil),
            .policyFailed(lobby, CancellationError()), .undeliveredFailed(lobby, CancellationError()),
            .undeliveredReportsDropped(3),
        ]
        #expect(events.compactMap { AuditRecord($0) }.isEmpty)
    }

    @Test func `TLS errors -> a record for a refused certificate, and none for others`() throws {
        let peer = try #require(SocketAddress("192.0.2.1:4711"))
        let refused: [TLSError] = [
            .selfSigned(subject: "CN=ada"), .expired(subject: "CN=ada", on: "2026-01-01"),
            .unknownIssuer(subject: "CN=ada", issuer: "CN=x"), .missingCertificate,
            .invalidCertificate(subject: "CN=ada", reason: "purpose"),
            .notYetValid(subject: "CN=ada", until: "2099-01-01"), .weakKey(subject: "CN=ada", reason: "512 bits"),
        ]
        for error in refused {
            let record = try #require(AuditRecord(.tlsFailed(error, peer: peer)))
            #expect(record.event == .certificateRefused && record.code == .unauthenticated && record.peer == peer)
            #expect(record.reason == "\(error)")
        }
        #expect(AuditRecord(.tlsFailed(.truncatedHandshake, peer: peer)) == nil)
        // The certificate of the relay itself.
        #expect(AuditRecord(.tlsFailed(.weakKey(subject: "CN=relay", reason: "512 bits"), peer: nil)) == nil)
        #expect(AuditRecord(.authenticationRefused(alice, cause: "expired")) == nil)
    }

    @Test func `an authentication beyond its timeout → a record of its refusal`() async throws {
        let fixture = EngineFixture()
        fixture.authenticates = false
        let peer = fixture.connect()
        await peer.send(FrameWriter.hello())
        #expect(try await peer.finalNotice()?.code == .authTimeout)
        let records = fixture.notes.compactMap { AuditRecord(.note($0, peer: nil)) }
        #expect(records.map(\.event) == [.refused] && records.map(\.code) == [.authTimeout])
        #expect(records.map(\.account) == [alice])
    }

    @Test func `sign-in, resume, refusals and revocations of a running relay → one record for each`() async throws {
        struct LobbyOnly: ImmediateRoomPolicy {
            func immediateDecision(on request: RoomAuthorizationRequest) -> RoomDecision {
                request.room.text == "lobby" ? .granted(.all) : .refused
            }
        }
        let log = EventLog()
        let authenticator = try #require(TokenAuthenticator(["alice": "secret"]))
        try await withRelay(authenticator: authenticator, policy: LobbyOnly(), onEvent: log.note) { relay, port in
            let refused = try await WirePeer.connect(to: port)
            await refused.send(FrameWriter.hello(device: 9))
            #expect(try await refused.expect(Reject.self).notice.code == .unauthenticated)

            let peer = try await WirePeer.connect(to: port)
            let point = try await peer.hello(FrameWriter.hello(device: 7, credential: "secret")).resumePoint([:])
            await peer.cut()
            let again = try await WirePeer.connect(to: port)
            try await again.hello(FrameWriter.hello(device: 7, credential: "secret", resume: point))
            await again.send(Open(room: RoomName("vault"), cursor: 0), on: .first)
            #expect(try await again.expect(Reset.self).code == .roomForbidden)
            await relay.revokeRoomDecisions(in: lobby)
            await relay.revoke(alice)
            #expect(try await again.finalNotice()?.code == .revoked)
        }
        let records = log.all.compactMap { AuditRecord($0) }
        #expect(records.map(\.event) == [.refused, .signedIn, .resumed, .roomRefused, .roomDecisionsRevoked, .revoked])
        #expect(records.map(\.account) == [alice, alice, alice, alice, nil, alice])
        #expect(records.map(\.device?.rawValue) == [nil, 7, 7, 7, nil, nil])
        #expect(records.map { $0.peer?.ip } == [.loopbackV4, .loopbackV4, .loopbackV4, .loopbackV4, nil, nil])
        #expect(records.map(\.room?.text) == [nil, nil, nil, "vault", "lobby", nil])
        #expect(records.map(\.code) == [.unauthenticated, nil, nil, .roomForbidden, nil, nil])
        #expect(records.map(\.reason) == ["the client has no credential", nil, nil, nil, nil, nil])
    }
}
