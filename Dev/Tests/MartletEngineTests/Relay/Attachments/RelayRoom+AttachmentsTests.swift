import MartletTestSupport
import MartletWire
import Testing

@testable import MartletLink
@testable import MartletRelay

/// Sessions of kind attachment of accounts with roles, bans and mutes.
@Suite struct RoomAttachmentsTests {
    private let digest = AttachmentDigest([UInt8](repeating: 7, count: AttachmentDigest.byteCount))!

    private static let uploads: Set<AttachmentMethod> = [.begin, .write, .remove]

    private var requests: [AttachmentRequest] {
        [
            .begin(digest, byteCount: 10, mediaType: nil), .write(digest, position: 0, [1, 2]), .info(digest),
            .read(digest, position: 0, length: 2), .remove(digest),
        ]
    }

    /// A room that alice owns, with roles of bob, and with alice as a member.
    private func makeScript(_ operations: RoomOperation...) throws -> RoomScript {
        var roles = RoomRoles(owner: .alice)
        for operation in operations { roles = try roles.applying(operation, by: .owner, at: 0) ?? roles }
        return RoomScript(
            "alice", snapshot: RoomSnapshot(roles: roles.encoded()), roles: RoomRolesConfiguration())
    }

    /// Performs an operation of alice.
    private func perform(_ operation: RoomOperation, in script: inout RoomScript) -> [RoomScript.Effect] {
        script.operate("alice", operation, correlation: 99)
        _ = script.drain()
        script.rooms.rolesSaved(.lobby, .saved)
        return script.drain()
    }

    /// Requests every method on a session of kind attachment. Returns those that are forbidden, and the calls of the
    /// store.
    private func request(
        as name: String, in script: inout RoomScript
    ) -> (forbidden: Set<AttachmentMethod>, calls: [AttachmentCall]) {
        var forbidden: Set<AttachmentMethod> = []
        var calls: [AttachmentCall] = []
        for (index, request) in requests.enumerated() {
            let correlation = UInt64(index + 1)
            script.with(name) {
                $0.receive(.attachment($1, correlation: correlation, request, creditByteCount: 10))
            }
            for effect in script.drain() {
                switch effect {
                case .sent(name, .response(let response)):
                    #expect(response.correlation == correlation)
                    if response.status == .forbidden {
                        forbidden.insert(request.method)
                    } else {
                        Issue.record("\(request.method) has the status \(response.status)")
                    }
                case .attachment(name, let call): calls.append(call)
                default: break
                }
            }
        }
        return (forbidden, calls)
    }

    private func isOpened(_ name: String, _ effects: [RoomScript.Effect]) -> Bool {
        effects.contains { if case .opened(name, head: 0, first: 1, members: []) = $0 { true } else { false } }
    }

    //
    @Test(arguments: [nil, RoomRole.reader, .member, .moderator, .owner])
    func `a reader may download and not upload, and accounts with other roles both`(_ role: RoomRole?) throws {
        var script = try makeScript(.setRole(role, of: .bob))
        script.join("bob", kind: .attachment)
        #expect(isOpened("bob", script.drain()))
        let (forbidden, calls) = request(as: "bob", in: &script)
        let downloads: [AttachmentCall] = [.info(.lobby, digest), .read(.lobby, digest, position: 0, length: 2)]
        let key = AttachmentKey(room: .lobby, account: .bob, digest: digest)
        if role == .reader {
            #expect(forbidden == Self.uploads && calls == downloads)
        } else {
            #expect(forbidden.isEmpty && calls == [.begin(key, byteCount: 10, mediaType: nil)] + downloads)
        }
    }

    //
    @Test func `an administrator may upload whatever its role`() throws {
        var script = try makeScript(.setRole(.reader, of: .bob))
        script.join("bob", kind: .attachment, permissions: .all.union(.administer))
        #expect(isOpened("bob", script.drain()))
        #expect(request(as: "bob", in: &script).forbidden.isEmpty)
    }

    //
    @Test func `a member that becomes a reader while its session is open → uploads are forbidden from then on`() throws
    {
        var script = try makeScript(.setRole(.member, of: .bob))
        script.join("bob", kind: .attachment)
        _ = script.drain()
        #expect(request(as: "bob", in: &script).forbidden.isEmpty)
        _ = perform(.setRole(.reader, of: .bob), in: &script)
        #expect(request(as: "bob", in: &script).forbidden == Self.uploads)
    }

