import MartletWire
import Testing

@Suite struct RoomOperationTests {
    private static let ada = AccountName("ada")

    private static let operations: [(RoomOperation, String)] = [
        (.kick(ada), "room.kick"), (.ban(ada), "room.ban"), (.unban(ada), "room.unban"),
        (.mute(ada, seconds: 1), "room.mute"), (.mute(ada, seconds: .max), "room.mute"), (.unmute(ada), "room.unmute"),
        (.invite(ada), "room.invite"), (.setRole(nil, of: ada), "room.role"), (.setRole(.owner, of: ada), "room.role"),
        (.setAccess(.inviteOnly), "room.access"), (.announce(MessageContent(text: "hear")), "room.announce"),
        (.listRoles(after: nil), "room.roles"), (.listRoles(after: ada), "room.roles"),
    ]

    private func writer(_ body: (inout TLVWriter) -> Void) -> [UInt8] {
        var writer = TLVWriter()
        body(&writer)
        return writer.bytes
    }

    //
    @Test(arguments: operations.indices)
    func `an operation has its method, and its content gives the same operation`(_ index: Int) throws {
        let (operation, method) = Self.operations[index]
        #expect(operation.method.rawValue == method && operation.method.name.text == method)
        #expect(method.hasPrefix(RoomMethod.prefix))
        let parsed = try #require(RoomMethod(MethodName(method)!))
        #expect(try RoomOperation(parsed, content: operation.content) == operation)
    }

    @Test func `another name is no method`() {
        #expect(RoomMethod(MethodName("room.destroy")!) == nil)
        #expect(RoomMethod(MethodName("members")!) == nil)
    }

    @Test func `the target is the affected account`() {
        #expect(RoomOperation.kick(Self.ada).target == Self.ada)
        #expect(RoomOperation.setRole(nil, of: Self.ada).target == Self.ada)
        #expect(RoomOperation.setAccess(.open).target == nil)
        #expect(RoomOperation.listRoles(after: Self.ada).target == nil)
    }

    @Test(arguments: RoomMethod.allCases)
    func `a missing field is an error, except for a list`(_ method: RoomMethod) throws {
        switch method {
        case .roles: #expect(try RoomOperation(method, content: nil) == .listRoles(after: nil))
        case .access:
            #expect(throws: WireError.missingField(.access)) { try RoomOperation(method, content: nil) }
        case .announce:
            #expect(throws: WireError.missingField(.kind)) { try RoomOperation(method, content: nil) }
        default: #expect(throws: WireError.missingField(.account)) { try RoomOperation(method, content: nil) }
        }
    }

    @Test func `a mute without a duration, or of no time, is an error`() {
        #expect(throws: WireError.missingField(.duration)) {
            try RoomOperation(.mute, content: writer { $0.append(.account, string: "ada") })
        }
        #expect(throws: WireError.invalidValue(.duration)) {
            try RoomOperation(
                .mute,
                content: writer {
                    $0.append(.account, string: "ada")
                    $0.append(.duration, uint32: 0)
                })
        }
    }

    @Test(
        arguments: [
            (RoomMethod.role, Tag.role, 0), (.role, .role, 5), (.access, .access, 3),
        ] as [(RoomMethod, Tag, UInt8)])
    func `an unknown role or access is an error`(_ method: RoomMethod, _ tag: Tag, _ value: UInt8) {
        #expect(throws: WireError.invalidValue(tag)) {
            try RoomOperation(
                method,
                content: writer {
                    $0.append(.account, string: "ada")
                    $0.append(tag, uint8: value)
                })
        }
    }

    @Test func `an account that is no name, or named twice, is an error`() {
        #expect(throws: WireError.invalidValue(.account)) {
            try RoomOperation(.ban, content: writer { $0.append(.account, string: " ada") })
        }
        #expect(throws: WireError.duplicateField(.account)) {
            try RoomOperation(
                .ban,
                content: writer {
                    $0.append(.account, string: "ada")
                    $0.append(.account, string: "bob")
                })
        }
    }

    @Test func `an announcement whose content breaks the rules of its kind is an error`() {
        #expect(throws: WireError.missingField(.text)) {
            try RoomOperation(
                .announce,
                content: writer {
                    $0.append(.kind, uint16: ContentKind.text.rawValue)
                    $0.append(.content, bytes: [UInt8]())
                })
        }
    }

    @Test func `unknown fields are ignored, and critical ones are errors`() throws {
        let more = writer {
            $0.append(.account, string: "ada")
            $0.append(Tag(rawValue: 0x0F00), uint8: 1)
        }
        #expect(try RoomOperation(.kick, content: more) == .kick(Self.ada))
        let critical = Tag(rawValue: 0x8F00)
        #expect(throws: WireError.unknownCriticalTag(critical)) {
            try RoomOperation(.kick, content: writer { $0.append(critical, uint8: 1) })
        }
    }
}
