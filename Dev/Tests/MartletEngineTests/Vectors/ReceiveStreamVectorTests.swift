import MartletTestSupport
import MartletWire
import Testing

@testable import MartletDifferential
@testable import MartletLink

/// Replays the vectors of `Specs/vectors` about sequences, windows, fragments and resumes.
@Suite("Vectors of a session's receiving side")
struct ReceiveStreamVectorTests {
    private static let files = (try? VectorFile.all()) ?? []

    private func vectors(_ name: String) -> [JSONValue] {
        Self.files.first { $0.name == name }?.vectors ?? []
    }

    private func stream(received: UInt64, maxMessageByteCount: Int = 1 << 20) -> ReceiveStream {
        ReceiveStream(windowByteCount: 1 << 20, maxMessageByteCount: maxMessageByteCount, first: received + 1)
    }

    /// The result of a frame with these low bits, in the form of the vectors.
    private func step(_ low: UInt32, on stream: inout ReceiveStream) -> [String: JSONValue] {
        var step: [String: JSONValue] = ["low": .number(Int(low))]
        guard let sequence = stream.sequence(low: low) else {
            step["error"] = .text("outOfWindow")
            return step
        }
        let nothing: [UInt8] = []
        do throws(LinkError) {
            let arrival = try stream.accept(
                sequence, type: .cancel, hasMore: false, plain: nothing.rawBytes, isInPlace: false, heldRoom: 1 << 20)
            if arrival == .duplicate { step["repeated"] = .bool(true) } else { step["whole"] = .text("\(sequence)") }
        } catch {
            step["error"] = .text(error.code.name)
        }
        return step
    }

