import BenchHarness

/// A participant of a load: the server, and the protocol of the load.
struct Contender {
    var name: String
    var kind: ServerProcess.Kind
    var load: String
    /// Whether the load creates its stream on the disk.
    var isOnDisk = false
    /// Whether the load's connections are WebSockets.
    var isWebSocket = false

    static let martlet = Contender(name: "martlet", kind: .martlet, load: "martlet")
    /// Packets, as a client sends them by default. The load supports them for idle links only.
    static let compact = Contender(name: "martlet", kind: .martlet, load: "martlet-compact")
    static let plain = Contender(name: "martlet 1.0", kind: .martlet, load: "martlet")
    static let spinning = Contender(name: "martlet, spin 20 ms", kind: .spinning, load: "martlet")
    static let bare = Contender(name: "C relay", kind: .bare, load: "bare")
    static let mosquitto = Contender(name: "mosquitto", kind: .mosquitto, load: "mqtt")
    static let nats = Contender(name: "NATS core", kind: .nats, load: "nats")
    static let jetstream = Contender(name: "JetStream memory", kind: .nats, load: "jetstream")
    static let pubsub = Contender(name: "Redis pub/sub", kind: .redis, load: "redis-pubsub")
    static let streams = Contender(name: "Redis streams", kind: .redis, load: "redis-streams")
    static let ejabberd = Contender(name: "ejabberd", kind: .ejabberd, load: "xmpp")
    static let prosody = Contender(name: "Prosody", kind: .prosody, load: "xmpp")

    static let stored = Contender(name: "martlet, stored", kind: .storedMartlet, load: "martlet")
    static let jetstreamFile = Contender(name: "JetStream file", kind: .nats, load: "jetstream", isOnDisk: true)
    static let jetstreamSynced = Contender(
        name: "JetStream file, synced", kind: .syncedNATS, load: "jetstream", isOnDisk: true)
    static let syncedStreams = Contender(name: "Redis streams, synced", kind: .storedRedis, load: "redis-streams")
    static let storedEjabberd = Contender(name: "ejabberd, SQLite", kind: .storedEjabberd, load: "xmpp")
    static let storedProsody = Contender(name: "Prosody, SQLite", kind: .storedProsody, load: "xmpp")

    /// The same with TLS; nil without a server with TLS.
    var secure: Contender? {
        switch kind {
        case .martlet: Contender(name: name, kind: .secureMartlet, load: load)
        case .mosquitto: Contender(name: name, kind: .secureMosquitto, load: load)
        case .nats: Contender(name: name, kind: .secureNATS, load: load)
        case .ejabberd: Contender(name: name, kind: .secureEjabberd, load: load)
        case .prosody: Contender(name: name, kind: .secureProsody, load: load)
        default: nil
        }
    }

    /// The words of the load that every subject of this contender has.
    var words: [String] {
        [load] + (kind.usesTLS ? ["--tls", "1"] : []) + (isOnDisk ? ["--disk", "1"] : [])
            + (isWebSocket ? ["--web", "1"] : [])
    }

    func subject(_ options: Options, _ load: [String]) -> Subject {
        Subject(name) {
            try LoadProcess.trial(kind, options, [options.baselines + "/load"] + words + load)
        }
    }
}

/// The relay over sockets, compared with a forwarding relay in C.
enum RelayBenches {
    static func cases(_ options: Options) -> [Case] {
        Loads.all.filter(\.isOwn).map { load in
            let contenders = [.martlet] + (load.isMartletOnly ? [] : [Contender.bare])
            return Case(
                "relay/\(load.name)", per: load.per, contenders.map { $0.subject(options, load.arguments) })
        }
    }
}

/// The loads of `RelayBenches` with other servers.
enum PeerBenches {
    static func cases(_ options: Options) -> [Case] {
        Loads.all.map { load in
            var contenders: [Contender] = [.martlet, .bare]
            if load.isMartletOnly {
                contenders = [.martlet, .bare]
            } else {
                contenders += [.mosquitto, .nats] + load.more
            }
            return Case(
                "peers/\(load.name)", per: load.per, contenders.map { $0.subject(options, load.arguments) })
        } + (options.includesTLS ? secureCases(options) : [])
    }

    private static func secureCases(_ options: Options) -> [Case] {
        Loads.all.filter(\.isSecure).map { load in
            let contenders = [Contender.martlet, .mosquitto, .nats].compactMap(\.secure)
            return Case(
                "peers, TLS/\(load.name)", per: load.per, contenders.map { $0.subject(options, load.arguments) })
        }
    }
}

