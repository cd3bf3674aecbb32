import MartletWire
import Testing

@Suite("Hello")
struct HelloTests {
    static let full = Hello(
        device: DeviceID(rawValue: 0x1122_3344_5566_7788), account: ada, credential: Credential("pw"), agent: "m/1",
        resume: ResumePoint(
            link: LinkID(rawValue: 5), token: token,
            positions: [SessionPosition(session: SessionID(rawValue: 1), received: 9)]))

    // W-33
    @Test("a hello encodes to these bytes")
    func golden() {
        let expected = bytes(
            hex: """
                0005 00000002 0100
                0010 00000008 000000000000000F
                0101 00000030
                    0020 00000004 00010000
                    0021 00000004 00100000
                    0022 00000004 00100000
                    0023 00000004 00040000
                    0024 00000002 00FF
                0011 00000008 1122334455667788
                0012 00000003 616461
                0013 00000002 7077
                0014 00000003 6D2F31
                0102 00000044
                    0015 00000008 0000000000000005
                    0016 00000020 000102030405060708090A0B0C0D0E0F101112131415161718191A1B1C1D1E1F
                    0017 0000000A 0001 0000000000000009
                """)
        #expect(Self.full.encode() == expected)
    }

    @Test("the largest hello fits into the limit of the handshake")
    func largest() {
        let positions = (0..<256).map { SessionPosition(session: SessionID(rawValue: $0), received: .max) }
        let hello = Hello(
            spokenVersions: Array(repeating: .current, count: Hello.maxSpokenVersionCount),
            device: DeviceID(rawValue: 1),
            account: AccountName(String(repeating: "a", count: 128))!,
            credential: Credential(Array(repeating: 0, count: Credential.maxByteCount))!,
            agent: String(repeating: "a", count: 200),
            resume: ResumePoint(link: LinkID(rawValue: 1), token: token, positions: positions))
        #expect(hello.encode().count < 9 << 10)
        #expect(hello.encode().count <= Limits.maxHandshakeBodyByteCount)
        #expect(hello.agent?.utf8.count == 128)
    }

    @Test("a credential beyond its bound is refused")
    func longCredential() throws {
        func parse(byteCount: Int) throws -> Hello {
            let credential = Field(.credential, Array(repeating: 0, count: byteCount))
            return try Hello(fields(of: Self.full.encode()).map { $0.tag == .credential ? credential : $0 })
        }
        #expect(try parse(byteCount: 4096).credential?.bytes.count == 4096)
        #expect(throws: WireError.invalidValue(.credential)) { try parse(byteCount: 4097) }
    }

    // W-33
    @Test("a hello with a mechanism encodes it before the credential, and parses to itself")
    func mechanism() throws {
        let hello = Hello(
            device: DeviceID(rawValue: 1), account: ada, mechanism: MechanismName("X"), credential: Credential("pw"))
        #expect(try fields(of: hello.encode()).map(\.tag).suffix(2) == [.mechanism, .credential])
        #expect(try Hello(parsing: hello.encode().rawBytes).mechanism?.text == "X")
    }

    @Test("a mechanism of no bytes, or of more than 32, is refused", arguments: [0, 33])
    func longMechanism(byteCount: Int) throws {
        let mechanism = Field(.mechanism, Array(repeating: 0x58, count: byteCount))
        #expect(throws: WireError.invalidValue(.mechanism)) {
            try Hello(fields(of: Self.full.encode()) + [mechanism])
        }
    }

    @Test("an account with a control character is refused", arguments: ["00", "61 0A", "7F", "61 C2 85", "C2 9F 61"])
    func controlCharacter(_ hex: String) throws {
        let account = Field(.account, bytes(hex: hex))
        let fields = try fields(of: Self.full.encode()).map { $0.tag == .account ? account : $0 }
        #expect(throws: WireError.invalidValue(.account)) { try Hello(fields) }
    }

    @Test("the description contains neither the credential nor the token")
    func redaction() {
        let secret = Hello(
            device: DeviceID(rawValue: 1), account: ada, credential: Credential("hunter2"),
            resume: ResumePoint(link: LinkID(rawValue: 1), token: token, positions: []))
        var dumped = ""
        dump(Frame.hello(secret), to: &dumped)
        for shown in [dumped, "\(secret)", String(reflecting: Frame.hello(secret))] {
            #expect(!shown.contains("hunter2"))
            #expect(!shown.contains("104, 117"))
            #expect(!shown.contains("\(0x0001_0203_0405_0607 as UInt64)"))
            #expect(shown.contains("redacted"))
        }
    }
}