    // W-12
    @Test func `low bits give the whole sequence of each vector`() throws {
        #expect(vectors("sequences").count > 15)
        for vector in vectors("sequences") {
            let expected = try #require(vector["expected"]?.text.flatMap(UInt64.init))
            let low = UInt32(try #require(vector["low"]?.number))
            let whole = try #require(vector["whole"]?.text.flatMap(Int64.init) ?? Int64.max)
            let found = stream(received: expected - 1).sequence(low: low)
            #expect(found == (whole < 1 ? nil : vector["whole"]?.text.flatMap(UInt64.init)), "\(vector)")
        }
    }

    @Test func `frames give the results and acknowledgements of each vector`() throws {
        #expect(vectors("windows").count > 15)
        for vector in vectors("windows") {
            var stream = stream(received: try #require(vector["received"]?.text.flatMap(UInt64.init)))
            for expected in vector["steps"]?.list ?? [] {
                let low = UInt32(try #require(expected["low"]?.number))
                #expect(.object(step(low, on: &stream)) == expected, "\(vector["name"]?.text ?? "")")
            }
            let ranges = stream.ranges.map { JSONValue.list([.text("\($0.lowerBound)"), .text("\($0.upperBound)")]) }
            let ack: JSONValue = .object(["cumulative": .text("\(stream.cumulative)"), "ranges": .list(ranges)])
            #expect(ack == vector["ack"], "\(vector["name"]?.text ?? "")")
        }
    }

    @Test func `fragments in any order give the messages of each vector`() throws {
        #expect(vectors("assembled").count > 10)
        for vector in vectors("assembled") {
            var line = SessionLine(vector["given"])
            line.read(vector["bytes"]?.bytes ?? [])
            #expect(.list(line.delivered) == vector["delivered"]?.expanded, "\(vector["name"]?.text ?? "")")
            #expect(line.reset == vector["reset"], "\(vector["name"]?.text ?? "")")
            #expect(line.error == vector["error"], "\(vector["name"]?.text ?? "")")
        }
    }

    @Test(arguments: ["resumes", "conversations"])
    func `sequences continue over connections`(name: String) throws {
        for vector in vectors(name) {
            var streams: [String: StreamBox] = [:]
            for step in vector["steps"]?.list ?? [] {
                for sender in ["client", "server"] {
                    guard case .object(let received)? = step["received"]?[sender] else { continue }
                    for (session, highest) in received {
                        streams["\(sender) \(session)"] = StreamBox(
                            stream(received: try #require(highest.text.flatMap(UInt64.init))))
                    }
                }
                for frame in step["frames"]?.list ?? [] {
                    if frame["type"]?.text == "hello", frame["value"]?["resume"] == nil { streams = [:] }
                    guard frame["whole"] != nil || frame["repeated"] != nil else { continue }
                    let key = "\(step["from"]?.text ?? "") \(frame["session"]?.number ?? 0)"
                    let box = streams[key] ?? StreamBox(stream(received: 0))
                    let found = self.step(UInt32(frame["sequence"]?.number ?? 0), on: &box.stream)
                    streams[key] = box
                    #expect(found["whole"] == frame["whole"] && found["repeated"] == frame["repeated"], "\(frame)")
                }
            }
        }
    }
}

/// A stream in a dictionary.
private final class StreamBox {
    var stream: ReceiveStream

    init(_ stream: consuming ReceiveStream) {
        self.stream = stream
    }
}

/// The frames of a client's sessions, ordered and joined.
private struct SessionLine {
    private let given: JSONValue?
    private var streams: [SessionID: StreamBox] = [:]
    private(set) var delivered: [JSONValue] = []
    private(set) var reset: JSONValue?
    private(set) var error: JSONValue?

    init(_ given: JSONValue?) {
        self.given = given
    }

    mutating func read(_ bytes: [UInt8]) {
        var frames: [(header: FrameHeader, body: [UInt8])] = []
        var framer = Framer(maxBodyByteCount: 65_536)
        let consumed = try? framer.consume(bytes.rawBytes) { header, body throws(WireError) in
            frames.append((header, [UInt8](copying: body)))
            return .proceed
        }
        #expect(consumed == bytes.count)
        for frame in frames where error == nil { take(frame.header, frame.body) }
    }

    private mutating func take(_ header: FrameHeader, _ body: [UInt8]) {
        let id = header.session
        let box = streams[id] ?? StreamBox(begin(id))
        streams[id] = box
        do throws(LinkError) {
            let sequence = box.stream.sequence(low: header.sequence) ?? 0
            let arrival = try box.stream.accept(
                sequence, type: header.type, hasMore: header.flags.contains(.moreFragments), plain: body.rawBytes,
                isInPlace: true, heldRoom: 1 << 20)
            if arrival == .deliver { deliver(header.type, body, id) }
            while let frame = box.stream.popReady() { deliver(frame.type, frame.body, id) }
        } catch {
            if error.scope == .session {
                reset = .object(["session": .number(Int(id.rawValue)), "code": .text(error.code.name)])
            } else {
                self.error = .text(error.code.name)
            }
        }
    }

    /// A session that may have received frames on an earlier connection.
    private func begin(_ id: SessionID) -> ReceiveStream {
        let received = given?["received"]?["\(id)"]?.text.flatMap(UInt64.init) ?? 0
        let begun = given?["begun"]?["\(id)"]?.bytes ?? []
        let first = begun.isEmpty ? received + 1 : received
        var stream = ReceiveStream(
            windowByteCount: 1 << 20, maxMessageByteCount: given?["maxMessage"]?.number ?? 1 << 20, first: first)
        guard !begun.isEmpty else { return stream }
        let arrival = try? stream.accept(
            received, type: .data, hasMore: true, plain: begun.rawBytes, isInPlace: true, heldRoom: 1 << 20)
        #expect(arrival == .ready)
        return stream
    }

    private mutating func deliver(_ type: FrameType, _ body: [UInt8], _ id: SessionID) {
        guard let frame = try? Frame.parse(type: type, body: body.rawBytes) else { return }
        delivered.append(
            .object(["type": .text("\(type)"), "session": .number(Int(id.rawValue)), "value": .object(frame.json)]))
    }
}
