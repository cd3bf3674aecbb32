import MartletProtocol
import MartletRelay
import MartletWire
import Testing

/// Every operation on a room, by each role, on an account of each role.
@Suite struct RoleMatrixTests {
    //
    @Test(arguments: RoleMatrix.actors, RoleMatrix.operations.indices)
    func `at the engine, an actor performs an operation on the targets of the table, and others are forbidden`(
        _ actor: RoleMatrix.Rank, _ index: Int
    ) async throws {
        let operation = RoleMatrix.operations[index]
        let fixture = EngineFixture(RoleMatrix.configuration(RelayConfiguration()))
        fixture.policy = RoleMatrix.decide
        let result = try await RoleMatrix.run(operation, by: actor) { fixture.connect() }
        #expect(result.performed == operation.permitted[actor] ?? [], "\(operation) by \(actor)")
        #expect(result.refusals.isSubset(of: [.forbidden]))
    }

    //
    @Test(arguments: RoleMatrix.actors, [1, 2])
    func `over a socket, an actor performs an operation on the targets of the table, and others are forbidden`(
        _ actor: RoleMatrix.Rank, _ loopCount: Int
    ) async throws {
        for operation in RoleMatrix.operations {
            let configuration = RoleMatrix.configuration(.withoutTimeouts)
            try await withRelay(configuration, loopCount: loopCount, policy: RoleMatrix.Policy()) { _, port in
                let result = try await RoleMatrix.run(operation, by: actor) { try await WirePeer.connect(to: port) }
                #expect(result.performed == operation.permitted[actor] ?? [], "\(operation) by \(actor)")
                #expect(result.refusals.isSubset(of: [.forbidden]))
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
            await peer.send(Open(room: RoomName("lobby")!, cursor: 0), on: .first)
            if permissions.contains(.create) {
                let _: Opened = try await peer.expect()
            } else {
                #expect(try await peer.expect(Reset.self).code == .roomForbidden)
            }
        }
    }
}
