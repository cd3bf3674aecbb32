import Testing

@testable import MartletWire

@Suite struct AttachmentResponseTests {
    private static let digest = AttachmentRequestTests.digest
    private static let begin = AttachmentRequest.begin(digest, byteCount: 9, mediaType: nil)
    private static let read = AttachmentRequest.read(digest, position: 2, length: 4)

    //
    @Test func `a response is the same after encoding and parsing`() throws {
        let cases: [(AttachmentRequest, AttachmentResponse)] = [
            (Self.begin, .position(3, byteCount: 9)), (Self.read, .bytes([1, 2], byteCount: 4)),
            (.write(Self.digest, position: 0, [1]), .position(1, byteCount: 1)),
            (.info(Self.digest), .info(byteCount: 9, mediaType: "a/b")), (.remove(Self.digest), .removed),
        ]
        for (request, response) in cases {
            #expect(try AttachmentResponse(parsing: response.content, answering: request) == response)
        }
    }

    // R-110, Specs/hostile.md row 86
    @Test func `an answer that does not belong to its request is refused`() {
        let cases: [(AttachmentRequest, AttachmentResponse, Tag)] = [
            (Self.begin, .position(10, byteCount: 9), .position), (Self.begin, .position(1, byteCount: 8), .byteCount),
            (Self.read, .bytes([1, 2, 3, 4, 5], byteCount: 90), .data),
            (Self.read, .bytes([1, 2], byteCount: 3), .data),
            (Self.read, .bytes([1], byteCount: 1), .data),
        ]
        for (request, response, tag) in cases {
            #expect(throws: WireError.invalidValue(tag)) {
                try AttachmentResponse(parsing: response.content, answering: request)
            }
        }
        #expect(throws: WireError.missingField(.position)) {
            try AttachmentResponse(parsing: nil, answering: Self.begin)
        }
        #expect(throws: WireError.missingField(.data)) { try AttachmentResponse(parsing: nil, answering: Self.read) }
    }
}
