import Foundation
import MartletTransport
import MartletWebhook
import MartletWire

@testable import MartletS3

/// A bucket in memory, with the clocks of its relays.
final class VirtualBucket: Sendable {
    private struct State {
        var objects: [String: (bytes: [UInt8], modified: UInt64)] = [:]
        var time: UInt64 = 1_700_000_000_000
        var requests: [S3Request] = []
        var failures: [S3Outcome] = []
        var waits: [Duration] = []
    }

    static let prefix = "chat/"
    private static let pageCount = 20

    private let state = Guarded(State())
    private let start = ContinuousClock.now

    /// The keys below the prefix, in ascending order.
    var keys: [String] {
        state.withLock { $0.objects.keys.filter { $0.hasPrefix(Self.prefix) }.sorted() }
            .map { String($0.dropFirst(Self.prefix.count)) }
    }
    /// The keys of chunks and marks of uploads.
    var parts: [String] { keys.filter { $0.hasPrefix("u/") } }
    var requests: [S3Request] { state.withLock { $0.requests } }
    var waits: [Duration] { state.withLock { $0.waits } }

    func advance(hours: UInt64) { state.withLock { $0.time += hours * 3_600_000 } }

    /// The outcomes of the next requests, which have no effect.
    func fail(_ outcomes: S3Outcome...) { state.withLock { $0.failures = outcomes } }

    func remove(_ key: String) { state.withLock { $0.objects[Self.prefix + key] = nil } }

    func put(_ key: String, _ bytes: [UInt8]) {
        state.withLock { $0.objects[Self.prefix + key] = (bytes, $0.time) }
    }

    static func configuration(_ change: (inout S3AttachmentStore.Configuration) -> Void = { _ in }) throws
        -> S3AttachmentStore.Configuration
    {
        var configuration = try S3AttachmentStore.Configuration(
            bucket: "files", prefix: "chat", credentials: .init(key: "AKID", secret: "hidden"))
        change(&configuration)
        return configuration
    }

    /// A relay with the bucket.
    func store(
        _ change: (inout S3AttachmentStore.Configuration) -> Void = { _ in }
    ) async throws -> S3AttachmentStore {
        try await S3AttachmentStore(try Self.configuration(change)) {
            self.start.advanced(by: .milliseconds(self.state.withLock { $0.time } - 1_700_000_000_000))
        } transport: {
            self.answer($0)
        } wait: { duration in
            self.state.withLock { $0.waits.append(duration) }
        }
    }

    private func answer(_ request: S3Request) -> S3Outcome {
        state.withLock { state in
            state.requests.append(request)
            guard state.failures.isEmpty else { return state.failures.removeFirst() }
            func answered(_ status: Int, _ body: [UInt8] = []) -> S3Outcome {
                .answered(S3Response(status: status, body: body, date: state.time))
            }
            switch request.method {
            case .put:
                state.objects[request.key] = (request.body, state.time)
                return answered(200)
            case .delete:
                state.objects[request.key] = nil
                return answered(204)
            case .get where request.key.isEmpty: return answered(200, Array(Self.list(request.query, state).utf8))
            case .get:
                guard let bytes = state.objects[request.key]?.bytes else {
                    return answered(404, Array("<Error><Code>NoSuchKey</Code></Error>".utf8))
                }
                guard let range = request.range else { return answered(200, bytes) }
                return answered(206, Array(bytes[Int(range.lowerBound)...min(Int(range.upperBound), bytes.count - 1)]))
            }
        }
    }

    private static func list(_ query: String, _ state: State) -> String {
        var parameters: [String: String] = [:]
        for part in query.split(separator: "&") {
            let pair = part.split(separator: "=", omittingEmptySubsequences: false)
            parameters[String(pair[0])] = pair[1].split(separator: "%2F", omittingEmptySubsequences: false)
                .joined(separator: "/")
        }
        let keys = state.objects.keys.sorted()
            .filter { $0.hasPrefix(parameters["prefix"] ?? "") && $0 > parameters["start-after"] ?? "" }
        let contents = keys.prefix(pageCount).map { key in
            let object = state.objects[key] ?? ([], 0)
            return """
                <Contents><Key>\(key)</Key><LastModified>\(date(object.modified))</LastModified><ETag>"x"</ETag>\
                <Size>\(object.bytes.count)</Size></Contents>
                """
        }
        return "<ListBucketResult><IsTruncated>\(keys.count > pageCount)</IsTruncated>\(contents.joined())"
            + "</ListBucketResult>"
    }

    private static func date(_ time: UInt64) -> String {
        Date(timeIntervalSince1970: Double(time) / 1000).formatted(.iso8601)
    }
}
