import Testing

@testable import MartletWire

@Suite struct AttachmentRequestTests {
    static let digest = AttachmentDigest([UInt8](0..<32))!
    static let requests: [AttachmentRequest] = [
        .begin(digest, byteCount: 1 << 40, mediaType: "image/png"), .begin(digest, byteCount: 0, mediaType: nil),
        .write(digest, position: 7, [1, 2, 3]), .read(digest, position: 9, length: 15_360), .info(digest),
        .remove(digest),
    ]

    //
    @Test(arguments: requests)
    func `a request is the same after encoding and parsing`(request: AttachmentRequest) throws {
        #expect(try AttachmentRequest(request.method, content: request.content) == request)
        #expect(AttachmentMethod(request.method.name) == request.method)
    }

    //
    @Test func `the bytes of a write are its fields in order`() {
        let content = AttachmentRequest.write(Self.digest, position: 7, [5]).content
        #expect(
            content == [2, 0x0C, 0, 0, 0, 32] + [UInt8](0..<32) + [0, 0x90, 0, 0, 0, 8, 0, 0, 0, 0, 0, 0, 0, 7]
                + [2, 2, 0, 0, 0, 1, 5])
    }

    private func fields(_ body: (inout TLVWriter) -> Void) -> [UInt8] {
        var writer = TLVWriter()
        body(&writer)
        return writer.bytes
    }

    @Test(arguments: AttachmentMethod.allCases)
    func `a request without a digest lacks a field`(method: AttachmentMethod) {
        #expect(throws: WireError.missingField(.digest)) { try AttachmentRequest(method, content: nil) }
    }

    @Test func `values out of their bounds are invalid`() {
        let digest = Self.digest.bytes
        let short = fields { $0.append(.digest, bytes: Array(digest.dropLast())) }
        #expect(throws: WireError.invalidValue(.digest)) { try AttachmentRequest(.info, content: short) }
        let empty = fields {
            $0.append(.digest, bytes: digest)
            $0.append(.position, uint64: 0)
            $0.append(.data, bytes: [])
        }
        #expect(throws: WireError.invalidValue(.data)) { try AttachmentRequest(.write, content: empty) }
        let long = fields {
            $0.append(.digest, bytes: digest)
            $0.append(.position, uint64: 0)
            $0.append(.data, bytes: [UInt8](repeating: 0, count: AttachmentRequest.maxChunkByteCount + 1))
        }
        #expect(throws: WireError.invalidValue(.data)) { try AttachmentRequest(.write, content: long) }
        let none = fields {
            $0.append(.digest, bytes: digest)
            $0.append(.position, uint64: 0)
            $0.append(.length, uint32: 0)
        }
        #expect(throws: WireError.invalidValue(.length)) { try AttachmentRequest(.read, content: none) }
        let twice = fields {
            $0.append(.digest, bytes: digest)
            $0.append(.digest, bytes: digest)
        }
        #expect(throws: WireError.duplicateField(.digest)) { try AttachmentRequest(.info, content: twice) }
    }

    //
    @Test func `a greater length than the maximum counts as the maximum`() throws {
        let content = fields {
            $0.append(.digest, bytes: Self.digest.bytes)
            $0.append(.position, uint64: 3)
            $0.append(.length, uint32: .max)
        }
        let expected = AttachmentRequest.read(Self.digest, position: 3, length: AttachmentRequest.maxChunkByteCount)
        #expect(try AttachmentRequest(.read, content: content) == expected)
    }

    //
    @Test func `a request with the longest chunk fits into one fragment`() {
        let chunk = [UInt8](repeating: 0, count: AttachmentRequest.maxChunkByteCount)
        let request = AttachmentRequest.write(Self.digest, position: .max, chunk)
        let frame = Request(
            correlation: .max, method: request.method.name, deadline: .seconds(600), content: request.content)
        #expect(frame.encode().count <= 16 * 1024)
        let answer = AttachmentResponse.bytes(chunk, byteCount: .max)
        #expect(Response(correlation: .max, content: answer.content).encode().count <= 16 * 1024)
    }
}
