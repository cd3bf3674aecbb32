import MartletTestSupport
import MartletWire
import Testing

@testable import Martlet
@testable import MartletLink

@Suite struct TransferTests {
    private let digest = AttachmentDigest([UInt8](repeating: 7, count: 32))!
    private let room = RoomID(rawValue: 1)
    private let chunk = UInt64(AttachmentRequest.maxChunkByteCount)

    //
    @Test func `an upload begins at the position of the relay and ends with the last byte`() {
        var upload = Transfer(.upload(digest, byteCount: 3 * chunk, mediaType: "a/b"), in: room)
        let begin = AttachmentRequest.begin(digest, byteCount: 3 * chunk, mediaType: "a/b")
        let result1 = upload.next()
        #expect(result1 == .request(begin))
        let result2 = upload.next()
        #expect(result2 == nil)
        let result3 = upload.answered(begin, .position(chunk, byteCount: 3 * chunk))
        #expect(result3 == [.event(.began(position: chunk))])
        let result4 = upload.next()
        #expect(result4 == .read(position: chunk, byteCount: Int(chunk)))
        let result5 = upload.next()
        #expect(result5 == .read(position: 2 * chunk, byteCount: Int(chunk)))
        let result6 = upload.next()
        #expect(result6 == nil)
        let result7 = upload.provide([1], at: 2 * chunk)
        #expect(result7 == .write(digest, position: 2 * chunk, [1]))
        let result8 = upload.provide([1], at: 2 * chunk)
        #expect(result8 == nil)
        let write = AttachmentRequest.write(digest, position: 2 * chunk, [])
        let result9 = upload.answered(write, .position(3 * chunk, byteCount: 3 * chunk))
        #expect(result9 == [.event(.progressed(position: 3 * chunk)), .event(.finished)])
    }

    //
    @Test(arguments: [ErrorCode.unknownAttachment, .wrongPosition, .tooManyRequests, .storeUnavailable, .serverBusy])
    func `an upload begins again when the relay has lost it or is busy`(status: ErrorCode) {
        var upload = Transfer(.upload(digest, byteCount: chunk, mediaType: nil), in: room)
        _ = upload.next()
        let result10 = upload.refused(.write(digest, position: 0, []), status)
        #expect(result10 == .retry)
        upload.restart()
        let result11 = upload.next()
        #expect(result11 == .request(.begin(digest, byteCount: chunk, mediaType: nil)))
    }

    @Test(arguments: [ErrorCode.forbidden, .attachmentQuota, .attachmentTooLarge, .digestMismatch, .attachmentsFull])
    func `an upload fails when the relay refuses it`(status: ErrorCode) {
        var upload = Transfer(.upload(digest, byteCount: chunk, mediaType: nil), in: room)
        _ = upload.next()
        let result12 = upload.refused(.begin(digest, byteCount: chunk, mediaType: nil), status)
        #expect(result12 == .event(.failed(.refused(status))))
    }

    //
    @Test func `bytes of a download are delivered in order although their answers are not`() {
        var download = Transfer(.download(digest, 5..<chunk + 7, byteCount: chunk + 9), in: room)
        let first = AttachmentRequest.read(digest, position: 5, length: Int(chunk))
        let second = AttachmentRequest.read(digest, position: chunk + 5, length: 2)
        let result13 = download.next()
        #expect(result13 == .request(first))
        let result14 = download.next()
        #expect(result14 == .request(second))
        let result15 = download.next()
        #expect(result15 == nil)
        let result16 = download.answered(second, .bytes([8, 9], byteCount: chunk + 9))
        #expect(result16 == [])
        let bytes = [UInt8](repeating: 1, count: Int(chunk))
        let result17 = download.answered(first, .bytes(bytes, byteCount: chunk + 9))
        #expect(result17 == [.event(.received(position: 5, bytes)), .event(.received(position: chunk + 5, [8, 9]))])
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
        let result18 = download.next()
        #expect(result18 == .request(.read(digest, position: chunk, length: Int(chunk))))
    }

    // R-110, Specs/hostile.md row 95
    @Test(arguments: [0, 1, 1 << 31, 1 << 32, 1 << 63 - 1, 1 << 63, .max] as [UInt64])
    func `every number in a message and in the answers of a relay → an event`(number: UInt64) throws {
        let numbers: [UInt64] = [0, 1, 1 << 31, 1 << 32, 1 << 63 - 1, 1 << 63, .max]
        for length in numbers {
            for (start, end) in [(0, number), (number, UInt64.max)] where start <= end {
                var download = Transfer(.download(digest, start..<end, byteCount: number), in: room)
                guard case .request(let read) = download.next() else { continue }
                for count in [0, 1, Int(chunk)] {
                    let bytes = [UInt8](repeating: 1, count: count)
                    _ = download.answered(read, .bytes(bytes, byteCount: length))
                }
            }
            var upload = Transfer(.upload(digest, byteCount: length, mediaType: nil), in: room)
            guard case .request(let begin) = upload.next() else { continue }
            let content = AttachmentResponse.position(number, byteCount: length).content
            guard let answer = try? AttachmentResponse(parsing: content, answering: begin) else { continue }
            let events = upload.answered(begin, answer)
            #expect(events.first == .event(.began(position: number)))
            _ = upload.next()
        }
    }

    //
    @Test func `an answer to a write with another length ends the upload`() {
        var upload = Transfer(.upload(digest, byteCount: 3 * chunk, mediaType: nil), in: room)
        _ = upload.next()
        let begin = AttachmentRequest.begin(digest, byteCount: 3 * chunk, mediaType: nil)
        _ = upload.answered(begin, .position(0, byteCount: 3 * chunk))
        let write = AttachmentRequest.write(digest, position: 0, [])
        let result = upload.answered(write, .position(chunk, byteCount: chunk))
        #expect(result == [.event(.failed(.invalidAnswer))])
    }

    // R-110, Specs/hostile.md row 86
    @Test func `fewer bytes than requested or another length end a download`() {
        let read = AttachmentRequest.read(digest, position: 0, length: 4)
        for answer in [AttachmentResponse.bytes([1], byteCount: 4), .bytes([1, 2, 3, 4], byteCount: 5), .removed] {
            var download = Transfer(.download(digest, 0..<4, byteCount: 4), in: room)
            _ = download.next()
            let result19 = download.answered(read, answer)
            #expect(result19 == [.event(.failed(.invalidAnswer))])
        }
    }
}
