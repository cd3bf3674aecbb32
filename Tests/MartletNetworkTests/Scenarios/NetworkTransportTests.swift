import Glibc
import MartletNetworkStandIn
import MartletToolTestSupport
import MartletTransport
import Testing

@testable import MartletNetworkTransport

/// The backend of Network.framework over a stand-in for the framework (C-65).
@Suite(.timeLimit(.minutes(10))) struct NetworkTransportTests {
    // MARK: Connections

    @Test func `a completed handshake -> connected, bytes in both directions, the end of the stream`() async throws {
        try await withLoop { loop in
            let rig = try await NetworkRig(on: loop)
            await rig.connect()
            #expect(await rig.handler.next() == .connected)
            rig.connection.receive([1, 2, 3])
            #expect(await rig.handler.next() == .received([1, 2, 3]))
            _ = await rig.run { [handler = rig.handler] transport in
                handler.outgoing = [4, 5]
                transport.setNeedsWrite()
            }
            await rig.expect(.sent([4, 5]))
            #expect(await rig.run { $0.unsentByteCount } == 2)
            rig.connection.processSend()
            rig.connection.receive(nil, isComplete: true)
            #expect(await rig.handler.next() == .endOfStream)
            #expect(await rig.run { $0.unsentByteCount } == 0)
            await rig.run { $0.close(afterFlush: true) }
            await rig.expect(.sentEnd)
            rig.connection.processSend()
            await rig.expect(.cancelled(isForced: false))
            rig.connection.enter(.cancelled)
            #expect(await rig.handler.next() == .closed(.endOfStream))
        }
    }

    @Test func `more bytes than one send takes -> all sent, one send at a time`() async throws {
        try await withLoop { loop in
            let rig = try await NetworkRig(on: loop)
            let bytes = (0..<200_000).map { UInt8(truncatingIfNeeded: $0) }
            // Requested before the handshake is complete.
            _ = await rig.run { [handler = rig.handler] transport in
                handler.outgoing = bytes
                transport.setNeedsWrite()
            }
            await rig.connect()
            var sent: [UInt8] = []
            await rig.run { $0.close(afterFlush: true) }
            for await event in rig.connection.events {
                if case .sent(let part) = event {
                    sent += part
                    rig.connection.processSend()
                } else if event == .sentEnd {
                    break
                }
            }
            #expect(sent == bytes)
            rig.connection.processSend()
            await rig.expect(.cancelled(isForced: false))
        }
    }

    @Test func `bytes that arrive while reading is paused -> received after its resumption`() async throws {
        try await withLoop { loop in
            let rig = try await NetworkRig(on: loop)
            await rig.connect()
            #expect(await rig.handler.next() == .connected)
            await rig.run { $0.pauseReading() }
            rig.connection.receive([7])
            // The bytes are on their way to the loop before this call.
            await rig.run { _ in }
            await rig.run { $0.resumeReading() }
            #expect(await rig.handler.next() == .received([7]))
            await rig.expect(.receiving)
            rig.connection.receive([8])
            #expect(await rig.handler.next() == .received([8]))
        }
    }

    @Test(arguments: [nil, "h2", "martlet/2"])
    func `another application protocol, or none -> noCommonProtocol`(name: String?) async throws {
        try await withLoop { loop in
            let rig = try await NetworkRig(on: loop)
            rig.connection.negotiated.setApplicationProtocol(name)
            rig.connection.enter(.ready)
            await rig.expect(.cancelled(isForced: true))
            rig.connection.enter(.cancelled)
            #expect(await rig.handler.next() == .closed(.error(.tls(.noCommonProtocol))))
        }
    }

    @Test(arguments: [
        (NWConnection.State.failed(.posix(.ECONNREFUSED)), CloseReason.error(.refused)),
        (.waiting(.posix(.ENETUNREACH)), .error(.unreachable)), (.failed(.posix(.ECONNRESET)), .reset),
        (.waiting(.dns(-65554)), .error(.resolutionFailed(code: -65554, text: "dns(-65554)"))),
        (.failed(.tls(-9836)), .error(.tls(.protocolError("tls(-9836)")))),
    ])
    func `a connection that fails or waits for a network -> closed with its error`(
        state: NWConnection.State, reason: CloseReason
    ) async throws {
        try await withLoop { loop in
            let rig = try await NetworkRig(on: loop)
            rig.connection.enter(state)
            await rig.expect(.cancelled(isForced: true))
            rig.connection.enter(.cancelled)
            #expect(await rig.handler.next() == .closed(reason))
            #expect(await rig.handler.next() == nil)
        }
    }

    @Test func `an error of a receive or of a send -> closed with it`() async throws {
        try await withLoop { loop in
            for isSend in [false, true] {
                let rig = try await NetworkRig(on: loop)
                await rig.connect()
                #expect(await rig.handler.next() == .connected)
                if isSend {
                    _ = await rig.run { [handler = rig.handler] transport in
                        handler.outgoing = [1]
                        transport.setNeedsWrite()
                    }
                    await rig.expect(.sent([1]))
                    rig.connection.processSend(error: .posix(.ECONNRESET))
                } else {
                    rig.connection.receive(nil, error: .posix(.ECONNRESET))
                }
                await rig.expect(.cancelled(isForced: true))
                rig.connection.enter(.cancelled)
                #expect(await rig.handler.next() == .closed(.reset))
            }
        }
    }

    @Test func `an abort, a close before the handshake, the end of the loop -> closed as local`() async throws {
        try await withLoop { loop in
            let aborted = try await NetworkRig(on: loop)
            await aborted.connect()
            #expect(await aborted.handler.next() == .connected)
            await aborted.run { $0.abort() }
            await aborted.expect(.cancelled(isForced: true))
            aborted.connection.enter(.cancelled)
            #expect(await aborted.handler.next() == .closed(.local))
            let closed = try await NetworkRig(on: loop)
            await closed.run { $0.close(afterFlush: true) }
            await closed.expect(.cancelled(isForced: false))
            closed.connection.enter(.cancelled)
            #expect(await closed.handler.next() == .closed(.local))
        }
        var handler: RecordingHandler?
        try await withLoop { loop in
            let rig = try await NetworkRig(on: loop)
            await rig.connect()
            handler = rig.handler
        }
        #expect(await handler?.next() == .connected)
        #expect(await handler?.next() == .closed(.local))
    }

    // MARK: Properties

    @Test func `the properties after the handshake -> version, cipher, protocol, and an exported secret`() async throws
    {
        try await withLoop { loop in
            let rig = try await NetworkRig(on: loop)
            rig.connection.negotiated.secret = Array(1...64)
            let label = "EXPORTER-Channel-Binding"
            #expect(await rig.run { $0.security } == nil)
            #expect(await rig.run { $0.exportSecret(label: label, byteCount: 32) } == nil)
            await rig.connect()
            let security = await rig.run { $0.security }
            #expect(security?.version == "TLSv1.3" && security?.cipher == "0x1302")
            #expect(security?.applicationProtocol == "martlet/1" && security?.isResumed == false)
            #expect(await rig.run { $0.exportSecret(label: label, byteCount: 32) } == Array(1...32))
            let exported = await rig.run { [negotiated = rig.connection.negotiated] _ in negotiated.exported }
            #expect(exported?.label == label && exported?.context == [])
            rig.connection.negotiated.version = .TLSv12
            #expect(await rig.run { $0.exportSecret(label: label, byteCount: 32) } == nil)
        }
    }
}
