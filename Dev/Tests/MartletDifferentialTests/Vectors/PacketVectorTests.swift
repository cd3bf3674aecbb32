import Testing

@testable import MartletDifferential
@testable import MartletWire

/// Replays the packets of `Specs/vectors`: heads, payloads and checksums (W-76, W-77, W-78, W-79), numbers (W-80),
/// compact frames (W-81, W-82), the context (W-84, W-85), the forms (W-86, W-87, W-88), compact TLVs (W-89, W-90, W-91)
/// and deflated packets (W-92, W-93, W-94, W-95).
@Suite("Packet vectors")
struct PacketVectorTests {
    /// The maximum number of bytes of a stream that is split at every position.
    private static let maxCutByteCount = 320
    private static let vectors =
        (try? VectorFile.all())?
        .filter(\.holdsPackets).flatMap(\.vectors) ?? []

    private static func streams(_ vector: JSONValue) -> PacketStreams {
        let names = (vector["features"]?.list ?? []).compactMap(\.text).joined(separator: ",")
        return PacketStreams(
            features: PacketStreams.features(names[...]), maxBodyByteCount: vector["maxBody"]?.number ?? 65_536)
    }

    private struct Outcome: Equatable {
        var frames: [[UInt8]]
        var error: String?

        init(_ result: PacketStreams.Result) {
            frames = result.frames
            error = result.error?.name
        }

        init(_ vector: JSONValue) {
            frames = (vector["frames"]?.list ?? []).map(\.bytes)
            error = vector["error"]?.text
        }
    }

    @Test func `the files contain vectors`() {
        #expect(Self.vectors.count >= 500)
    }

    @Test("a vector gives its documented result for every split", arguments: vectors.indices)
    func replay(_ index: Int) {
        let vector = Self.vectors[index]
        let (streams, expected) = (Self.streams(vector), Outcome(vector))
        let bytes = vector["bytes"]?.bytes ?? []
        let isWhole = vector["end"]?.isTrue == true
        let name = vector["name"]?.text ?? ""
        #expect(Outcome(streams.read([bytes], isWhole: isWhole)) == expected, "\(name)")
        guard bytes.count <= Self.maxCutByteCount else { return }
        for cut in bytes.indices {
            #expect(
                Outcome(streams.read([Array(bytes[..<cut]), Array(bytes[cut...])], isWhole: isWhole)) == expected,
                "\(name), cut at \(cut)")
        }
        #expect(Outcome(streams.read(bytes.map { [$0] }, isWhole: isWhole)) == expected, "\(name), byte by byte")
    }

    @Test("the frames of a vector, encoded again, give the same frames")
    func rewrite() {
        for vector in Self.vectors where vector["error"] == nil {
            let expected = Outcome(vector).frames
            let streams = PacketStreams(features: .all, maxBodyByteCount: 1 << 20)
            let written = streams.read([streams.write([expected])])
            #expect(written.error == nil)
            #expect(written.frames.map(timeless) == expected.map(timeless))
        }
    }

    /// Returns a frame without its timestamp and its checksum, because a writer may omit timestamps.
    private func timeless(_ frame: [UInt8]) -> [UInt8] { Array(frame[..<12] + frame[16..<24] + frame[28...]) }
}
