import MartletToolSupport
import MartletTransport

/// `martlet-lab weaknet`: a TCP proxy that simulates a faulty network.
enum WeaknetCommand {
    private static let listen = ListenAddress.option(fallback: "127.0.0.1:0")
    private static let target = Option<Endpoint>(
        "to", "HOST:PORT", expectation: "a host and a port", help: "where connections go (needed)"
    ) { try? Endpoint(parsing: $0, defaultSecurity: .plain) }
    private static let delay = Option.duration(
        "delay", "MS", in: .milliseconds, help: "how long every byte takes, each way")
    private static let jitter = Option.duration(
        "jitter", "MS", in: .milliseconds, help: "by how much the delay varies, up and down")
    private static let bandwidth = Option.byteCount(
        "bandwidth", "BYTES/S", help: "what fits through in a second, each way and per connection")
    private static let stallEvery = Option.duration(
        "stall-every", "S", in: .seconds, isZeroAllowed: false, help: "how often nothing passes for a while")
    private static let stallFor = Option.duration(
        "stall-for", "S", in: .seconds, isZeroAllowed: false, help: "how long a stall takes")
    private static let blackHoleAt = Option.duration(
        "black-hole-at", "S", in: .seconds, help: "when everything is dropped for a while, once")
    private static let blackHoleFor = Option.duration(
        "black-hole-for", "S", in: .seconds, isZeroAllowed: false, help: "how long the black hole stays")
    private static let cutEvery = Option.duration(
        "cut-every", "S", in: .seconds, isZeroAllowed: false, help: "how often all connections are cut")
    private static let cutAfter = Option.byteCount(
        "cut-after-bytes", "N", help: "after how many bytes, both ways together, a connection is cut")
    private static let maxCuts = Option.count("max-cuts", in: 1...Int.max, help: "cut no more after so many cuts")
    private static let corrupt = Option.byteCount(
        "corrupt-one-in", "N", help: "flip one bit of one byte in every N bytes, each way")
    private static let seed = Option.number("seed", "N", help: "what decides jitter and corruption [1]")
    static let capture = Option.text(
        "capture", "FILE", help: "write what arrives to FILE, in the format pcap, for 'martlet decode' and Wireshark")
    private static let json = Option.flag("json", help: "print the report as a JSON object")

    static let spec = CommandSpec(
        name: "weaknet",
        summary: "Run a TCP proxy that simulates a faulty network between real processes.",
        options: [
            listen.spec, target.spec, delay.spec, jitter.spec, bandwidth.spec, stallEvery.spec, stallFor.spec,
            blackHoleAt.spec, blackHoleFor.spec, cutEvery.spec, cutAfter.spec, maxCuts.spec, corrupt.spec, seed.spec,
            capture.spec, json.spec,
        ],
        notes: [
            """
            Bytes keep their order. What comes faster than the link carries is left with its sender, except for what \
            is on its way and a queue of 64 KiB. A black hole holds the bytes that it gets, as TCP would, and refuses \
            connections meanwhile. The same seed and the same traffic give the same faults. The proxy runs until it \
            is interrupted, then prints its report.
            """,
            """
            A capture shows the connections as the link's far ends see them, every byte when it arrives. The headers \
            of IP and TCP are made up around them, so that no privilege is needed; the file grows to 1 GiB at most.
            """,
        ],
        exitCodes: [
            ExitMeaning(.success, "it was interrupted or asked to terminate, and printed its report"),
            ExitMeaning(.cannotCreate, "the address cannot be listened on, or the capture not be written"),
            ExitMeaning(.inputOutput, "the capture is not whole"),
        ]
    ) { try await run($0) }

    static func profile(_ arguments: ParsedArguments) throws(UsageError) -> WeakLinkProfile {
        var profile = WeakLinkProfile()
        profile.delay = arguments[delay] ?? .zero
        profile.jitter = arguments[jitter] ?? .zero
        profile.bytesPerSecond = arguments[bandwidth]
        profile.stallEvery = arguments[stallEvery]
        profile.stallFor = arguments[stallFor] ?? .zero
        profile.blackHoleAt = arguments[blackHoleAt]
        profile.blackHoleFor = arguments[blackHoleFor] ?? .zero
        profile.cutEvery = arguments[cutEvery]
        profile.cutAfterByteCount = arguments[cutAfter]
        profile.maxCutCount = arguments[maxCuts]
        profile.corruptOneIn = arguments[corrupt]
        if (profile.stallEvery == nil) != (profile.stallFor == .zero) {
            throw UsageError(message: "'--stall-every' and '--stall-for' need each other")
        }
        if let every = profile.stallEvery, profile.stallFor >= every {
            throw UsageError(message: "'--stall-for' must be shorter than '--stall-every'")
        }
        if (profile.blackHoleAt == nil) != (profile.blackHoleFor == .zero) {
            throw UsageError(message: "'--black-hole-at' and '--black-hole-for' need each other")
        }
        return profile
    }

    private static func run(_ arguments: ParsedArguments) async throws -> ExitCode {
        let profile = try profile(arguments)
        guard let target = arguments[target], let address = arguments[listen] else {
            throw UsageError(message: "'--to HOST:PORT' is needed")
        }
        let file = try arguments[capture].map { path throws(CommandError) in try CaptureFile(path: path) }
        let proxy: WeakProxy
        do {
            proxy = try WeakProxy(
                listenOn: address, to: target, profile: profile, seed: arguments[seed] ?? 1, capture: file)
        } catch {
            throw CommandError(.cannotCreate, "cannot listen on \(address): \(error)")
        }
        if address.port == 0 { try Output.print("\(proxy.port)") }
        _ = await Interruptions.wait()
        let report = await proxy.stop()
        if arguments.has(json) { try Output.print(report.json.text) } else { Output.report("weaknet: \(report.text)") }
        try file?.finish()
        return .success
    }
}
