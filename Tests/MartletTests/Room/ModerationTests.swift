import Martlet
import MartletLink
import MartletRelay
import MartletWire
import Testing

@Suite("Moderation", .timeLimit(.minutes(10)))
struct ModerationTests {
    private struct Policy: ImmediateRoomPolicy {
        func immediateDecision(on request: RoomAuthorizationRequest) -> RoomDecision {
            request.identity.account.text == "root" ? .granted(.all.union(.administer)) : .granted(.all)
        }
    }

    /// Runs a relay with roles and a room of alice, in which bob is a member.
    private func withRooms(
        _ body: (_ alice: Room, _ bob: Room, _ relay: String) async throws -> Void
    ) async throws {
        var configuration = RelayConfiguration.patient
        configuration.roomRoles = RoomRolesConfiguration()
        try await withRelay(configuration, policy: Policy()) { relay in
            try await withClient("alice", at: relay) { alice in
                let hers = try await alice.open(room: "lobby")
                try await withClient("bob", at: relay) { bob in
                    try await body(hers, try await bob.open(room: "lobby"), relay)
                }
            }
        }
    }

    //
    @Test func `an owner sets roles, and each account reads them`() async throws {
        try await withRooms { hers, his, _ in
            try await hers.moderation.setRole(.moderator, of: "bob")
            try await his.moderation.invite("carol")
            let roster = try await his.moderation.roster()
            #expect(roster.ownRole == .moderator && roster.access == .open && !roster.isPartial)
            #expect(roster.standings.map(\.account.text) == ["alice", "bob", "carol"])
            #expect(roster.standings.map(\.role) == [.owner, .moderator, .member])
            #expect(try await hers.moderation.roster(after: "alice").standings.count == 2)
            try await hers.moderation.setRole(nil, of: "bob")
            #expect(try await his.moderation.roster().ownRole == .member)
        }
    }

    //
    @Test func `a kicked client's room is closed with kicked, and can be opened again`() async throws {
        try await withRooms { hers, his, relay in
            try await hers.moderation.kick("bob")
            await #expect(throws: MartletError.roomClosed(.kicked, room: "lobby")) {
                for try await _ in his.messages {}
            }
            try await withClient("bob", at: relay) { bob in
                _ = try await bob.open(room: "lobby")
            }
        }
    }

    //
    @Test func `a banned client's room is closed with roomForbidden until the ban ends`() async throws {
        try await withRooms { hers, his, relay in
            try await hers.moderation.ban("bob")
            await #expect(throws: MartletError.roomClosed(.roomForbidden, room: "lobby")) {
                for try await _ in his.messages {}
            }
            try await withClient("bob", at: relay) { bob in
                await #expect(throws: MartletError.roomClosed(.roomForbidden, room: "lobby")) {
                    try await bob.open(room: "lobby")
                }
                try await hers.moderation.unban("bob")
                _ = try await bob.open(room: "lobby")
            }
        }
    }

    //
    @Test func `a muted client's message fails with forbidden, and after the mute it is accepted`() async throws {
        try await withRooms { hers, his, _ in
            try await hers.moderation.mute("bob", for: .milliseconds(3_599_001))
            let standing = try await hers.moderation.roster().standings.last
            #expect(standing?.account.text == "bob" && standing?.mutedUntil ?? 0 > 0)
            await #expect(throws: MartletError.notAccepted(.refused(.forbidden, reason: nil))) {
                _ = try await his.send("hello").accepted()
            }
            try await hers.moderation.unmute("bob")
            _ = try await his.send("hello").accepted()
        }
    }

    //
    @Test func `a closed room ends the sessions of others`() async throws {
        try await withRooms { hers, his, _ in
            try await hers.moderation.close()
            await #expect(throws: MartletError.roomClosed(.roomForbidden, room: "lobby")) {
                for try await _ in his.messages {}
            }
            try await hers.moderation.setAccess(.inviteOnly)
            #expect(try await hers.moderation.roster().access == .inviteOnly)
        }
    }

    //
    @Test func `an administrator's announcement is a message of the server`() async throws {
        try await withRooms { hers, _, relay in
            try await withClient("root", at: relay) { root in
                try await root.open(room: "lobby").moderation.announce("closing at ten")
            }
            let message = try await hers.messages.first(1).first
            #expect(message?.text == "closing at ten" && message?.sender.text == "server")
        }
    }

    //
    @Test func `refusals throw answeredWithFailure`() async throws {
        try await withRooms { hers, his, _ in
            await #expect(throws: MartletError.answeredWithFailure(.forbidden, reason: nil)) {
                try await his.moderation.kick("alice")
            }
            await #expect(throws: MartletError.answeredWithFailure(.noRecipient, reason: nil)) {
                try await hers.moderation.kick("nobody")
            }
            await #expect(
                throws: MartletError.answeredWithFailure(.refused, reason: "the room would have no owner")
            ) {
                try await hers.moderation.setRole(.member, of: "alice")
            }
        }
    }

    @Test func `a relay without roles answers with unknownMethod`() async throws {
        try await withRelay { relay in
            try await withClient("alice", at: relay) { alice in
                let lobby = try await alice.open(room: "lobby")
                await #expect(throws: MartletError.answeredWithFailure(.unknownMethod, reason: nil)) {
                    try await lobby.moderation.kick("bob")
                }
            }
        }
    }
}
