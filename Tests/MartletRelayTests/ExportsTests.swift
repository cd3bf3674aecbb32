import MartletRelay
import Testing

/// Uses of the public interface with `import MartletRelay` alone. The file compiles only if all names are exported.
@Suite struct ExportsTests {
    private struct OwnStore: AsyncRoomStore {
        var features: RoomStoreFeatures { .memberships }

        func load(_ room: RoomName) async throws -> RoomSnapshot { RoomSnapshot() }

        func append(_ append: RoomAppend) async throws -> UInt64 {
            let erased: [MessageID] = append.erasures.map(\.id)
            guard append.expectedOffset == 1 else {
                throw RoomStoreError.conflict(RoomHistory(entries: [], firstOffset: 1))
            }
            return UInt64(erased.count)
        }

        func read(_ range: ReadRange, of room: RoomName) async throws -> RoomHistory {
            RoomHistory(entries: [], firstOffset: 1)
        }

        func saveMemberships(_ changes: MembershipChanges, of room: RoomName) async throws -> Set<AccountName> {
            Set(changes.keys)
        }

        func readMemberships(_ read: MembershipRead, of account: AccountName) async throws -> [StoredRoomEntry] { [] }
    }

    private struct OwnCalls: RoomStore {
        var features: RoomStoreFeatures { [] }

        func perform(_ calls: [RoomStoreCall]) {
            for call in calls {
                if case .load(_, let reply) = call {
                    reply.succeed(RoomSnapshot())
                } else {
                    call.fail(RoomStoreError.unsupported)
                }
            }
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
        let refused = try await OwnStore().call { .saveMemberships([account: record], of: RoomName("lobby"), $0) }
        #expect(refused == [account])
        #expect(try await OwnCalls().call { .load(RoomName("lobby"), $0) }.lastOffset == 0)
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
