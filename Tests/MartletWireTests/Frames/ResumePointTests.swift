import MartletWire
import Testing

@Suite("Resume points")
struct ResumePointTests {
    private let link = Field(.link, 5 as UInt64)
    private let secret = Field(.resumeToken, token.bytes)

    private func position(_ session: UInt16) -> Field {
        var value: [UInt8] = []
        value.append(bigEndian: session)
        value.append(bigEndian: 7 as UInt64)
        return Field(.sessionPosition, value)
    }

    /// Parses a hello or a welcome whose `resume` contains these fields.
    private func parse(_ type: FrameType, _ resume: [Field]) throws -> Frame {
        let whole = try #require(frameCases.first { $0.frame.type == type })
        let container = Field(.resume, holding: resume)
        return try Frame.parse(type, whole.fields.map { $0.tag == .resume ? container : $0 })
    }

    @Test("a missing or repeated link or token is refused")
    func required() throws {
        #expect(throws: WireError.missingField(.link)) { try parse(.hello, [secret]) }
        #expect(throws: WireError.missingField(.resumeToken)) { try parse(.hello, [link]) }
        #expect(throws: WireError.duplicateField(.link)) { try parse(.hello, [link, secret, link]) }
        #expect(throws: WireError.duplicateField(.resumeToken)) { try parse(.hello, [link, secret, secret]) }
        #expect(throws: WireError.invalidValue(.resumeToken)) {
            try parse(.hello, [link, Field(.resumeToken, Array(token.bytes.dropLast()))])
        }
    }

    @Test(
        "256 different sessions are accepted, one more or a repeated one is refused",
        arguments: [FrameType.hello, .welcome])
    func positions(_ type: FrameType) throws {
        let most = [link, secret] + (0..<256).map(position)
        #expect(throws: Never.self) { try parse(type, most) }
        #expect(throws: WireError.tooManyTLVs(limit: 256)) { try parse(type, most + [position(256)]) }
        #expect(throws: WireError.duplicateField(.sessionPosition)) {
            try parse(type, [link, secret, position(3), position(1), position(3)])
        }
        #expect(throws: WireError.invalidValue(.sessionPosition)) {
            try parse(type, [link, secret, Field(.sessionPosition, 7 as UInt64)])
        }
    }

    @Test("an unknown tag is skipped, an unknown critical one is refused", arguments: [FrameType.hello, .welcome])
    func unknown(_ type: FrameType) throws {
        #expect(throws: Never.self) { try parse(type, [link, secret, Field(.unknown, [])]) }
        #expect(throws: WireError.unknownCriticalTag(.unknownCritical)) {
            try parse(type, [link, secret, Field(.unknownCritical, [])])
        }
    }
}
