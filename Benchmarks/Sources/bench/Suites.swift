import BenchHarness

/// All cases by suite.
enum Suites {
    private static let own = [
        "frames", "message", "deflate", "timers", "engine", "growth", "client", "outbox", "relay", "bytes",
    ]

    static func cases(_ options: Options) throws -> [Case] {
        let suites = options.suites.isEmpty ? own : options.suites
        let all = try suites.flatMap { try Self.cases(of: $0, options) }
        guard let filter = options.filter else { return all }
        return all.filter { $0.name.contains(filter) }
    }

    private static func cases(of suite: String, _ options: Options) throws -> [Case] {
        switch suite {
        case "frames": FrameBenches.cases()
        case "message": MessageBenches.cases(Protobuf(path: options.baselines + "/libchat.so"))
        case "deflate": DeflateBenches.cases(Fortunes.latin(2000))
        case "timers": TimerBenches.cases()
        case "engine": EngineBenches.cases()
        case "growth": GrowthBenches.cases()
        case "client": ClientBenches.cases(options)
        case "outbox": OutboxBenches.cases() + [ManyOutboxBenches.item(options)]
        case "relay": RelayBenches.cases(options)
        case "bytes": BytesBenches.cases(options)
        case "peers": PeerBenches.cases(options)
        case "chat": ChatBenches.cases(options)
        case "durable": DurableBenches.cases(options)
        case "idle": IdleBenches.cases(options)
        case "store": StoreBenches.cases(options)
        case "timeline": TimelineBenches.cases()
        case "observation": ObservationBenches.cases()
        case "websocket": WebSocketBenches.cases(options)
        case "handshakes": HandshakeBenches.cases(options)
        default: throw Options.Failure(description: "there is no suite \(suite)\n\(Options.help)")
        }
    }
}