/// The relay with TLS over sockets and over WebSockets: the processor time of a message, the memory of an idle link.
enum WebSocketBenches {
    private static let contenders = ["martlet", "martlet-compact"].map { load in
        [
            Contender(name: "TLS", kind: .secureMartlet, load: load),
            Contender(name: "TLS, WebSocket", kind: .secureMartlet, load: load, isWebSocket: true),
        ]
    }

    static func cases(_ options: Options) -> [Case] {
        Loads.all.filter(\.isOwn).map { load in
            Case(
                "websocket/\(load.name)", per: load.per, contenders[0].map { $0.subject(options, load.arguments) })
        } + [IdleBenches.item("websocket/10,000 idle links", contenders[1], options)]
    }
}

/// A load that is the same for every server.
struct Load {
    var name: String
    var per = "message"
    var arguments: [String]
    /// Whether the load also runs without other servers.
    var isOwn = false
    /// Whether the load also runs with TLS, if it was asked for.
    var isSecure = false
    /// Whether the load exceeds the capacity of the other servers.
    var isMartletOnly = false
    var more: [Contender] = []
}

enum Loads {
    static let all: [Load] = [
        Load(
            name: "1 to 1, 1,000 in flight", arguments: ["--window", "1000", "--seconds", "1.5"], isOwn: true,
            isSecure: true, more: [.jetstream, .streams, .pubsub]),
        Load(name: "1 to 1, 100 in flight", arguments: ["--window", "100", "--seconds", "1.5"], isOwn: true),
        Load(
            name: "1 to 1, 1 KiB", arguments: ["--window", "1000", "--size", "1024", "--seconds", "1.5"], isOwn: true),
        Load(name: "latency at 1,000/s", arguments: ["--rate", "1000", "--seconds", "2"], more: [.spinning]),
        Load(name: "latency at 25,000/s", arguments: ["--rate", "25000", "--seconds", "2"]),
        Load(name: "latency at 250,000/s", arguments: ["--rate", "250000", "--seconds", "2"], isMartletOnly: true),
        fanOut(100, window: 1), fanOut(1000, window: 1), fanOut(100, window: 32), fanOut(1000, window: 32),
        Load(
            name: "latency of 20,000 deliveries/s to 100", per: "delivery",
            arguments: ["--rate", "200", "--fanout", "100", "--seconds", "2"], more: [.spinning]),
    ]

    private static func fanOut(_ members: Int, window: Int) -> Load {
        Load(
            name: "to \(members), \(window) in flight", per: "delivery",
            arguments: ["--window", "\(window)", "--fanout", "\(members)", "--seconds", "1.5"],
            isOwn: members == 100 && window == 32)
    }
}

/// Idle clients.
enum IdleBenches {
    /// The interval of the pings, in seconds.
    private static let heartbeatSeconds = 30

    static func cases(_ options: Options) -> [Case] {
        [
            item("idle/10,000 links", [.compact, .plain, .bare, .mosquitto, .nats], options)
        ]
            + (options.includesTLS
                ? [
                    item(
                        "idle, TLS/10,000 links",
                        [Contender.compact, .plain, .mosquitto, .nats].compactMap(\.secure), options)
                ] : [])
    }

    static func item(
        _ name: String, _ contenders: [Contender], _ options: Options, links: Int = 10_000
    ) -> Case {
        Case(
            name, per: "link",
            contenders.map { contender in Subject(contender.name) { try trial(contender, links, options) } })
    }

    /// The resident memory of each link, and the share of a core for heartbeats.
    private static func trial(_ contender: Contender, _ links: Int, _ options: Options) throws -> Sample {
        let server = try ServerProcess(contender.kind, options)
        defer { server.stop() }
        let before = server.residentByteCount
        var resident = 0
        var begin: UInt64 = 0
        var end: UInt64 = 0
        let seconds = 5
        _ = try LoadProcess.run(
            [
                options.baselines + "/load"
            ] + contender.words + [
                "--port", "\(server.port)", "--idle", "\(links)", "--seconds", "\(seconds)", "--heartbeat",
                "\(heartbeatSeconds)",
            ]
        ) { line in
            if line == "ready" { begin = server.processorNanoseconds }
            if line == "end" {
                end = server.processorNanoseconds
                resident = server.residentByteCount
            }
        }
        return [
            "bytes": Double(resident - before) / Double(links),
            "core %": Double(end - begin) / Double(seconds) / 1e7,
        ]
    }
}
