import Foundation
import MartletToolSupport
import MartletTransport
import MartletWire
import Synchronization
import Testing

@testable import MartletDecode
@testable import MartletLab

/// The tests use real sockets on the loopback interface without delays. Their results do not depend on time.
@Suite struct WeakProxyTests {
    @Test func `bytes and ends are forwarded in both directions`() async throws {
        let payload = (0..<3_000_000).map { UInt8(truncatingIfNeeded: $0 &* 31 / 7) }
        let run = try await exchange(payload, through: WeakLinkProfile())
        #expect(run.received == payload)
        #expect(run.reason == .local)
        #expect(run.report.upByteCount == payload.count)
        #expect(run.report.downByteCount == payload.count)
        #expect(run.report.cutCount == 0)
        #expect(run.report.maxHeldByteCount <= WeakLinkProfile().maxHeldByteCount + 4 * 262_144)
    }

    @Test func `a cut resets the client after the permitted bytes`() async throws {
        var profile = WeakLinkProfile()
        profile.cutAfterByteCount = 40_000
        let run = try await exchange([UInt8](repeating: 7, count: 100_000), through: profile)
        #expect(run.reason == .reset)
        #expect(run.received.count < 40_000)
        #expect(run.report.cutCount == 1)
        #expect(run.report.upByteCount + run.report.downByteCount == 40_000)
    }

    @Test func `corruption flips bits of forwarded bytes`() async throws {
        var profile = WeakLinkProfile()
        profile.corruptOneIn = 10_000
        let run = try await exchange([UInt8](repeating: 0, count: 100_000), through: profile)
        #expect(run.received.count == 100_000)
        #expect((1...20).contains(run.received.filter { $0 != 0 }.count))
        #expect(run.report.corruptedByteCount == 20)
    }

    @Test func `an unreachable target resets the client`() async throws {
        let loop = try EventLoop(name: "weak")
        // The system never assigns this port.
        let proxy = try WeakProxy(
            listenOn: SocketAddress(.loopbackV4, port: 0),
            to: Endpoint(host: "127.0.0.1", port: 1, security: .plain),
            profile: WeakLinkProfile(), seed: 1, loop: loop)
        let run = try await Client.send([1, 2, 3], toPort: proxy.port, on: loop)
        #expect(run.reason == .reset)
        #expect(await proxy.stop().unreachableCount == 1)
        await loop.shutdown()
    }

    @Test func `a capture of a cut connection contains the bytes that arrived, in order`() async throws {
        let path = FileManager.default.temporaryDirectory.appendingPathComponent("\(UUID().uuidString).pcap").path
        defer { try? FileManager.default.removeItem(atPath: path) }
        let payload = (0..<100_000).map { UInt8(truncatingIfNeeded: $0 &* 31 / 7) }
        var profile = WeakLinkProfile()
        profile.cutAfterByteCount = 150_000
        let file = try CaptureFile(path: path)
        let run = try await exchange(payload, through: profile, capture: file)
        try file.finish()
        let reader = try CaptureReader(path: path)
        var streams = [TCPReassembler(), TCPReassembler()]
        var carried: [[UInt8]] = [[], []]
        var segments: [TCPSegment] = []
        var times: [UInt64] = []
        while let packet = try reader.next() {
            guard case .segment(let segment) = TCPSegment.parse(packet) else { continue }
            segments.append(segment)
            times.append(packet.time)
            let index = segment.source == segments[0].source ? 0 : 1
            carried[index] += streams[index].receive(segment)
        }
        #expect(carried.map(\.count) == [run.report.upByteCount, run.report.downByteCount])
        #expect(carried.allSatisfy { payload.starts(with: $0) })
        #expect(segments.prefix(3).map(\.flags) == [.syn, [.syn, .ack], .ack])
        #expect(segments.last?.flags == [.rst, .ack])
        #expect(times == times.sorted())
    }

    private func exchange(
        _ payload: [UInt8], through profile: WeakLinkProfile, capture: CaptureFile? = nil
    ) async throws -> (received: [UInt8], reason: CloseReason, report: WeakLinkReport) {
        let loop = try EventLoop(name: "weak")
        let server = try TCPListener.bind(to: SocketAddress(.loopbackV4, port: 0), on: loop) { $0.start(Echo()) }
        let proxy = try WeakProxy(
            listenOn: SocketAddress(.loopbackV4, port: 0),
            to: Endpoint(host: "127.0.0.1", port: server.port, security: .plain), profile: profile, seed: 1,
            capture: capture, loop: loop)
        let run = try await Client.send(payload, toPort: proxy.port, on: loop)
        await server.closeAndWait()
        let report = await proxy.stop()
        await loop.shutdown()
        return (run.received, run.reason, report)
    }
}

/// A server that returns the received bytes until its peer ends.
private final class Echo: TransportHandler {
    private var unsent: [UInt8] = []

    func transportDidConnect(_ transport: any Transport) {}

    func transport(_ transport: any Transport, didReceive bytes: RawSpan) {
        unsent.append(bytes: bytes)
        transport.setNeedsWrite()
    }

    func transport(_ transport: any Transport, fill buffer: inout OutputRawSpan) -> Bool {
        let bytes = Array(unsent.prefix(buffer.freeCapacity))
        buffer.append(bytes: bytes.rawBytes)
        unsent.removeFirst(bytes.count)
        return true
    }

    func transport(_ transport: any Transport, didClose reason: CloseReason) {}
}

/// A client that sends bytes, closes after receiving as many, and reports the received bytes and the end.
private final class Client: TransportHandler {
    private let payload: [UInt8]
    private var sentCount = 0
    private var received: [UInt8] = []
    private let done: ([UInt8], CloseReason) -> Void

    private init(_ payload: [UInt8], _ done: @escaping ([UInt8], CloseReason) -> Void) {
        self.payload = payload
        self.done = done
    }

    static func send(
        _ payload: [UInt8], toPort port: UInt16, on loop: EventLoop
    ) async throws -> (received: [UInt8], reason: CloseReason) {
        let endpoint = try Endpoint(host: "127.0.0.1", port: port, security: .plain)
        let socket = try await TCPConnector.connect(to: [endpoint], on: loop)
        return await withCheckedContinuation { continuation in
            loop.execute {
                socket.start(Client(payload) { continuation.resume(returning: (received: $0, reason: $1)) })
                socket.setNeedsWrite()
            }
        }
    }

    func transportDidConnect(_ transport: any Transport) {}

    func transport(_ transport: any Transport, didReceive bytes: RawSpan) {
        received.append(bytes: bytes)
        if received.count >= payload.count { transport.close(afterFlush: true) }
    }

    func transport(_ transport: any Transport, fill buffer: inout OutputRawSpan) -> Bool {
        let bytes = Array(payload[sentCount...].prefix(buffer.freeCapacity))
        buffer.append(bytes: bytes.rawBytes)
        sentCount += bytes.count
        return true
    }

    func transport(_ transport: any Transport, didClose reason: CloseReason) {
        done(received, reason)
    }
}
