import MartletLink
import MartletRelay
import MartletTransport
import MartletWire
import Testing

/// Decisions of room policies over sockets.
@Suite struct RoomPolicyTests {
    private struct PolicyStub: RoomPolicy {
        var answer: @Sendable (RoomAuthorizationRequest) async throws -> RoomDecision

        func decision(on request: RoomAuthorizationRequest) async throws -> RoomDecision {
            await Task.yield()
            return try await answer(request)
        }
    }

    private static let everything: [RoomPermissions] = [
        [], .publish, .readHistory, .request, [.publish, .readHistory], [.publish, .request], [.readHistory, .request],
        .all,
    ]

    //
    @Test(arguments: [1, 2])
    func `a refused account is reset with roomForbidden, and another enters`(loopCount: Int) async throws {
        let policy = PolicyStub { $0.identity.account.text == "alice" ? .granted(.all) : .refused }
        try await withRelay(loopCount: loopCount, policy: policy) { _, port in
            let alice = try await WirePeer.connect(to: port)
            try await alice.hello(FrameWriter.hello("alice"))
            try await alice.open()
            let bob = try await WirePeer.connect(to: port)
            try await bob.hello(FrameWriter.hello("bob"))
            await bob.send(Open(room: RoomName("lobby"), cursor: 0), on: .first)
            #expect(try await bob.expect(Reset.self).code == .roomForbidden)
        }
    }

    //
    @Test(arguments: everything)
    func `each set of permissions permits its operations and no others`(_ permissions: RoomPermissions) async throws {
        try await withRelay(policy: PolicyStub { _ in .granted(permissions) }) { _, port in
            let peer = try await WirePeer.connect(to: port)
            try await peer.hello()
            try await peer.open()
            await peer.write { $0.text("hello", counter: 1, on: .first) }
            if permissions.contains(.publish) {
                let accepted: Accepted = try await peer.next()
                #expect(accepted.runs.map(\.firstOffset) == [1])
            } else {
                let receipt: Receipt = try await peer.next()
                #expect(receipt == .refused(Receipt.Refusal(counter: 1, code: .forbidden)))
            }
            await peer.send(
                Request(
                    correlation: 7, method: RelayMethod.head.name, deadline: .seconds(60), recipient: nil, sender: nil),
                on: .first)
            let response: Response = try await peer.next()
            #expect(response.status == (permissions.contains(.request) ? .none : .forbidden))
            let content = HistoryQuery(.before(.max), limit: 1).content
            await peer.send(
                Request(correlation: 8, method: HistoryQuery.method, deadline: .seconds(60), content: content),
                on: .first)
            let page: Response = try await peer.next()
            #expect(page.status == (permissions.isSuperset(of: [.request, .readHistory]) ? .none : .forbidden))
        }
    }

    //
    @Test func `a policy that throws resets the session with serverBusy and reports an event`() async throws {
        struct DatabaseIsDown: Error {}
        let log = EventLog()
        try await withRelay(policy: PolicyStub { _ in throw DatabaseIsDown() }, onEvent: log.note) { _, port in
            let peer = try await WirePeer.connect(to: port)
            try await peer.hello()
            await peer.send(Open(room: RoomName("lobby"), cursor: 0), on: .first)
            #expect(try await peer.expect(Reset.self).code == .serverBusy)
            #expect(log.all.contains { if case .policyFailed(_, _) = $0 { true } else { false } })
        }
    }

    //
    @Test func `a policy that exceeds its timeout resets the session with serverBusy and reports an event`()
        async throws
    {
        let log = EventLog()
        let end = AsyncStream<Never>.makeStream()
        let policy = PolicyStub { _ in
            for await _ in end.stream {}
            return .granted(.all)
        }
        var configuration = RelayConfiguration.withoutTimeouts
        configuration.policyTimeout = .milliseconds(1)
        try await withRelay(configuration, policy: policy, onEvent: log.note) { _, port in
            let peer = try await WirePeer.connect(to: port)
            try await peer.hello()
            await peer.send(Open(room: RoomName("lobby"), cursor: 0), on: .first)
            #expect(try await peer.expect(Reset.self).code == .serverBusy)
            end.continuation.finish()
        }
        let failures = log.all.filter {
            if case .policyFailed(_, let error) = $0 { error is RoomPolicyTimeout } else { false }
        }
        #expect(failures.count == 1)
    }

    //
    @Test func `revoked decisions end the sessions that the policy now refuses`() async throws {
        let isOpen = Guarded(true)
        let policy = PolicyStub { _ in isOpen.withLock { $0 } ? .granted(.all) : .refused }
        try await withRelay(policy: policy) { relay, port in
            let peer = try await WirePeer.connect(to: port)
            try await peer.hello()
            try await peer.open()
            isOpen.withLock { $0 = false }
            await relay.revokeRoomDecisions(in: RoomName("lobby"))
            #expect(try await peer.expect(Reset.self).code == .roomForbidden)
        }
    }
}
