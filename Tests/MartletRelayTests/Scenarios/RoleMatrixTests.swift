import MartletLink
import MartletRelay
import MartletWire
import Testing

/// Every operation on a room, by each role, on an account of each role.
@Suite struct RoleMatrixTests {
    private func check(
        _ results: RoleMatrix.Results, of operation: RoleMatrix.Operation, by actor: RoleMatrix.Rank
    ) {
        let permitted = operation.permitted[actor] ?? []
        #expect(results.performed == permitted, "\(operation) by \(actor)")
        #expect(results.forbidden == Set(RoleMatrix.Rank.allCases).subtracting(permitted), "\(operation) by \(actor)")
    }

    //
    @Test func `the table has every method, and each is permitted to an actor`() {
        let methods = RoleMatrix.operations.map { $0.on(AccountName("target")).method }
        #expect(Set(methods) == Set(RoomMethod.allCases))
        #expect(RoleMatrix.operations.allSatisfy { !$0.permitted.values.allSatisfy(\.isEmpty) })
    }

    //
    @Test(arguments: RoleMatrix.Rank.allCases, RoleMatrix.operations.indices)
    func `at the engine, an actor performs an operation on the targets of the table, and others are forbidden`(
        _ actor: RoleMatrix.Rank, _ index: Int
    ) async throws {
        let operation = RoleMatrix.operations[index]
        let fixture = EngineFixture(RoleMatrix.configuration(RelayConfiguration()))
        fixture.policy = RoleMatrix.decide
        let results = try await RoleMatrix.run(operation, by: actor) { fixture.connect() }
        check(results, of: operation, by: actor)
    }

    //
    @Test(arguments: RoleMatrix.Rank.allCases, [1, 2])
    func `over a socket, an actor performs an operation on the targets of the table, and others are forbidden`(
        _ actor: RoleMatrix.Rank, _ loopCount: Int
    ) async throws {
        for operation in RoleMatrix.operations {
            let configuration = RoleMatrix.configuration(.withoutTimeouts)
            try await withRelay(configuration, loopCount: loopCount, policy: RoleMatrix.Policy()) { _, port in
                let results = try await RoleMatrix.run(operation, by: actor) { try await WirePeer.connect(to: port) }
                check(results, of: operation, by: actor)
            }
        }
    }

    //
    @Test(arguments: [RoomPermissions.all, .publish])
    func `over a socket, an account creates a room if the policy lets it`(_ permissions: RoomPermissions) async throws {
        struct Policy: ImmediateRoomPolicy {
            var permissions: RoomPermissions
            func immediateDecision(on request: RoomAuthorizationRequest) -> RoomDecision { .granted(permissions) }
        }
        let configuration = RoleMatrix.configuration(.withoutTimeouts)
        try await withRelay(configuration, policy: Policy(permissions: permissions)) { _, port in
            let peer = try await WirePeer.connect(to: port)
            try await peer.hello()
            await peer.send(Open(room: RoomName("lobby"), cursor: 0), on: .first)
            if permissions.contains(.create) {
                let _: Opened = try await peer.expect()
            } else {
                #expect(try await peer.expect(Reset.self).code == .roomForbidden)
            }
        }
    }
}
