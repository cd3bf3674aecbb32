import CMartletHTTP
import MartletTransport
import MartletWebhook

/// An object in a list.
struct S3Object: Equatable, Sendable {
    var key: String
    var byteCount: UInt64
    /// The time of its creation, in milliseconds since 1970.
    var modified: UInt64
}

/// The objects of a store below its prefix, with further attempts after failures.
final class S3Bucket: Sendable {
    private let configuration: S3AttachmentStore.Configuration
    private let transport: @Sendable (S3Request) async -> S3Outcome
    private let wait: @Sendable (Duration) async throws -> Void
    private let latest = Guarded(UInt64(0))

    init(
        _ configuration: S3AttachmentStore.Configuration,
        transport: @escaping @Sendable (S3Request) async -> S3Outcome,
        wait: @escaping @Sendable (Duration) async throws -> Void
    ) {
        self.configuration = configuration
        self.transport = transport
        self.wait = wait
    }

    /// The clock of the service at its latest answer, which all relays share. In milliseconds since 1970.
    var now: UInt64 { latest.withLock { $0 } }

    /// The bytes of an object; nil if there is none.
    func get(_ key: String, _ range: ClosedRange<UInt64>? = nil) async throws -> [UInt8]? {
        let response = try await perform(
            S3Request(method: .get, key: configuration.prefix + key, range: range), isMissingAllowed: true)
        guard response.status != 404 else { return nil }
        if let range, response.body.count != range.count { throw S3Error.invalidAnswer("an object of another length") }
        return response.body
    }

    func put(_ key: String, _ body: [UInt8]) async throws {
        _ = try await perform(S3Request(method: .put, key: configuration.prefix + key, body: body))
    }

    /// Removes an object, if there is one.
    func delete(_ key: String) async throws {
        _ = try await perform(S3Request(method: .delete, key: configuration.prefix + key), isMissingAllowed: true)
    }

    /// The next objects whose keys begin with a prefix, in ascending order.
    func page(_ prefix: String, after: String?) async throws -> (objects: [S3Object], isLast: Bool) {
        func encoded(_ key: String) -> String {
            key.split(separator: "/", omittingEmptySubsequences: false).joined(separator: "%2F")
        }
        var query = "list-type=2&prefix=\(encoded(configuration.prefix + prefix))"
        if let after { query += "&start-after=\(encoded(configuration.prefix + after))" }
        let response = try await perform(S3Request(method: .get, key: "", query: query))
        guard let list = S3List(response.body, prefix: configuration.prefix) else {
            throw S3Error.invalidAnswer("a list that is not valid")
        }
        if let after, let first = list.objects.first, first.key <= after {
            throw S3Error.invalidAnswer("a list that does not advance")
        }
        return (list.objects, list.isLast || list.objects.isEmpty)
    }

    /// All objects whose keys begin with a prefix.
    func list(_ prefix: String) async throws -> [S3Object] {
        var objects: [S3Object] = []
        while true {
            let (next, isLast) = try await page(prefix, after: objects.last?.key)
            objects += next
            guard !isLast else { return objects }
        }
    }

    private func perform(_ request: S3Request, isMissingAllowed: Bool = false) async throws -> S3Response {
        var attempts = WebhookRetry(configuration.retry)
        var random = SystemRandomNumberGenerator()
        while true {
            let outcome: WebhookRetry.Outcome
            let error: S3Error
            var response = S3Response(status: 0)
            switch await transport(request) {
            case .answered(let answer):
                response = answer
                latest.withLock { $0 = answer.date ?? EventLoop.wallClock }
                let code = S3List.code(answer.body)
                if answer.status == 404, isMissingAllowed, code != "NoSuchBucket" { return answer }
                outcome = .answered(status: answer.status, retryAfter: answer.retryAfter)
                error = .refused(method: request.method.rawValue, status: answer.status, code: code)
            case .failed(let text): (outcome, error) = (.failed, .unavailable(text))
            }
            switch attempts.attemptEnded(outcome, using: &random) {
            case .delivered: return response
            case .retry(let duration): try await wait(duration)
            case .refused, .gaveUp: throw error
            }
        }
    }
}

/// The answer to a request for a list. Keys of a store have no characters that XML encodes.
struct S3List {
    /// The maximum number of characters of a code of an error in a log.
    private static let maxCodeCount = 64

    var objects: [S3Object] = []
    let isLast: Bool

    /// Parses the answer; nil if it is not valid. Objects of others, outside the prefix, are skipped.
    init?(_ bytes: [UInt8], prefix: String) {
        guard let end = Self.text("IsTruncated", in: bytes[...])?.text else { return nil }
        isLast = end != "true"
        var rest = bytes[...]
        while let (key, afterKey) = Self.text("Key", in: rest) {
            guard let (time, _) = Self.text("LastModified", in: afterKey),
                let (size, afterSize) = Self.text("Size", in: afterKey), let byteCount = UInt64(size)
            else { return nil }
            // 2026-01-31T10:20:30.000Z
            let date = time.prefix { $0 != "." && $0 != "Z" }.split(separator: "T")
            let text = "\(date.first?.split(separator: "-").joined() ?? "") \(date.last ?? "") GMT"
            let seconds = unsafe martlet_date(text)
            guard seconds >= 0 else { return nil }
            if key.hasPrefix(prefix) {
                objects.append(
                    S3Object(
                        key: String(key.dropFirst(prefix.count)), byteCount: byteCount,
                        modified: UInt64(seconds) * 1000))
            }
            rest = afterSize
        }
    }

    /// The code of an error; empty without one.
    static func code(_ bytes: [UInt8]) -> String {
        let code = text("Code", in: bytes.prefix(4096))?.text ?? ""
        return String(code.filter { $0.isASCII && $0.isLetter }.prefix(maxCodeCount))
    }

    /// The text of the next element with a name, and the bytes after it.
    private static func text(_ name: String, in bytes: ArraySlice<UInt8>) -> (text: String, rest: ArraySlice<UInt8>)? {
        let opening = Array("<\(name)>".utf8)
        var start = bytes.startIndex
        while start < bytes.endIndex, let found = bytes[start...].firstIndex(of: UInt8(ascii: "<")) {
            if bytes[found...].starts(with: opening) {
                let content = bytes[found...].dropFirst(opening.count)
                guard let end = content.firstIndex(of: UInt8(ascii: "<")) else { return nil }
                return (String(decoding: content[..<end], as: UTF8.self), bytes[end...])
            }
            start = found + 1
        }
        return nil
    }
}
