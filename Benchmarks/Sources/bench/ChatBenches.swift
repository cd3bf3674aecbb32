import BenchHarness
import CBaselines

/// The relay compared with servers for chat, which keep the messages of a room for its members.
enum ChatBenches {
    private static let contenders: [Contender] = [.martlet, .ejabberd, .prosody]
    /// With messages that are synced to the disk before they are delivered.
    private static let synced: [Contender] = [.stored, .storedEjabberd, .storedProsody]
    /// Links of the idle case, each in a room of its own.
    private static let links = 2000

    static func cases(_ options: Options) -> [Case] {
        [
            item("chat/to 1, 1 in flight", contenders, window: 1, members: 1, options),
            item("chat/to 1, 1,000 in flight", contenders, window: 1000, members: 1, options),
            item("chat/to 100, 32 in flight", contenders, window: 32, members: 100, options),
            item("chat/to 1000, 1 in flight", contenders, window: 1, members: 1000, options),
            item("chat, synced/to 1, 1 in flight", synced, window: 1, members: 1, options),
            item("chat, synced/to 1, 1,000 in flight", synced, window: 1000, members: 1, options),
            item("chat, synced/to 100, 32 in flight", synced, window: 32, members: 100, options),
            Case(
                "chat, synced/restart", per: "restart",
                synced.map { contender in Subject(contender.name) { try restart(contender, options) } }),
            IdleBenches.item("chat/2,000 idle links", [.compact, .ejabberd, .prosody], options, links: links),
        ] + (options.includesTLS ? secureCases(options) : [])
    }

    private static func secureCases(_ options: Options) -> [Case] {
        [
            item(
                "chat, TLS/to 1, 1,000 in flight", contenders.compactMap(\.secure), window: 1000, members: 1, options),
            IdleBenches.item(
                "chat, TLS/2,000 idle links", [Contender.compact, .ejabberd, .prosody].compactMap(\.secure), options,
                links: links),
        ]
    }

    private static func item(
        _ name: String, _ contenders: [Contender], window: Int, members: Int, _ options: Options
    ) -> Case {
        // Prosody delivers the messages of a window together.
        let seconds = members == 1 ? 3 : 10
        let load = ["--window", "\(window)", "--fanout", "\(members)", "--seconds", "\(seconds)"]
        return Case(name, per: members == 1 ? "message" : "delivery", contenders.map { $0.subject(options, load) })
    }

    /// The time from SIGKILL of a server with 1,000 messages until a message has passed between two clients that
    /// connect to it as soon as it accepts connections again.
    private static func restart(_ contender: Contender, _ options: Options) throws -> Sample {
        let server = try ServerProcess(contender.kind, options)
        defer { server.stop() }
        let load = [options.baselines + "/load"] + contender.words + ["--port", "\(server.port)", "--seconds", "120"]
        _ = try LoadProcess.run(load + ["--messages", "1000", "--window", "100"]) { _ in }
        let begin = measure_now()
        var end = begin
        try server.restart(options)
        _ = try LoadProcess.run(load + ["--messages", "1", "--window", "1", "--warm-up", "0"]) { line in
            if line == "end" { end = measure_now() }
        }
        return ["milliseconds": Double(end - begin) / 1e6]
    }
}
