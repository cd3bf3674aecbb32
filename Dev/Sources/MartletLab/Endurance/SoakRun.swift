import Foundation
import MartletToolSupport
import MartletTransport

/// A long conversation over links that break, with clients that begin and end. It detects lost and duplicate messages,
/// and growth of memory, descriptors and threads.
///
/// The relay is a child process; the clients and the weak links are in this process. Bounded storage reaches its bound
/// during the warm-up, so later growth is unbounded. The memory of the allocator that is not in use is released before
/// a measurement; see `MeasuredHeap`.
struct SoakRun: Sendable {
    /// The maximum growth of a process's memory after the warm-up, in mebibytes an hour.
    static let maxSlope = 1.0
    /// The maximum difference of descriptors and of threads between the medians of the last and the first quarter.
    static let maxDrift = 8
    /// The number of messages of a room that the relay keeps, sufficient for a member that is temporarily absent.
    private static let historyCount = 1000
    private static let roomSize = 20
    /// The interval of each weak link between two cuts of all its connections, in seconds.
    private static let cutEvery = [17, 23, 29, 37]
    /// The maximum duration of the delivery after the last message was sent.
    private static let deliveryTimeout = Duration.seconds(120)

    let clientCount: Int
    let duration: Duration
    /// The average time between two messages of a member.
    let pause: Duration
    /// The range of a client's lifetime in seconds.
    let lifetime: ClosedRange<Int>
    /// A closure that receives the report every minute.
    let onMinute: @Sendable (Report) -> Void

    /// The current results of a soak.
    struct Report: Sendable {
        var elapsed = Duration.zero
        var sentCount = 0
        var receivedCount = 0
        var lostCount = 0
        var duplicateCount = 0
        var clientCount = 0
        var reconnects: UInt64 = 0
        var relay = SoakFigures()
        var clients = SoakFigures()

        var isSuccess: Bool {
            guard sentCount > 0, lostCount == 0, duplicateCount == 0 else { return false }
            return [relay, clients].allSatisfy { figures in
                (figures.memory.slope ?? .infinity) < maxSlope && figures.descriptors.drift <= maxDrift
                    && figures.threads.drift <= maxDrift
            }
        }
    }

    /// The duration in which growth is not measured: a third of the run, at most ten minutes.
    var warmUp: Duration { min(duration / 3, .seconds(600)) }

    func run() async throws -> Report {
        MeasuredHeap.share()
        let relay = try await RelayProcess(
            port: 0, options: ["--history", "\(Self.historyCount)", "--quiet"], environment: MeasuredHeap.environment)
        let report = try await relay.guarding { try await converse(with: relay) }
        await relay.kill()
        return report
    }

    private func converse(with relay: RelayProcess) async throws -> Report {
        let roomCount = (clientCount + Self.roomSize - 1) / Self.roomSize
        let links = try links(to: relay)
        let loop = try EventLoop(name: "members")
        let members = (0..<clientCount).map { number in
            SoakMember(
                number: number, room: number % roomCount,
                endpoint: "martlet://127.0.0.1:\(links[number % links.count].port)", pause: pause, on: loop)
        }
        let began = ContinuousClock.now
        let watcher = Task { await watch(relay, members, since: began) }
        defer { watcher.cancel() }
        try await together(members) { [duration, lifetime] in
            try await $0.live(until: began + duration, lifetime: lifetime)
        }
        watcher.cancel()
        var report = await watcher.value
        try await drain(members, roomCount: roomCount)
        for link in links { _ = await link.stop() }
        count(members, into: &report)
        return report
    }

    private func links(to relay: RelayProcess) throws -> [WeakProxy] {
        let loop = try EventLoop(name: "network")
        let target = try Endpoint(host: "127.0.0.1", port: relay.port, security: .plain)
        return try Self.cutEvery.enumerated().map { index, seconds in
            var profile = WeakLinkProfile()
            profile.delay = .milliseconds(5)
            profile.jitter = .milliseconds(3)
            profile.cutEvery = .seconds(seconds)
            return try WeakProxy(
                listenOn: SocketAddress(.loopbackV4, port: 0), to: target, profile: profile, seed: UInt64(index + 1),
                loop: loop)
        }
    }

    private func together(
        _ members: [SoakMember], _ body: @escaping @Sendable (SoakMember) async throws -> Void
    ) async throws {
        try await withThrowingTaskGroup(of: Void.self) { group in
            for member in members { group.addTask { try await body(member) } }
            try await group.waitForAll()
        }
    }

    /// Ends the sending: the outboxes are sent, and every member reads to the end of its room.
    private func drain(_ members: [SoakMember], roomCount: Int) async throws {
        var lastOffsets = Array(repeating: UInt64(0), count: roomCount)
        for member in members { lastOffsets[member.room] += UInt64(member.sentCount) }
        let deadline = ContinuousClock.now + Self.deliveryTimeout
        try await together(members) { [lastOffsets] in
            try await $0.listen(upTo: lastOffsets[$0.room], until: deadline)
        }
        for member in members { member.finish(lastOffset: lastOffsets[member.room]) }
    }

    private func count(_ members: [SoakMember], into report: inout Report) {
        let ledgers = members.map(\.ledger)
        report.sentCount = members.reduce(0) { $0 + $1.sentCount }
        report.clientCount = members.reduce(0) { $0 + $1.clientCount }
        report.reconnects = members.reduce(0) { $0 + $1.reconnects }
        report.receivedCount = ledgers.reduce(0) { $0 + $1.receivedCount }
        report.lostCount = ledgers.reduce(0) { $0 + $1.lostCount }
        report.duplicateCount = ledgers.reduce(0) { $0 + $1.duplicateCount }
    }

    /// Measures both processes until the task is cancelled, and returns the figures.
    private func watch(
        _ relay: RelayProcess, _ members: [SoakMember], since began: ContinuousClock.Instant
    ) async -> Report {
        var report = Report()
        var reportedMinute = 0
        while (try? await Task.sleep(for: MeasuredHeap.interval)) != nil {
            report.elapsed = .now - began
            let counts = report.elapsed > warmUp
            report.relay.add(ProcessFigures(of: relay.identifier), at: report.elapsed, counts: counts)
            MeasuredHeap.trim()
            report.clients.add(ProcessFigures(of: getpid()), at: report.elapsed, counts: counts)
            let minute = Int(report.elapsed / .seconds(60))
            guard minute > reportedMinute else { continue }
            reportedMinute = minute
            count(members, into: &report)
            onMinute(report)
        }
        return report
    }
}