    //
    @Test func `a muted account may download and not upload, until it is unmuted`() throws {
        var script = try makeScript()
        script.join("bob", kind: .attachment)
        _ = script.drain()
        _ = perform(.mute(.bob, seconds: 60), in: &script)
        #expect(request(as: "bob", in: &script).forbidden == Self.uploads)
        _ = perform(.unmute(.bob), in: &script)
        #expect(request(as: "bob", in: &script).forbidden.isEmpty)
    }

    //
    @Test func `a banned account has no session, and one that is open ends with the ban`() throws {
        var banned = try makeScript(.ban(.bob))
        banned.join("bob", kind: .attachment)
        #expect(banned.drain() == [.reset("bob", .roomForbidden)])

        var script = try makeScript()
        script.join("bob", kind: .attachment)
        #expect(isOpened("bob", script.drain()))
        let effects = perform(.ban(.bob), in: &script)
        #expect(effects.contains(.reset("bob", .roomForbidden)))
    }

    //
    @Test func `a kicked account → its sessions of kind attachment end`() throws {
        var script = try makeScript()
        script.join("bob")
        script.join("bob/2", kind: .attachment)
        _ = script.drain()
        script.operate("alice", .kick(.bob), correlation: 99)
        let effects = script.drain()
        #expect(effects.contains(.reset("bob", .kicked)) && effects.contains(.reset("bob/2", .kicked)))
    }

    /// Makes a request on a session of kind attachment. Returns the effects.
    private func ask(
        _ name: String, _ request: AttachmentRequest, in script: inout RoomScript
    ) -> [RoomScript.Effect] {
        script.with(name) { $0.receive(.attachment($1, correlation: 1, request, creditByteCount: 0)) }
        return script.drain()
    }

    /// The store answers a call with a position in an attachment of 4 bytes. Returns the effects.
    private func answer(
        _ name: String, _ number: UInt64, at position: UInt64, in script: inout RoomScript
    ) throws -> [RoomScript.Effect] {
        let joined = script.handles[name]
        let handle = try #require(joined)
        script.rooms.attachmentAnswered(
            AttachmentCallID(session: handle, number: number), .done(.position(position, byteCount: 4)))
        return script.drain()
    }

