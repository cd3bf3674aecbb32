import Testing

@testable import MartletDifferential
@testable import MartletWire

/// Replays `Specs/vectors`, whose expected results are derived from the specification.
@Suite("Vectors")
struct VectorTests {
    /// The maximum number of bytes of a stream that is split at every position.
    private static let maxCutByteCount = 320
    /// The maximum number of bytes of a stream of which every bit is flipped.
    private static let maxFlippedByteCount = 1024

    private static let files = (try? VectorFile.all()) ?? []
    private static let streams = files.filter(\.holdsStreams)

    /// The result of a stream.
    private struct Result: Equatable {
        var frames: [[String: JSONValue]]
        var error: JSONValue?
    }

    /// One direction of a connection, and the earlier state of its receiver.
    private struct Stream {
        var sender = Side.client
        var established: (maxBodyByteCount: Int, zlib: Bool)?
        var bytes: [UInt8]

        init(_ bytes: [UInt8], _ given: JSONValue?) {
            self.bytes = bytes
            sender = given?["from"]?.text.flatMap(Side.init) ?? .client
            if given?["phase"]?.text != "handshake" {
                established = (given?["maxBody"]?.number ?? 65_536, given?["zlib"] != .bool(false))
            }
        }
    }

    /// Returns the streams of a vector: one, or two for each connection of a conversation.
    private static func streams(of vector: JSONValue) -> [Stream] {
        guard let steps = vector["steps"]?.list else {
            return vector["bytes"].map { [Stream($0.bytes, vector["given"])] } ?? []
        }
        var streams: [String: Stream] = [:]
        for step in steps {
            guard let connection = step["connection"]?.number, let sender = step["from"]?.text else { continue }
            let given: JSONValue = .object(["phase": .text("handshake"), "from": .text(sender)])
            streams["\(connection) \(sender)", default: Stream([], given)].bytes += step["bytes"]?.bytes ?? []
        }
        return Array(streams.values)
    }

    private func result(of bytes: [UInt8], cutAt cuts: [Int] = [], _ vector: JSONValue) -> Result {
        let stream = Stream(bytes, vector["given"])
        var reader = StreamReader(from: stream.sender, established: stream.established)
        var start = 0
        for end in cuts + [bytes.count] {
            reader.consume(bytes[start..<end].rawBytes)
            start = end
        }
        if vector["end"]?.isTrue == true { reader.finish() }
        return Result(
            frames: reader.frames.map { $0.header.json.merging($0.outcome.json) { first, _ in first } },
            error: reader.failure.map { .object(["code": .code($0.code), "at": .number($0.offset)]) })
    }

    private func expected(_ vector: JSONValue) -> Result {
        Result(frames: (vector["frames"]?.list ?? []).map(Self.expectedFrame), error: vector["error"])
    }

    /// Returns a frame as in the vector, without the values that only a link knows.
    private static func expectedFrame(_ frame: JSONValue) -> [String: JSONValue] {
        guard case .object(var fields) = frame.expanded else { return [:] }
        if let pieces = frame["fragment"] { fields["fragment"] = .hex(pieces.bytes) }
        for key in ["whole", "repeated", "passedOver"] { fields[key] = nil }
        return fields
    }

    @Test func `the vectors contain every type, and every code that the wire can cause`() {
        let vectors = Self.files.flatMap(\.vectors)
        #expect(vectors.count >= 500)
        let frames = Self.streams.flatMap(\.vectors).flatMap { $0["frames"]?.list ?? [] }
        let types = Set(frames.filter { $0["value"] != nil }.compactMap { $0["type"]?.text })
        #expect(types.count == 23)
        let errors = Self.streams.flatMap(\.vectors).compactMap { $0["error"]?["code"]?.text }
        #expect(Set(errors + frames.compactMap { $0["refused"]?.text }).count == 19)
    }

    // W-8, W-18
    @Test(arguments: streams.map(\.name))
    func `a stream gives the result of the specification`(name: String) {
        for vector in Self.streams.first(where: { $0.name == name })?.vectors ?? [] {
            let result = result(of: vector["bytes"]?.bytes ?? [], vector)
            #expect(result == expected(vector), "\(name): \(vector["name"]?.text ?? "")")
        }
    }

    @Test(arguments: streams.map(\.name))
    func `a stream gives the same result for every split`(name: String) {
        for vector in Self.streams.first(where: { $0.name == name })?.vectors ?? [] {
            let bytes = vector["bytes"]?.bytes ?? []
            guard bytes.count <= Self.maxCutByteCount, !bytes.isEmpty else { continue }
            let expected = expected(vector)
            let title = "\(name): \(vector["name"]?.text ?? "")"
            #expect(result(of: bytes, cutAt: Array(0..<bytes.count), vector) == expected, "\(title), byte by byte")
            for cut in 1..<bytes.count {
                #expect(result(of: bytes, cutAt: [cut], vector) == expected, "\(title), cut at \(cut)")
            }
        }
    }

    /// Returns the bits that are flipped: all of a short stream; the first and the last ones of a long stream, and
    /// others at intervals that cover every bit of a byte. `make differential` flips all bits.
    private static func bits(of bytes: [UInt8]) -> [Int] {
        let count = 8 * bytes.count
        guard bytes.count > maxFlippedByteCount else { return Array(0..<count) }
        return Array(0..<512) + Array(stride(from: 512, to: count - 512, by: 509)) + Array((count - 512)..<count)
    }

    @Test(arguments: files.map(\.name))
    func `a stream with one flipped bit is refused`(name: String) {
        for vector in Self.files.first(where: { $0.name == name })?.vectors ?? [] where vector["error"] == nil {
            for stream in Self.streams(of: vector) {
                let flips = BitFlips(sender: stream.sender, established: stream.established, bytes: stream.bytes)
                #expect(flips.accepted(Self.bits(of: stream.bytes)) == [], "\(name): \(vector["name"]?.text ?? "")")
            }
        }
    }

    @Test(arguments: ["resumes", "conversations"])
    func `both sides of a conversation give the results of the specification`(name: String) {
        for vector in Self.files.first(where: { $0.name == name })?.vectors ?? [] {
            var streams: [String: (bytes: [UInt8], frames: [[String: JSONValue]])] = [:]
            for step in vector["steps"]?.list ?? [] {
                let stream = "\(step["connection"]?.number ?? 0) \(step["from"]?.text ?? "")"
                streams[stream, default: ([], [])].bytes += step["bytes"]?.bytes ?? []
                streams[stream, default: ([], [])].frames += (step["frames"]?.list ?? []).map(Self.expectedFrame)
            }
            for (stream, expected) in streams {
                let sender = JSONValue.text(stream.hasSuffix("client") ? "client" : "server")
                let given: JSONValue = .object(["given": .object(["phase": .text("handshake"), "from": sender])])
                let result = result(of: expected.bytes, given)
                #expect(result.error == nil && result.frames == expected.frames, "\(name), \(stream)")
            }
        }
    }
}
