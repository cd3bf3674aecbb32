import MartletRelay
import Testing

/// Uses of the public interface with `import MartletRelay` alone. The file compiles only if all names are exported.
@Suite struct ExportsTests {
    private struct OwnStore: RoomMembershipStore {
        func load(_ room: RoomName) async throws -> RoomSnapshot { RoomSnapshot() }

        func append(_ entries: [LogEntry], to room: RoomName) async throws -> UInt64 { 1 }

        func read(_ range: ReadRange, of room: RoomName) async throws -> RoomHistory {
            RoomHistory(entries: [], firstOffset: 1)
        }

        func saveProgress(_ progress: [AccountName: AccountProgress], of room: RoomName) async throws {}

        func saveMemberships(_ changes: MembershipChanges, of room: RoomName) async throws -> Set<AccountName> {
            Set(changes.keys)
        }

        func memberships(of account: AccountName, _ read: MembershipRead) async throws -> [StoredRoomEntry] { [] }
    }

    private struct ErasingStore: RoomErasureStore {
        func load(_ room: RoomName) async throws -> RoomSnapshot { RoomSnapshot() }

        func append(_ entries: [LogEntry], to room: RoomName) async throws -> UInt64 { 1 }

        func append(
            _ entries: [LogEntry], erasing erasures: [MessageErasure], to room: RoomName
        ) async throws -> UInt64 {
            let erased: [MessageID] = erasures.map(\.id)
            return UInt64(erased.count)
        }

        func read(_ range: ReadRange, of room: RoomName) async throws -> RoomHistory {
            RoomHistory(entries: [], firstOffset: 1)
        }
    }

    private struct TokensOnly: Authenticator {
        func authenticate(_ request: AuthenticationRequest) async throws -> Identity {
            let mechanism: MechanismName? = request.mechanism
            guard mechanism == nil else { throw AuthenticationFailure.unauthenticated }
            return Identity(request.account)
        }
    }

    @Test func `a store and an authenticator of an application → they serve a relay`() async throws {
        let account = AccountName("ada")
        let record = MembershipRecord(isJoined: true, changedAt: 1)
        #expect(try await OwnStore().saveMemberships([account: record], of: RoomName("lobby")) == [account])
        let relay = Relay(
            configuration: try Relay.Configuration(port: 0), store: OwnStore(), authenticator: TokensOnly(),
            policy: .allowAll)
        await relay.shutdown()
        #expect(relay.port == nil)
    }

    @Test func `the names of passwords and of the audit log → exported`() throws {
        _ = SCRAMAuthenticator(passwordFile: PasswordFile())
        let account = AccountName("ada")
        let record = try #require(AuditRecord(.revoked(account)))
        var refusals = AuditRefusals()
        #expect(refusals.add(record, now: Instant(nanoseconds: 1)) == [record])
    }

    private func tag(in content: RawSpan) throws -> Tag? {
        var reader = TLVReader(content)
        guard let field = try reader.next() else { return nil }
        return field.tag
    }

    @Test func `the names of contents, records and operations → exported`() throws {
        let id = MessageID(sender: "ada", device: DeviceID(rawValue: 1), counter: 1)
        #expect(try MessageBody.reply(to: MessageReference(id), text: "hello").content.kind == .reply)
        var writer = TLVWriter()
        writer.append(.text, string: "hello")
        #expect(try RequestAnswer(content: writer.bytes).content == writer.bytes)
        #expect(ContentValue.text("a") != .null && RoomRole.allCases.count > 1)
        let device = DeviceKey(account: "ada", device: id.device)
        #expect(RoomOperationRecord(RoomOperation.kick("ada"), by: device, in: "lobby", .none).target == "ada")
        let records: (SCRAMRecord?, TokenClaims?, TokenError?, ConnectFailure?) = (nil, nil, nil, nil)
        #expect(records.0 == nil && DeviceRecord.lifetime > 0)
    }
}
