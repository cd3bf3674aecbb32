import MartletWire
import Testing

@Suite("All frames")
struct FrameTests {
    /// The fields that a relay adds to a message.
    private let relayTags: Set<Tag> = [.offset, .acceptedAt, .sender, .device]

    @Test("a frame equals its parsed encoding", arguments: frameCases)
    func roundTrip(_ frameCase: FrameCase) throws {
        let frame = frameCase.frame
        let parsed = try Frame.parse(type: frame.type, body: frame.encode().rawBytes)
        #expect(parsed == frame)
        #expect(parsed.encode() == frame.encode())
    }

    @Test("a missing required field is reported by its tag", arguments: frameCases)
    func missingField(_ frameCase: FrameCase) throws {
        let isMessage = frameCase.frame.type == .data
        for tag in frameCase.required {
            let rest = try frameCase.fields.filter { $0.tag != tag }
            // A message with some of the relay's fields is invalid (Specs/wire.md W-61).
            let error = isMessage && relayTags.contains(tag) ? WireError.invalidValue(tag) : .missingField(tag)
            #expect(throws: error) { try Frame.parse(frameCase.frame.type, rest) }
        }
    }

    @Test("a frame without its optional fields is accepted", arguments: frameCases)
    func optionalField(_ frameCase: FrameCase) throws {
        for tag in try frameCase.tags.subtracting(frameCase.required) {
            let rest = try frameCase.fields.filter { $0.tag != tag }
            #expect(try Frame.parse(frameCase.frame.type, rest) != frameCase.frame)
        }
    }

