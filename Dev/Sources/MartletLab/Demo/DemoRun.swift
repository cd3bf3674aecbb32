import Foundation
import MartletLink
import MartletRelay
import MartletToolSupport
import MartletTransport
import MartletWire

/// A run of the demo: a relay and a weak link in this process, a sender and a listener in two child processes. Without
/// a capture the connections use TLS, with certificates of `martlet dev-cert`.
///
/// The run owns the relay, the link, both processes and a folder for the received text, and ends or removes them in any
/// case.
struct DemoRun: Sendable {
    private static let room = "demo"
    /// The timeout without a connection after which a child process exits. It bounds the time for which a child can
    /// outlive this process.
    private static let childTimeoutSeconds = 60

    let text: DemoText
    let seed: UInt64
    /// The capture of the link, whose connections then do not use TLS; nil if there is none.
    var capture: CaptureFile?
    /// A closure that receives the current view several times a second.
    let onChange: @Sendable (DemoView) -> Void

    /// The outcome of a run.
    struct Outcome: Sendable {
        var view: DemoView
        var comparison: DemoComparison
        var senderCode: Int32
        var listenerCode: Int32

        /// Whether both processes succeeded and the texts are equal.
        var isSuccess: Bool { comparison.isIdentical && senderCode == 0 && listenerCode == 0 }
    }

    /// Runs the demo. Cancellation ends it early.
    func run() async throws -> Outcome {
        try await withTemporaryFolder("demo") { try await run(in: $0) }
    }

    private func run(in folder: URL) async throws -> Outcome {
        var splitter = LineSplitter(maxPieceByteCount: LineContent.maxPieceByteCount)
        let messageCount = splitter.split(text.bytes).count + (splitter.finish() == nil ? 0 : 1)
        let certificates = capture == nil ? try await DevelopmentCertificates.make(in: folder) : nil
        let relay = relay(messageCount: messageCount, certificates)
        let port = try relay.start().first?.port ?? 0
        let plan = DemoPlan(byteCount: text.bytes.count, messageCount: messageCount)
        let proxy = try WeakProxy(
            listenOn: SocketAddress(.loopbackV4, port: 0),
            to: try Endpoint(host: "127.0.0.1", port: port, security: .plain), profile: plan.profile, seed: seed,
            capture: capture)
        let result = await Result {
            try await converse(through: proxy, plan, messageCount: messageCount, certificates, in: folder)
        }
        _ = await proxy.stop()
        await relay.shutdown()
        return try result.get()
    }

    private func relay(messageCount: Int, _ certificates: DevelopmentCertificates?) -> Relay {
        var bounds = InMemoryStore.Bounds()
        bounds.maxMessagesPerRoom = messageCount
        bounds.maxByteCountPerRoom = text.bytes.count + messageCount * 256
        var configuration = Relay.Configuration(addresses: [SocketAddress(.loopbackV4, port: 0)])
        configuration.tls = certificates.map { TLSServerOptions(identity: $0.server) }
        return Relay(
            configuration: configuration, store: InMemoryStore(bounds: bounds), authenticator: .allowAll,
            policy: .allowAll)
    }

    private func converse(
        through proxy: WeakProxy, _ plan: DemoPlan, messageCount: Int, _ certificates: DevelopmentCertificates?,
        in folder: URL
    ) async throws -> Outcome {
        let source = folder.appendingPathComponent("sent")
        let target = folder.appendingPathComponent("received")
        try Data(text.bytes).write(to: source)
        try Data().write(to: target)
        let scheme = certificates == nil ? "martlet" : "martlets"
        let common =
            [
                "--to", "\(scheme)://127.0.0.1:\(proxy.port)", "--room", Self.room, "--progress", "json", "--timeout",
                "\(Self.childTimeoutSeconds)",
            ] + (certificates?.clientOptions ?? [])
        let lifeline = Pipe()
        let listener = try ChildProcess(
            ["listen", "--account", "listener", "--from", "start", "--count", "\(messageCount)", "--until-eof"]
                + common,
            input: lifeline.fileHandleForReading, output: try FileHandle(forWritingTo: target))
        let sender: ChildProcess
        do {
            sender = try ChildProcess(
                ["send", "--account", "sender"] + common, input: try FileHandle(forReadingFrom: source), output: nil)
        } catch {
            await listener.kill()
            throw error
        }
        let board = DemoBoard(DemoView(messageCount: messageCount), outages: Outages(plan.profile), onChange)
        let codes = await withTaskCancellationHandler {
            await watch(sender, listener, proxy, board)
        } onCancel: {
            sender.terminate()
            listener.terminate()
        }
        await sender.kill()
        await listener.kill()
        withExtendedLifetime(lifeline) {}
        try Task.checkCancellation()
        let view = await board.finish(proxy.report())
        let comparison = DemoComparison(sent: text.bytes, received: Array(try Data(contentsOf: target)))
        return Outcome(view: view, comparison: comparison, senderCode: codes.sender, listenerCode: codes.listener)
    }

    /// Observes both processes until they have ended. When one fails, the other is terminated.
    private func watch(
        _ sender: ChildProcess, _ listener: ChildProcess, _ proxy: WeakProxy, _ board: DemoBoard
    ) async -> (sender: Int32, listener: Int32) {
        let ticker = Task {
            while !Task.isCancelled {
                await board.tick(proxy.report())
                try? await Task.sleep(for: .milliseconds(100))
            }
        }
        defer { ticker.cancel() }
        async let senderMessages: Void = board.read(sender.messages, isSender: true)
        async let listenerMessages: Void = board.read(listener.messages, isSender: false)
        async let listenerCode = end(of: listener, failing: sender)
        let senderCode = await end(of: sender, failing: listener)
        _ = await (senderMessages, listenerMessages)
        return (senderCode, await listenerCode)
    }

    private func end(of child: ChildProcess, failing other: ChildProcess) async -> Int32 {
        let code = await child.exitCode()
        if code != 0 { other.terminate() }
        return code
    }
}

extension Result where Failure == any Error {
    /// Creates the result of an asynchronous body.
    fileprivate init(catching body: () async throws -> Success) async {
        do { self = .success(try await body()) } catch { self = .failure(error) }
    }
}
