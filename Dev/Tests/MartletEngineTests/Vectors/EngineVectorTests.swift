import Martlet
import MartletTestSupport
import MartletWire
import Testing

@testable import MartletDifferential
@testable import MartletLink

/// Replays the refused vectors of `Specs/vectors` against the engines: a relay and a client report the errors that a
/// reader of the stream finds.
///
/// The frames of session 1 follow an added `open` or `opened`, so their sequences are raised by one.
@Suite("Vectors that the engines refuse")
struct EngineVectorTests {
    private static let files = (try? VectorFile.all()) ?? []
    private static let vectors = files.flatMap(\.vectors).filter { vector in
        // The session of an account, on which updates arrive, is not open here.
        let isOfAccount: Bool = vector["name"]?.text?.contains("update") == true
        // The engines do not negotiate larger limits, and send no code at the end of a stream.
        let maxBody: Int = vector["given"]?["maxBody"]?.number ?? 0
        return !isOfAccount && vector["steps"] == nil && vector["frames"] != nil && maxBody <= 65_536
            && vector["end"]?.isTrue != true
    }

    fileprivate struct Refusal {
        var name: String
        var bytes: [UInt8]
        var isHandshake: Bool
        var limits = Limits()
        var features: Features = .supported
        var code: String
        var ends: String
    }

    /// The vectors of one side that end the connection or refuse a frame.
    private static func refusals(from sender: String) -> [Refusal] {
        vectors.compactMap { vector in
            guard vector["given"]?["from"]?.text ?? "client" == sender else { return nil }
            let refused = vector["frames"]?.list?.first { $0["refused"] != nil }
            guard let code = vector["error"]?["code"]?.text ?? refused?["refused"]?.text else { return nil }
            var refusal = Refusal(
                name: vector["name"]?.text ?? "", bytes: vector["bytes"]?.bytes ?? [],
                isHandshake: vector["given"]?["phase"]?.text == "handshake", code: code,
                ends: refused?["ends"]?.text ?? "connection")
            if let maxBody = vector["given"]?["maxBody"]?.number { refusal.limits = Limits(maxBodyByteCount: maxBody) }
            if vector["given"]?["zlib"] == .bool(false) { refusal.features.remove(.zlib) }
            return refusal
        }
    }

    /// The bytes with the sequences of session 1 raised by one. Checksums that were correct remain correct.
    private func recounted(_ bytes: [UInt8]) -> [UInt8] {
        var recounted: [UInt8] = []
        var framer = Framer(maxBodyByteCount: 1 << 20)
        var rest = bytes[...]
        _ = try? framer.consume(bytes.rawBytes) { header, body throws(WireError) in
            rest = rest.dropFirst(FrameHeader.byteCount + body.byteCount)
            var header = header
            if header.session == .first, header.flags.contains(.reliable) { header.sequence += 1 }
            recounted += header.frame(body: body)
            return .proceed
        }
        return recounted + rest
    }

    @Test func `a relay reports the error of each refused vector`() {
        let refusals = Self.refusals(from: "client")
        #expect(refusals.count > 150)
        for refusal in refusals {
            let stage = RelayStage()
            guard let peer = stage.connect() else { continue }
            if refusal.isHandshake {
                peer.send(refusal.bytes)
            } else {
                peer.greet(limits: refusal.limits, features: refusal.features)
                if !refusal.opens {
                    peer.open(.lobby, on: .first)
                    stage.run(for: .milliseconds(100))
                }
                peer.send(refusal.opens ? refusal.bytes : recounted(refusal.bytes))
            }
            stage.run(for: .milliseconds(100))
            switch refusal.ends {
            case "message":
                #expect(peer.log.last(Receipt.self)?.refusal?.code.name == refusal.code, "\(refusal.name)")
            case "request":
                #expect(peer.log.last(Response.self)?.status.name == refusal.code, "\(refusal.name)")
            case "session":
                #expect(peer.log.last(Reset.self)?.code.name == refusal.code, "\(refusal.name)")
            default:
                #expect(peer.farewell?.name == refusal.code, "\(refusal.name)")
            }
            #expect((peer.closedAt == nil) == (refusal.ends != "connection"), "\(refusal.name)")
        }
    }

    @Test func `a client reports the error of each refused vector`() {
        let refusals = Self.refusals(from: "server")
        #expect(refusals.count > 40)
        for refusal in refusals {
            let stage = ClientStage { $0.link.limits = refusal.limits }
            if refusal.isHandshake {
                stage.act { $0.handle(.start, now: $1) }
                stage.accept()
                stage.send(refusal.bytes)
            } else {
                stage.goOnline(.lobby)
                stage.send(recounted(refusal.bytes))
            }
            if refusal.ends == "connection" {
                #expect(stage.farewell?.name == refusal.code, "\(refusal.name)")
            } else {
                // Messages that the relay has accepted never end the connection (relay.md R-32).
                #expect(stage.farewell == nil, "\(refusal.name)")
            }
        }
    }
}

extension EngineVectorTests.Refusal {
    /// Whether the stream opens its session itself.
    fileprivate var opens: Bool { bytes.count > 8 && bytes[6] == 0x50 && bytes[7] == 0x01 }
}

extension Receipt {
    fileprivate var refusal: Refusal? {
        if case .refused(let refusal) = self { refusal } else { nil }
    }
}
