import MartletRelay
import MartletTransport
import MartletWire
import Testing

@testable import MartletS3

@Suite struct S3AttachmentStoreTests {
    private let bucket = VirtualBucket()
    private let bytes = content(2_000_000)

    private func write(_ range: Range<Int>, _ store: S3AttachmentStore, step: Int = 100_000) async throws {
        for start in stride(from: range.lowerBound, to: range.upperBound, by: step) {
            let end = min(start + step, range.upperBound)
            let result = try await store.write([Array(bytes[start..<end])], at: UInt64(start), of: key(bytes))
            #expect(result.position == UInt64(end))
        }
    }

    private func begin(_ store: S3AttachmentStore, _ account: AccountName = "alice") async throws -> UInt64 {
        try await store.begin(key(bytes, account: account), byteCount: UInt64(bytes.count), mediaType: "a/b")
    }

    private func readAll(_ store: S3AttachmentStore) async throws -> [UInt8] {
        var read: [UInt8] = []
        while read.count < bytes.count {
            read += try await store.read(key(bytes).digest, in: "lobby", at: UInt64(read.count), length: 15_360).bytes
        }
        return read
    }

    private func sweep(_ store: S3AttachmentStore) async throws { while try await store.removeExpired() {} }

    // R-104
    @Test func `an upload of one relay -> continues at another at the position that was answered, also at a third`()
        async throws
    {
        let (first, second) = (try await bucket.store(), try await bucket.store())
        #expect(try await begin(first) == 0)
        try await write(0..<700_000, first)
        #expect(try await begin(second) == 700_000)
        try await write(700_000..<1_300_000, second)
        let third = try await bucket.store()
        #expect(try await begin(third) == 1_300_000)
        try await write(1_300_000..<2_000_000, third)
        for store in [first, second, third] {
            #expect(try await readAll(store) == bytes)
            #expect(try await begin(store, "bob") == 2_000_000)
        }
        #expect(try await first.info(key(bytes).digest, in: "lobby").mediaType == "a/b")
    }

    @Test func `calls with few bytes -> blocks; their parts are removed when no relay continues the upload`()
        async throws
    {
        let store = try await bucket.store()
        _ = try await begin(store)
        try await write(0..<2_000_000, store, step: 15_360)
        let count = bucket.parts.count
        bucket.advance(hours: 2)
        try await sweep(store)
        #expect(bucket.parts.count == count)
        bucket.advance(hours: 24)
        try await sweep(store)
        #expect(bucket.parts.count == 4)
        #expect(try await readAll(store) == bytes)
        #expect(try await begin(try await bucket.store()) == 2_000_000)
    }

    @Test func `reads of one part at once -> one request for its bytes`() async throws {
        let store = try await bucket.store()
        _ = try await begin(store)
        try await write(0..<2_000_000, store, step: 1_000_000)
        let count = bucket.requests.count
        try await withThrowingTaskGroup(of: Void.self) { group in
            for position in stride(from: 0, to: 900_000, by: 15_360) {
                group.addTask {
                    _ = try await store.read(key(bytes).digest, in: "lobby", at: UInt64(position), length: 15_360)
                }
            }
            try await group.waitForAll()
        }
        // A list, the manifest, and the bytes.
        #expect(bucket.requests.count == count + 3)
    }