@Suite("Notices")
struct NoticeTests {
    @Test("a long reason is truncated between scalars")
    func clipping() {
        #expect(Notice(code: .draining, reason: String(repeating: "a", count: 300)).reason?.utf8.count == 256)
        #expect(Notice(code: .draining, reason: String(repeating: "語", count: 100)).reason?.utf8.count == 255)
        #expect(Notice(code: .draining, reason: "").reason == "")
        let exact = String(repeating: "é", count: 128)
        #expect(Notice(code: .draining, reason: exact).reason == exact)
    }

    @Test("retryAfter is rounded to whole milliseconds")
    func retryAfter() {
        #expect(Notice(code: .serverBusy, retryAfter: .microseconds(1_999)).retryAfter == .milliseconds(1))
        #expect(Notice(code: .serverBusy, retryAfter: .microseconds(-1)).retryAfter == .zero)
    }

    // W-38, W-43
    @Test("reject and goaway contain the same notice")
    func bodies() throws {
        let notice = Notice(code: .redirected, redirect: "b.example:7400")
        #expect(Reject(notice).encode() == GoAway(notice).encode())
        #expect(try GoAway(parsing: Reject(notice).encode().rawBytes).notice == notice)
    }
}

@Suite("Auth")
struct AuthTests {
    // W-97
    @Test("an auth encodes to these bytes")
    func golden() {
        let auth = Auth(credential: Credential("pw"), credentialLifetime: .milliseconds(60_000))
        #expect(auth.encode() == bytes(hex: "0013 00000002 7077 001B 00000004 0000EA60"))
        #expect(Auth().encode() == [])
    }

    // W-97
    @Test("an auth without fields is parsed")
    func empty() throws {
        let auth = try Auth(parsing: [UInt8]().rawBytes)
        #expect(auth.credential == nil)
        #expect(auth.credentialLifetime == nil)
    }

    @Test("a message beyond its bound is refused")
    func longMessage() throws {
        func parse(byteCount: Int) throws -> Auth {
            try Auth([Field(.credential, Array(repeating: 0, count: byteCount))])
        }
        #expect(try parse(byteCount: 4096).credential?.bytes.count == 4096)
        #expect(throws: WireError.invalidValue(.credential)) { try parse(byteCount: 4097) }
    }

    @Test("the lifetime is rounded to milliseconds and clamped to 32 bits")
    func lifetime() {
        #expect(Auth(credentialLifetime: .microseconds(1999)).credentialLifetime == .milliseconds(1))
        #expect(Auth(credentialLifetime: .seconds(1 << 32)).credentialLifetime == .milliseconds(UInt32.max))
        #expect(Auth(credentialLifetime: .seconds(-1)).credentialLifetime == .zero)
    }

    @Test("the description does not contain the message")
    func redaction() {
        let shown = String(reflecting: Frame.auth(Auth(credential: Credential("hunter2"))))
        #expect(!shown.contains("hunter2"))
        #expect(shown.contains("redacted"))
    }
}

@Suite("Open")
struct OpenTests {
    // S-51
    @Test("six kinds of session are accepted, any other is refused")
    func sessionKind() throws {
        func parse(_ kind: UInt8) throws -> Open {
            try Open([Field(.room, [0x61]), Field(.sessionKind, kind), Field(.cursor, 0 as UInt64)])
        }
        #expect(
            try SessionKind.allCases.map(\.rawValue).map { try parse($0).kind }
                == [.chat, .media, .signaling, .file, .attachment, .account])
        #expect(throws: WireError.invalidValue(.sessionKind)) { try parse(6) }
        #expect(try parse(0).tail == nil)
    }
}

@Suite("Reset")
struct ResetTests {
    // S-1
    @Test("a reset of the control session is refused")
    func reset() {
        #expect(throws: WireError.invalidValue(.session)) {
            try Reset([Field(.session, 0 as UInt16), Field(.code, 1 as UInt16)])
        }
    }
}