    // W-25
    @Test("a repeated field is refused", arguments: frameCases)
    func duplicateField(_ frameCase: FrameCase) throws {
        let fields = try frameCase.fields
        for field in fields where frameCase.repeats[field.tag] == nil {
            #expect(throws: WireError.duplicateField(field.tag)) {
                try Frame.parse(frameCase.frame.type, fields + [field])
            }
        }
    }

    // W-25
    @Test("a repeatable field is accepted up to its bound and refused beyond it", arguments: frameCases)
    func repeatedField(_ frameCase: FrameCase) throws {
        let fields = try frameCase.fields
        for (tag, limit) in frameCase.repeats {
            let field = try #require(fields.first { $0.tag == tag })
            let most = fields.filter { $0.tag != tag } + Array(repeating: field, count: limit)
            #expect(
                try MartletWireTests.fields(of: Frame.parse(frameCase.frame.type, most).encode()).count == most.count)
            #expect(throws: WireError.tooManyTLVs(limit: limit)) {
                try Frame.parse(frameCase.frame.type, most + [field])
            }
        }
    }

    // W-30
    @Test("a value one byte too short or too long is refused", arguments: frameCases)
    func wrongLength(_ frameCase: FrameCase) throws {
        for field in try frameCase.fixed {
            for value in [Array(field.value.dropLast()), field.value + [0]] {
                let wrong = try frameCase.fields.map { $0 == field ? Field($0.tag, value) : $0 }
                #expect(throws: WireError.invalidValue(field.tag)) { try Frame.parse(frameCase.frame.type, wrong) }
            }
        }
    }

    @Test("text within its bounds is accepted, one byte less or more is refused", arguments: frameCases)
    func textBounds(_ frameCase: FrameCase) throws {
        for (tag, bounds) in frameCase.texts {
            func parse(byteCount: Int) throws -> Frame {
                let value = Array(repeating: UInt8(ascii: "a"), count: byteCount)
                let fields = try frameCase.fields.map { $0.tag == tag ? Field(tag, value) : $0 }
                return try Frame.parse(frameCase.frame.type, fields)
            }
            #expect(throws: Never.self) { try parse(byteCount: bounds.lowerBound) }
            #expect(throws: Never.self) { try parse(byteCount: bounds.upperBound) }
            #expect(throws: WireError.invalidValue(tag)) { try parse(byteCount: bounds.upperBound + 1) }
            if bounds.lowerBound > 0 {
                #expect(throws: WireError.invalidValue(tag)) { try parse(byteCount: bounds.lowerBound - 1) }
            }
        }
    }

    @Test(
        "text that is not UTF-8 is refused", arguments: frameCases,
        ["FF", "C0 80", "ED A0 80", "F5 80 80 80", "61 E2 82"].map(bytes(hex:)))
    func notUTF8(_ frameCase: FrameCase, _ value: [UInt8]) throws {
        for tag in frameCase.texts.keys {
            let fields = try frameCase.fields.map { $0.tag == tag ? Field(tag, value) : $0 }
            #expect(throws: WireError.invalidValue(tag)) { try Frame.parse(frameCase.frame.type, fields) }
        }
    }

    // W-28
    @Test("an unknown tag is skipped", arguments: frameCases)
    func unknownTag(_ frameCase: FrameCase) throws {
        let unknown = [Field(.unknown, [1, 2, 3]), Field(.unknownContainer, holding: [Field(.unknown, [])])]
        let parsed = try Frame.parse(frameCase.frame.type, unknown + frameCase.fields + unknown)
        #expect(parsed == frameCase.frame)
    }

    // W-28
    @Test("an unknown critical tag is refused", arguments: frameCases)
    func unknownCriticalTag(_ frameCase: FrameCase) throws {
        let fields = try frameCase.fields + [Field(.unknownCritical, [])]
        #expect(throws: WireError.unknownCriticalTag(.unknownCritical)) {
            try Frame.parse(frameCase.frame.type, fields)
        }
    }

    // W-25
    @Test("fields are accepted in any order", arguments: frameCases)
    func anyOrder(_ frameCase: FrameCase) throws {
        var random = SeededRandom(seed: 11)
        for _ in 0..<20 {
            let shuffled = try frameCase.fields.shuffled(using: &random)
            let parsed = try Frame.parse(frameCase.frame.type, shuffled)
            let again = try Frame.parse(type: parsed.type, body: parsed.encode().rawBytes)
            #expect(parsed == again)
            #expect(Set(try fields(of: parsed.encode()).map(\.value)) == Set(try frameCase.fields.map(\.value)))
        }
    }

    @Test("an invalid structure is refused, also in unknown containers", arguments: frameCases)
    func structure(_ frameCase: FrameCase) throws {
        let type = frameCase.frame.type
        let fields = try frameCase.fields
        var nested = Field(.unknownContainer, [])
        for _ in 0..<TLVLimits.maxDepth { nested = Field(.unknownContainer, holding: [nested]) }
        #expect(throws: WireError.tlvTooDeep(limit: 8)) { try Frame.parse(type, fields + [nested]) }
        let crowd = Array(repeating: Field(.unknown, []), count: 1025)
        #expect(throws: WireError.tooManyTLVs(limit: 1024)) { try Frame.parse(type, crowd) }
        let cut = Field(.unknownContainer, [0x7A, 0xBC, 0, 0, 0, 1])
        #expect { try Frame.parse(type, fields + [cut]) } throws: { error in
            if case .malformedTLV? = error as? WireError { true } else { false }
        }
    }

    @Test("a truncated frame gives an error or a smaller frame", arguments: frameCases)
    func truncation(_ frameCase: FrameCase) {
        let body = frameCase.frame.encode()
        for end in body.indices {
            let beginning = body[..<end]
            let parsed = try? Frame.parse(type: frameCase.frame.type, body: beginning.rawBytes)
            #expect(parsed != frameCase.frame)
        }
    }

    @Test("a damaged frame gives an error, or a frame that equals its parsed encoding", arguments: frameCases)
    func damage(_ frameCase: FrameCase) throws {
        var random = SeededRandom(seed: UInt64(frameCase.frame.type.rawValue))
        for _ in 0..<2_000 {
            var body = frameCase.frame.encode()
            for _ in 0..<Int.random(in: 1...4, using: &random) where !body.isEmpty {
                body[Int.random(in: body.indices, using: &random)] = .random(in: 0...255, using: &random)
            }
            guard let parsed = try? Frame.parse(type: frameCase.frame.type, body: body.rawBytes) else { continue }
            #expect(try Frame.parse(type: parsed.type, body: parsed.encode().rawBytes) == parsed)
        }
    }

    @Test("every registered type has a test case and a rule")
    func completeness() {
        #expect(Set(frameCases.map(\.frame.type)) == Set(FrameType.registered))
        #expect(FrameType.registered.allSatisfy { $0.rule != nil })
    }

    @Test("an unknown type is skipped, an unknown critical type is refused")
    func unknownTypes() throws {
        let application = FrameType(rawValue: 0x7001)
        let frame = try Frame.parse(type: application, body: [1, 2, 3].rawBytes)
        #expect(frame == .unknown(application))
        #expect(frame.type == application)
        #expect(frame.encode().isEmpty)
        #expect(application.rule == nil)
        let critical = FrameType(rawValue: 0xF001)
        #expect(throws: WireError.unknownCriticalFrame(critical)) {
            try Frame.parse(type: critical, body: [UInt8]().rawBytes)
        }
    }
}