    // R-105, Specs/hostile.md row 73
    @Test func `uploads of one account at two relays, one with other bytes -> the complete one is not damaged`()
        async throws
    {
        let (first, second) = (try await bucket.store(), try await bucket.store())
        _ = try await begin(first)
        try await write(0..<1_000_000, first)
        #expect(try await begin(second) == 1_000_000)
        try await write(1_000_000..<2_000_000, first)
        await #expect(throws: AttachmentFailure.digestMismatch) {
            try await second.write([content(1_000_000, seed: 9)], at: 1_000_000, of: key(bytes))
        }
        for hours in [0, 2, 26] as [UInt64] {
            bucket.advance(hours: hours)
            for store in [first, second] {
                try await sweep(store)
                #expect(try await readAll(store) == bytes)
            }
        }
        #expect(try await begin(second) == 2_000_000)
    }

    // R-104
    @Test func `an upload that was discarded at a different relay -> unknown at its end, and begun anew`() async throws
    {
        let (first, second) = (try await bucket.store(), try await bucket.store())
        _ = try await begin(first)
        try await write(0..<1_900_000, first)
        try await second.remove(key(bytes))
        await #expect(throws: AttachmentFailure.unknown) { try await write(1_900_000..<2_000_000, first) }
        #expect(try await begin(first) == 0)
        bucket.advance(hours: 2)
        try await sweep(first)
        #expect(bucket.parts.isEmpty)
    }

    // R-104
    @Test func `objects of an attachment are missing -> unknown, begun again, and read after the upload`() async throws
    {
        let store = try await bucket.store()
        _ = try await begin(store)
        try await write(0..<2_000_000, store)
        let chunks = bucket.parts.filter { $0.contains("/\(S3Names.hex(600_000))-") }
        #expect(chunks.count == 2)
        for chunk in chunks { bucket.remove(chunk) }
        await #expect(throws: AttachmentFailure.unknown) { try await readAll(store) }
        #expect(try await begin(store) == 600_000)
        try await write(600_000..<2_000_000, store)
        #expect(try await readAll(store) == bytes)
    }

    // R-109, R-155
    @Test func `lifetimes that have ended -> objects are removed an hour later, by any relay; others remain`()
        async throws
    {
        let (first, second) = (try await bucket.store(), try await bucket.store())
        bucket.put("notes.txt", [1])
        bucket.put("u/notes", [1])
        _ = try await begin(first)
        try await write(0..<2_000_000, first)
        let other = content(1000)
        _ = try await first.begin(key(other), byteCount: 1000, mediaType: nil)
        _ = try await first.write([Array(other[..<500])], at: 0, of: key(other))
        for store in [first, second] { try await sweep(store) }
        bucket.advance(hours: 24)
        for store in [first, second] { try await sweep(store) }
        #expect(bucket.parts.contains { $0.contains("\(key(other).digest)") })
        #expect(try await second.begin(key(other), byteCount: 1000, mediaType: nil) == 0)
        bucket.advance(hours: 1)
        try await sweep(second)
        #expect(!bucket.parts.contains { $0.contains("\(key(other).digest)") })
        // The clock of the first relay is behind, which has not observed the last days.
        bucket.advance(hours: 30 * 24)
        try await sweep(second)
        await #expect(throws: AttachmentFailure.unknown) { try await second.info(key(bytes).digest, in: "lobby") }
        try await sweep(second)
        bucket.advance(hours: 1)
        try await sweep(second)
        #expect(bucket.keys.filter { $0 != "clock" } == ["notes.txt", "u/notes"])
    }

    // R-109, R-164
    @Test func `attachments and uploads of other relays -> count against bounds after a pass over the bucket`()
        async throws
    {
        let first = try await bucket.store()
        _ = try await begin(first)
        try await write(0..<2_000_000, first)
        let second = try await bucket.store { $0.limits.maxTotalByteCount = 2_500_000 }
        let other = content(600_000, seed: 7)
        _ = try await second.begin(key(other), byteCount: 600_000, mediaType: nil)
        try await sweep(second)
        await #expect(throws: AttachmentFailure.full) { try await second.write([other], at: 0, of: key(other)) }
        try await first.removeAll(of: "alice", in: "lobby")
        bucket.advance(hours: 1)
        try await sweep(second)
        #expect(try await second.begin(key(other), byteCount: 600_000, mediaType: nil) == 0)
        #expect(try await second.write([other], at: 0, of: key(other)).position == 600_000)
    }

    // R-107
    @Test func `failures -> further attempts after waits; too many -> a reason, and the upload continues`() async throws
    {
        let store = try await bucket.store()
        _ = try await begin(store)
        bucket.fail(.failed("no route"), .answered(S3Response(status: 503)))
        try await write(0..<100_000, store)
        #expect(bucket.waits.count == 2)
        let slow = S3Response(status: 503, body: Array("<Error><Code>SlowDown</Code></Error>".utf8))
        bucket.fail(.answered(slow), .answered(slow), .answered(slow), .answered(slow))
        await #expect(throws: S3Error.refused(method: "PUT", status: 503, code: "SlowDown")) {
            try await store.write([Array(bytes[100_000..<200_000])], at: 100_000, of: key(bytes))
        }
        bucket.fail(.failed("no route"), .failed("no route"), .failed("no route"), .failed("no route"))
        await #expect(throws: S3Error.unavailable("no route")) { try await begin(try await bucket.store()) }
        #expect(try await begin(store) == 100_000)
        try await write(100_000..<2_000_000, store)
        #expect(try await readAll(store) == bytes)
    }

    @Test func `a refusal -> its status and code, without further attempts and without the secret`() async throws {
        let refusal = S3Response(
            status: 403, body: Array("<Error><Code>SignatureDoesNotMatch</Code><Message>hidden</Message></Error>".utf8))
        bucket.fail(.answered(refusal))
        let error = await #expect(throws: S3Error.self) { try await bucket.store() }
        #expect(error?.description == "the S3 service refused PUT with status 403, SignatureDoesNotMatch")
        #expect(bucket.requests.count == 1)
        let missing = S3Response(status: 404, body: Array("<Error><Code>NoSuchBucket</Code></Error>".utf8))
        let store = try await bucket.store()
        bucket.fail(.answered(missing))
        await #expect(throws: S3Error.refused(method: "GET", status: 404, code: "NoSuchBucket")) {
            try await begin(store)
        }
        bucket.fail(.answered(S3Response(status: 200, body: Array("<html>".utf8))))
        await #expect(throws: S3Error.invalidAnswer("a list that is not valid")) { try await begin(store) }
    }

    // R-158, Specs/hostile.md row 95
    @Test func `objects with any names and contents -> skipped, or the attachment is unknown`() async throws {
        let store = try await bucket.store()
        let (hash, digest) = (String(repeating: "a", count: 32), "\(key(bytes).digest)")
        let room = S3Names.hash("lobby")
        for number in ["000000000000", "ffffffffffff", "0", "fffffffffffff", "-", ""] {
            bucket.put("a/\(room)/\(digest)/\(number)-\(hash)-\(number)-\(hash)-\(number)", [1, 2, 3])
            bucket.put("u/\(room)/\(S3Names.hash("alice"))/\(digest)/\(number)-\(hash)/\(number)-\(hash)", [1, 2, 3])
        }
        bucket.put("clock", Array("ffffffffffff".utf8))
        try await sweep(store)
        await #expect(throws: AttachmentFailure.unknown) { try await store.info(key(bytes).digest, in: "lobby") }
        await #expect(throws: AttachmentFailure.digestMismatch) { try await begin(store) }
        for name in bucket.keys where name.hasPrefix("a/") { bucket.remove(name) }
        #expect(try await begin(try await bucket.store()) == 0)
        try await sweep(store)
    }

    @Test(arguments: [
        ("", "us-east-1", "https://s3"), ("Files", "us-east-1", "https://s3"), ("files", "Us", "https://s3"),
        ("files", "us-east-1", "http://s3.example"), ("files", "us-east-1", "https://s3.example/?a"),
        ("files", "us-east-1", "s3.example"),
    ])
    func `a name or an address that is not valid -> refused`(bucket: String, region: String, endpoint: String) throws {
        let credentials = try S3AttachmentStore.Credentials(key: "AKID", secret: "hidden")
        #expect(throws: S3Error.self) {
            try S3AttachmentStore.Configuration(
                bucket: bucket, region: region, endpoint: endpoint, credentials: credentials)
        }
    }

    @Test func `a credentials file -> the key, the secret and the token of its first profile`() throws {
        let text = "[default]\naws_access_key_id = A\r\naws_secret_access_key=b/c=\n[x]\naws_access_key_id=B\n"
        #expect(try .init(parsing: text) == S3AttachmentStore.Credentials(key: "A", secret: "b/c="))
        let other = text + "aws_session_token = t"
        #expect(try .init(parsing: other) == S3AttachmentStore.Credentials(key: "A", secret: "b/c="))
        #expect(
            try .init(parsing: "aws_session_token = t\n" + text.dropFirst(10))
                == S3AttachmentStore.Credentials(key: "A", secret: "b/c=", token: "t"))
        for text in ["", "aws_access_key_id = A", "aws_access_key_id =\naws_secret_access_key = b"] {
            #expect(throws: S3Error.invalidCredentials) { try S3AttachmentStore.Credentials(parsing: text) }
        }
    }
}
