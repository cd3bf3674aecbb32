import Testing

@testable import MartletWire

@Suite struct AttachmentDigestTests {
    //
    @Test func `a digest has exactly 32 bytes and keeps them`() {
        let bytes = [UInt8](224...255)
        #expect(AttachmentDigest(bytes)?.bytes == bytes)
        #expect(AttachmentDigest([UInt8](0..<31)) == nil)
        #expect(AttachmentDigest([UInt8](0...32)) == nil)
        #expect(AttachmentDigest(bytes)?.description.hasPrefix("e0e1e2") == true)
        #expect(AttachmentDigest(bytes)?.description.count == 64)
    }
}
