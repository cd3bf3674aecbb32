internal import Foundation
internal import MartletTransport
internal import MartletWire

/// A TCP proxy whose connections pass through a ``WeakLink``.
///
/// The proxy owns the listener, the link and the clock; each connection owns its two sockets. All of them run on one
/// loop. The proxy reads from a sender only while the link has room for its bytes, so the memory is bounded and the
/// sender is limited to the speed of the link. Half-closed connections are not supported: when the end of one direction
/// arrives, the connection is closed.
final class WeakProxy: Sendable {
    /// The port of the listener.
    let port: UInt16
    private let core: Core
    private let listener: TCPListener

    /// Listens on `address` and forwards every connection to `target`. Bytes that arrive are also recorded in
    /// `capture`.
    ///
    /// - Throws: An error if the proxy cannot listen on the address.
    init(
        listenOn address: SocketAddress, to target: Endpoint, profile: WeakLinkProfile, seed: UInt64,
        capture: CaptureFile? = nil, loop: EventLoop = .shared
    ) throws(TransportError) {
        let core = Core(target: target, link: WeakLink(profile, seed: seed), capture: capture, loop: loop)
        var options = TCPListener.Options()
        options.connection = core.socketOptions
        listener = try TCPListener.bind(to: address, on: loop, options: options) { core.accept($0) }
        port = listener.port
        self.core = core
        loop.execute { core.armCut() }
    }

    /// Returns the current report of the link.
    func report() async -> WeakLinkReport {
        await withCheckedContinuation { continuation in
            core.loop.execute { [core] in continuation.resume(returning: core.link.report) }
        }
    }

    /// Stops accepting connections, ends all connections, and returns the report of the link.
    func stop() async -> WeakLinkReport {
        await listener.closeAndWait()
        return await withCheckedContinuation { continuation in
            core.loop.execute { [core] in
                core.stop()
                continuation.resume(returning: core.link.report)
            }
        }
    }
}

extension WeakProxy {
    /// The state of the proxy on the loop.
    // Reached from the loop's thread only.
    final class Core: @unchecked Sendable {
        let loop: EventLoop
        let target: Endpoint
        var link: WeakLink
        private let begin = EventLoop.clock
        private var connections: [WeakLink.ConnectionNumber: WeakProxyConnection] = [:]
        private var cutTimer: LoopTimer?
        private let capture: CaptureFile?
        private var recorder: CaptureRecorder?

        init(target: Endpoint, link: WeakLink, capture: CaptureFile?, loop: EventLoop) {
            self.target = target
            self.link = link
            self.capture = capture
            self.loop = loop
            if capture != nil {
                recorder = CaptureRecorder(begin: UInt64(clamping: Int64(Date().timeIntervalSince1970 * 1e9)))
            }
        }

        /// Records an event in the capture, if there is one.
        func record(_ event: (inout CaptureRecorder, _ now: Duration) -> Void) {
            guard let capture, recorder != nil else { return }
            event(&recorder!, now)
            capture.write(recorder!.takeBytes())
        }

        /// The options of sockets. Small kernel buffers ensure that the link is the bottleneck.
        var socketOptions: TCPOptions {
            var options = TCPOptions()
            if link.profile.bytesPerSecond != nil { options.receiveBufferByteCount = WeakLinkProfile.queueByteCount }
            return options
        }

        /// The time since the start of the link.
        var now: Duration { .nanoseconds(Int64(clamping: max(EventLoop.clock, begin) - begin)) }

        /// Returns the time of the loop for a time of the link.
        func deadline(_ time: Duration?) -> UInt64? {
            time.map { begin + UInt64(clamping: Int64(($0 / .nanoseconds(1)).rounded(.up))) }
        }

        func accept(_ socket: TCPConnection) {
            let number = link.open(now: now)
            let connection = WeakProxyConnection(number, socket, self)
            connections[number] = connection
            connection.start()
        }

        func remove(_ number: WeakLink.ConnectionNumber) {
            record { recorder, now in recorder.close(number, now: now) }
            link.close(number)
            connections[number] = nil
        }

        func armCut() {
            guard let time = link.cutTime else { return }
            let timer = cutTimer ?? LoopTimer(on: loop) { [weak self] in self?.cut() }
            timer.set(deadline: deadline(time))
            cutTimer = timer
        }

        func stop() {
            cutTimer?.set(deadline: nil)
            record { recorder, now in recorder.closeAll(now: now) }
            recorder = nil
            for connection in connections.values { connection.abort() }
        }

        private func cut() {
            for number in link.connectionsToCut(now: now) { connections[number]?.abort() }
            armCut()
        }
    }
}
