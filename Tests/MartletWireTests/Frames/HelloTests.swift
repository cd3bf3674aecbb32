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
            spokenVersions: Array(repeating: .current, count: Hello.maxVersionCount), device: DeviceID(rawValue: 1),
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
