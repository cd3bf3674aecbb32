import MartletWire
import Testing

@testable import MartletProtocol

@Suite struct TransferTests {
    private let digest = AttachmentDigest([UInt8](repeating: 7, count: 32))!
    private let room = RoomID(rawValue: 1)
    private let chunk = UInt64(AttachmentRequest.maxChunkByteCount)

    //
    @Test func `an upload begins at the position of the relay and ends with the last byte`() {
        var upload = Transfer(.upload(digest, byteCount: 3 * chunk, mediaType: "a/b"), in: room)
        let begin = AttachmentRequest.begin(digest, byteCount: 3 * chunk, mediaType: "a/b")
        #expect(upload.next() == .request(begin))
        #expect(upload.next() == nil)
        #expect(
            upload.answered(begin, .position(chunk, byteCount: 3 * chunk)) == [.event(.began(position: chunk))])
        #expect(upload.next() == .read(position: chunk, byteCount: Int(chunk)))
        #expect(upload.next() == .read(position: 2 * chunk, byteCount: Int(chunk)))
        #expect(upload.next() == nil)
        #expect(upload.provide([1], at: 2 * chunk) == .write(digest, position: 2 * chunk, [1]))
        #expect(upload.provide([1], at: 2 * chunk) == nil)
        let write = AttachmentRequest.write(digest, position: 2 * chunk, [])
        #expect(
            upload.answered(write, .position(3 * chunk, byteCount: 3 * chunk))
                == [.event(.progressed(position: 3 * chunk)), .event(.finished)])
    }

    //
    @Test(arguments: [ErrorCode.unknownAttachment, .wrongPosition, .tooManyRequests, .storeUnavailable, .serverBusy])
    func `an upload begins again when the relay has lost it or is busy`(status: ErrorCode) {
        var upload = Transfer(.upload(digest, byteCount: chunk, mediaType: nil), in: room)
        _ = upload.next()
        #expect(upload.refused(.write(digest, position: 0, []), status) == .retry)
        upload.restart()
        #expect(upload.next() == .request(.begin(digest, byteCount: chunk, mediaType: nil)))
    }

    @Test(arguments: [ErrorCode.forbidden, .attachmentQuota, .attachmentTooLarge, .digestMismatch, .attachmentsFull])
    func `an upload fails when the relay refuses it`(status: ErrorCode) {
        var upload = Transfer(.upload(digest, byteCount: chunk, mediaType: nil), in: room)
        _ = upload.next()
        #expect(
            upload.refused(.begin(digest, byteCount: chunk, mediaType: nil), status)
                == .event(.failed(.refused(status))))
    }

    //
    @Test func `bytes of a download are delivered in order although their answers are not`() {
        var download = Transfer(.download(digest, 5..<chunk + 7, byteCount: chunk + 9), in: room)
        let first = AttachmentRequest.read(digest, position: 5, length: Int(chunk))
        let second = AttachmentRequest.read(digest, position: chunk + 5, length: 2)
        #expect(download.next() == .request(first))
        #expect(download.next() == .request(second))
        #expect(download.next() == nil)
        #expect(download.answered(second, .bytes([8, 9], byteCount: chunk + 9)) == [])
        let bytes = [UInt8](repeating: 1, count: Int(chunk))
        #expect(
            download.answered(first, .bytes(bytes, byteCount: chunk + 9))
                == [
                    .event(.received(position: 5, bytes)), .event(.received(position: chunk + 5, [8, 9])),
                ])
        #expect(download.isDelivered)
    }

    //
    @Test func `a download continues after the delivered bytes`() {
        var download = Transfer(.download(digest, 0..<2 * chunk, byteCount: 2 * chunk), in: room)
        _ = download.next()
        _ = download.next()
        let bytes = [UInt8](repeating: 1, count: Int(chunk))
        let first = AttachmentRequest.read(digest, position: 0, length: Int(chunk))
        _ = download.answered(first, .bytes(bytes, byteCount: 2 * chunk))
        download.restart()
        #expect(download.next() == .request(.read(digest, position: chunk, length: Int(chunk))))
    }

    // R-110, Specs/hostile.md row 86
    @Test func `fewer bytes than requested or another length end a download`() {
        let read = AttachmentRequest.read(digest, position: 0, length: 4)
        for answer in [AttachmentResponse.bytes([1], byteCount: 4), .bytes([1, 2, 3, 4], byteCount: 5), .removed] {
            var download = Transfer(.download(digest, 0..<4, byteCount: 4), in: room)
            _ = download.next()
            #expect(download.answered(read, answer) == [.event(.failed(.invalidAnswer))])
        }
    }
}
