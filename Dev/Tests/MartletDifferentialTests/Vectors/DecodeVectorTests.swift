import MartletToolTestSupport
import MartletWire
import Testing

@testable import MartletDecode
@testable import MartletDifferential

/// Decodes `Specs/vectors` and compares the expected results.
@Suite("Decoding the vectors")
struct DecodeVectorTests {
    /// The maximum number of bytes of a stream that is also read byte by byte.
    private static let maxCutByteCount = 1024

    private static let files = (try? VectorFile.all()) ?? []
    private static let streams = files.filter(\.holdsStreams)
    private static let linkNames = ["resumes", "conversations"]

    /// The properties of a frame that a vector states.
    private struct Entry: Equatable {
        var type: String
        var session: Int
        var sequence: UInt64
        var flags: Int
        var compression: Int
        /// value, skipped, fragment, or the code of its refusal.
        var content: String

        init(_ frame: DecodedFrame) {
            type = frame.header.type.description
            session = Int(frame.header.session.rawValue)
            sequence = UInt64(frame.header.sequence)
            flags = Int(frame.header.flags.rawValue)
            compression = Int(frame.header.compression.rawValue)
            content =
                switch frame.content {
                case .fragment: "fragment"
                case .frame: frame.fragmentCount > 1 ? "fragment" : "value"
                case .unknown: "skipped"
                case .refused(let fault): fault.code.name
                }
        }

        init(_ vector: JSONValue) {
            type = vector["type"]?.text ?? ""
            session = vector["session"]?.number ?? 0
            sequence = UInt64(vector["sequence"]?.number ?? 0)
            flags = vector["flags"]?.number ?? 8
            compression = vector["compression"]?.number ?? 0
            content =
                vector["refused"]?.text
                ?? (vector["skipped"] != nil ? "skipped" : vector["fragment"] != nil ? "fragment" : "value")
        }
    }

    private func decode(_ vector: JSONValue, pieceByteCount: Int) -> Heard {
        let heard = Heard()
        let given = vector["given"]
        let bytes = vector["bytes"]?.bytes ?? []
        var assumptions = ConnectionDecoder.Assumptions()
        assumptions.bodyByteCount = given?["maxBody"]?.number ?? 65_536
        assumptions.beginning = .betweenMessages
        assumptions.allowsZlib = given?["zlib"] != .bool(false)
        let phase: ConnectionDecoder.Phase = given?["phase"]?.text == "handshake" ? .handshake : .established
        let decoder = ConnectionDecoder(in: phase, assuming: assumptions, onEvent: heard.hear)
        decoder.setClient(given?["from"]?.text == "server" ? .second : .first)
        for start in stride(from: 0, to: bytes.count, by: pieceByteCount) {
            decoder.receive(Array(bytes[start..<min(start + pieceByteCount, bytes.count)]), on: .first)
        }
        if vector["end"]?.isTrue == true { decoder.finish(.first) }
        return heard
    }

    @Test(arguments: streams.map(\.name))
    func `a stream in pieces of any size gives its frames and its fault`(name: String) {
        for vector in Self.streams.first(where: { $0.name == name })?.vectors ?? [] {
            let title = "\(name): \(vector["name"]?.text ?? "")"
            let byteCount = max(vector["bytes"]?.bytes.count ?? 0, 1)
            let error = vector["error"].map { "\($0["code"]?.text ?? "") at \($0["at"]?.number ?? 0)" }
            for pieceByteCount in byteCount > Self.maxCutByteCount ? [byteCount] : [byteCount, 7, 1] {
                let heard = decode(vector, pieceByteCount: pieceByteCount)
                #expect(heard.faults == [error].compactMap { $0 }, "\(title)")
                #expect(heard.frames.map(Entry.init) == (vector["frames"]?.list ?? []).map(Entry.init), "\(title)")
            }
        }
    }

    @Test(arguments: linkNames)
    func `sequences continue over the connections of a link`(name: String) throws {
        let vectors = try #require(Self.files.first { $0.name == name }?.vectors)
        for vector in vectors {
            let title = "\(name): \(vector["name"]?.text ?? "")"
            let heard = Heard()
            let links = LinkHistories()
            var decoders: [Int: ConnectionDecoder] = [:]
            let steps = vector["steps"]?.list ?? []
            for step in steps {
                let number = step["connection"]?.number ?? 0
                let decoder =
                    decoders[number] ?? ConnectionDecoder(number, in: .handshake, links: links, onEvent: heard.hear)
                decoders[number] = decoder
                decoder.setClient(.first)
                decoder.receive(step["bytes"]?.bytes ?? [], on: step["from"]?.text == "client" ? .first : .second)
            }
            #expect(heard.faults == [], "\(title)")
            let expected = steps.flatMap { $0["frames"]?.list ?? [] }
            #expect(heard.frames.map(Entry.init) == expected.map(Entry.init), "\(title)")
            guard steps.first?["received"] == nil else { continue }
            let positions = zip(heard.frames, expected).filter { $0.1["passedOver"] == nil }
            #expect(positions.allSatisfy { $0.isRepeated == ($1["repeated"] != nil) }, "\(title)")
            let wholes = positions.filter { $0.1["whole"] != nil }
            #expect(wholes.allSatisfy { $0.sequence == $1["whole"]?.text.flatMap { UInt64($0) } }, "\(title)")
        }
    }
}