    //
    @Test func `the result of a call made before the room lost its log → the call of the same number waits`() throws {
        var script = try makeScript()
        script.join("bob", kind: .attachment)
        _ = script.drain()
        _ = ask("bob", .info(digest), in: &script)
        script.rooms.logLost(.lobby)
        _ = script.drain()
        script.join("carol", kind: .attachment)
        script.rooms.loaded(.lobby, RoomSnapshot(roles: RoomRoles(owner: .alice).encoded()))
        #expect(isOpened("carol", script.drain()))
        _ = ask("carol", .info(digest), in: &script)
        #expect(try answer("bob", 1, at: 3, in: &script).about("carol").isEmpty)
        let content = AttachmentResponse.position(4, byteCount: 4).content
        #expect(
            try answer("carol", 1, at: 4, in: &script).about("carol") == [
                .sent("carol", .response(Response(correlation: 1, content: content)))
            ])
    }

    // R-7, S-38
    @Test func `a log that is lost while requests wait for the store → their credit is released`() throws {
        var script = try makeScript()
        script.join("bob", kind: .attachment)
        _ = script.drain()
        let begin = AttachmentRequest.begin(digest, byteCount: 4, mediaType: nil)
        script.with("bob") { $0.receive(.attachment($1, correlation: 1, begin, creditByteCount: 60)) }
        script.with("bob") {
            $0.receive(.attachment($1, correlation: 2, .write(self.digest, position: 0, [1]), creditByteCount: 70))
        }
        _ = script.drain()
        script.rooms.logLost(.lobby)
        let effects = script.drain()
        #expect(effects.contains(.released("bob", 60)) && effects.contains(.released("bob", 70)))
    }

    //
    @Test func `an attachment that another account completes → a begin for an earlier upload has the length`() throws {
        var script = try makeScript()
        script.join("alice/2", kind: .attachment)
        script.join("bob", kind: .attachment)
        _ = script.drain()
        let begin = AttachmentRequest.begin(digest, byteCount: 4, mediaType: nil)
        func position(_ position: UInt64) -> RoomScript.Effect {
            let content = AttachmentResponse.position(position, byteCount: 4).content
            return .sent("alice/2", .response(Response(correlation: 1, content: content)))
        }
        _ = ask("alice/2", begin, in: &script)
        _ = try answer("alice/2", 1, at: 0, in: &script)
        _ = ask("alice/2", .write(digest, position: 0, [1, 2]), in: &script)
        _ = try answer("alice/2", 2, at: 2, in: &script)
        let early = ask("alice/2", begin, in: &script)
        #expect(early.contains(position(2)))

        _ = ask("bob", begin, in: &script)
        _ = try answer("bob", 3, at: 0, in: &script)
        _ = ask("bob", .write(digest, position: 0, [1, 2, 3, 4]), in: &script)
        _ = try answer("bob", 4, at: 4, in: &script)
        let key = AttachmentKey(room: .lobby, account: .alice, digest: digest)
        let asked = ask("alice/2", begin, in: &script)
        #expect(asked.contains(.attachment("alice/2", .begin(key, byteCount: 4, mediaType: nil))))
        let answered = try answer("alice/2", 5, at: 4, in: &script)
        #expect(answered.contains(position(4)))
    }

    //
    @Test func `writes directly behind their begin → stored when the position is known, in their order`() throws {
        var script = try makeScript()
        script.join("bob", kind: .attachment)
        _ = script.drain()
        let key = AttachmentKey(room: .lobby, account: .bob, digest: digest)
        _ = ask("bob", .begin(digest, byteCount: 4, mediaType: nil), in: &script)
        #expect(ask("bob", .write(digest, position: 0, [1, 2]), in: &script).about("bob").isEmpty)
        #expect(ask("bob", .write(digest, position: 2, [3]), in: &script).about("bob").isEmpty)
        #expect(ask("bob", .write(digest, position: 9, [3]), in: &script).about("bob").isEmpty)
        let begun = try answer("bob", 1, at: 0, in: &script)
        #expect(begun.contains(.attachment("bob", .write(key, position: 0, [[1, 2]]))))
        #expect(begun.contains(.sent("bob", .response(Response(correlation: 1, status: .wrongPosition)))))
        let stored = try answer("bob", 2, at: 2, in: &script)
        #expect(stored.contains(.attachment("bob", .write(key, position: 2, [[3]]))))
    }

    //
    @Test func `a write behind a begin that the store refuses → unknownAttachment, and its credit returns`() throws {
        var script = try makeScript()
        script.join("bob", kind: .attachment)
        _ = script.drain()
        let joined = script.handles["bob"]
        let handle = try #require(joined)
        _ = ask("bob", .begin(digest, byteCount: 4, mediaType: nil), in: &script)
        script.rooms.receive(
            .attachment(handle, correlation: 2, .write(digest, position: 0, [1]), creditByteCount: 70))
        _ = script.drain()
        script.rooms.attachmentAnswered(AttachmentCallID(session: handle, number: 1), .failed(.quota))
        let effects = script.drain().about("bob")
        #expect(
            effects == [
                .sent("bob", .response(Response(correlation: 1, status: .attachmentQuota))), .released("bob", 70),
                .sent("bob", .response(Response(correlation: 2, status: .unknownAttachment))),
            ])
    }

    //
    @Test func `a removal and a begin behind it → the store begins when it has discarded the bytes`() throws {
        var script = try makeScript()
        script.join("bob", kind: .attachment)
        _ = script.drain()
        let key = AttachmentKey(room: .lobby, account: .bob, digest: digest)
        let begin = AttachmentRequest.begin(digest, byteCount: 4, mediaType: nil)
        let call = RoomScript.Effect.attachment("bob", .begin(key, byteCount: 4, mediaType: nil))
        _ = ask("bob", begin, in: &script)
        _ = ask("bob", .remove(digest), in: &script)
        #expect(ask("bob", begin, in: &script).about("bob").isEmpty)
        #expect(try answer("bob", 1, at: 2, in: &script).contains(.attachment("bob", .remove(key))))
        #expect(ask("bob", .write(digest, position: 0, [1]), in: &script).about("bob").isEmpty)
        let joined = script.handles["bob"]
        script.rooms.attachmentAnswered(
            AttachmentCallID(session: try #require(joined), number: 2), .done(.removed))
        #expect(script.drain().contains(call))
        let begun = try answer("bob", 3, at: 0, in: &script)
        #expect(begun.contains(.attachment("bob", .write(key, position: 0, [[1]]))))
    }

    private func digest(_ number: Int) -> AttachmentDigest {
        AttachmentDigest((0..<32).map { $0 < 2 ? UInt8(number >> (8 * $0) & 255) : 1 })!
    }

    //
    @Test func `complete uploads do not count, and the 257th incomplete one is refused with retryAfter`() throws {
        var script = try makeScript()
        script.join("bob", kind: .attachment)
        _ = script.drain()
        let count = AttachmentSession.maxUploadCount
        for number in 1...count {
            _ = ask("bob", .begin(digest(number), byteCount: 4, mediaType: nil), in: &script)
            _ = try answer("bob", UInt64(number), at: number == 5 ? 0 : 4, in: &script)
        }
        for number in count + 1..<2 * count {
            let effects = ask("bob", .begin(digest(number), byteCount: 4, mediaType: nil), in: &script)
            #expect(effects.contains { if case .attachment = $0 { true } else { false } })
            _ = try answer("bob", UInt64(number), at: 0, in: &script)
        }
        let refusal = Response(correlation: 1, status: .tooManyRequests, retryAfter: .seconds(1))
        #expect(
            ask("bob", .begin(digest(999), byteCount: 4, mediaType: nil), in: &script).contains(
                .sent("bob", .response(refusal))))
    }

    //
    @Test(arguments: [0, 1, 1 << 31, 1 << 32, 1 << 63 - 1, 1 << 63, .max] as [UInt64])
    func `every number in a request and in an answer of the store → an answer`(number: UInt64) throws {
        let numbers: [UInt64] = [0, 1, 1 << 31, 1 << 32, 1 << 63 - 1, 1 << 63, .max]
        for length in numbers {
            var script = try makeScript()
            script.join("bob", kind: .attachment)
            _ = script.drain()
            let joined = script.handles["bob"]
            let handle = try #require(joined)
            let requests: [AttachmentRequest] = [
                .begin(digest, byteCount: length, mediaType: nil), .write(digest, position: number, [1, 2]),
                .read(digest, position: number, length: 2),
            ]
            var effects: [RoomScript.Effect] = []
            for request in requests { effects += ask("bob", request, in: &script) }
            let position = AttachmentResponse.position(number, byteCount: length)
            for (call, answer) in [position, .bytes([1], byteCount: number), position].enumerated() {
                let id = AttachmentCallID(session: handle, number: UInt64(call + 1))
                script.rooms.attachmentAnswered(id, .done(answer))
                effects += script.drain()
            }
            let answers = effects.about("bob").count { if case .sent = $0 { true } else { false } }
            #expect(answers == 3, "\(number) of \(length)")
        }
    }

    // S-7, R-108, R-147
    @Test func `a close behind reads, one of which waits → serverBusy, the other answers, then the close`() throws {
        var script = try makeScript()
        script.join("bob", kind: .attachment)
        _ = script.drain()
        let joined = script.handles["bob"]
        let handle = try #require(joined)
        let length = AttachmentRequest.maxChunkByteCount
        let readCount = UInt64(AttachmentSession.flightByteCount / length)
        for correlation in 1...readCount + 1 {
            let read = AttachmentRequest.read(digest, position: 0, length: length)
            script.rooms.receive(.attachment(handle, correlation: correlation, read, creditByteCount: 10))
        }
        _ = script.drain()
        script.rooms.receive(.close(handle))
        let refusal = Response(correlation: readCount + 1, status: .serverBusy)
        #expect(script.drain().about("bob") == [.sent("bob", .response(refusal))])
        for number in 1...readCount {
            script.rooms.attachmentAnswered(AttachmentCallID(session: handle, number: number), .failed(.unknown))
        }
        let effects = script.drain().about("bob")
        #expect(effects.count == Int(readCount) + 1 && effects.last == .closed("bob"))
    }
}
