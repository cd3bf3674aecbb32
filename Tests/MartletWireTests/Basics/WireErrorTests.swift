import MartletWire
import Testing

@Suite struct WireErrorTests {
    // W-72
    @Test(
        arguments: [
            (.badMagic(0), .badMagic), (.unsupportedVersion(major: 2), .unsupportedVersion),
            (.reservedBits(0x40), .reservedBits), (.frameTooLarge(byteCount: 2, limit: 1), .frameTooLarge),
            (.badChecksum(expected: 1, actual: 2), .badChecksum), (.missingChecksum, .badChecksum),
            (.unexpectedEOF(missing: 1), .unexpectedEOF),
            (.unknownCriticalFrame(FrameType(rawValue: 0x8001)), .unknownCritical),
            (.unknownCriticalTag(Tag(rawValue: 0x8001)), .unknownCritical), (.malformedTLV(offset: 0), .malformedTLV),
            (.tlvTooDeep(limit: 8), .tlvTooDeep), (.tooManyTLVs(limit: 1024), .tooManyTLVs),
            (.unsupportedCompression(2), .compressionNotAllowed), (.inflateLimit(1), .inflateLimit),
            (.inflateFailed, .inflateFailed),
        ] as [(WireError, ErrorCode)])
    func `a structural error has the scope connection and its code`(error: WireError, code: ErrorCode) {
        #expect(error.code == code)
        #expect(error.scope == .connection)
        #expect(error.origin == .peer)
    }

    // W-72
    @Test(
        arguments: [
            (.missingField(.kind), .missingField), (.duplicateField(.kind), .duplicateField),
            (.invalidValue(.kind), .invalidValue),
        ] as [(WireError, ErrorCode)])
    func `an invalid value has the scope frame and its code`(error: WireError, code: ErrorCode) {
        #expect(error.code == code)
        #expect(error.scope == .frame)
    }
}
