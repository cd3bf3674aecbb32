import MartletToolSupport
import MartletTransport

/// `martlet-lab weaknet`: a TCP proxy that simulates a faulty network.
enum WeaknetCommand {
    private static let listen = ListenAddress.option(fallback: "127.0.0.1:0")
    private static let target = Option<Endpoint>(
        "to", "HOST:PORT", expectation: "a host and a port", help: "target of the connections (required)"
    ) { try? Endpoint(parsing: $0, defaultSecurity: .plain) }
    private static let delay = Option.duration(
        "delay", "MS", in: .milliseconds, help: "delay of each byte, in each direction")
    private static let jitter = Option.duration(
        "jitter", "MS", in: .milliseconds, help: "maximum deviation of the delay")
    private static let bandwidth = Option.byteCount(
        "bandwidth", "BYTES/S", help: "bandwidth of each direction of each connection")
    private static let stallEvery = Option.duration(
        "stall-every", "S", in: .seconds, isZeroAllowed: false, help: "interval between stalls")
    private static let stallFor = Option.duration(
        "stall-for", "S", in: .seconds, isZeroAllowed: false, help: "duration of a stall")
    private static let blackHoleAt = Option.duration(
        "black-hole-at", "S", in: .seconds, help: "time of the black hole after the start")
    private static let blackHoleFor = Option.duration(
        "black-hole-for", "S", in: .seconds, isZeroAllowed: false, help: "duration of the black hole")
    private static let cutEvery = Option.duration(
        "cut-every", "S", in: .seconds, isZeroAllowed: false, help: "interval between cuts of all connections")
    private static let cutAfter = Option.byteCount(
        "cut-after-bytes", "N", help: "cut a connection after N bytes in both directions together")
    private static let maxCuts = Option.count("max-cuts", in: 1...Int.max, help: "maximum number of cuts")
    private static let corrupt = Option.byteCount(
        "corrupt-one-in", "N", help: "flip one bit in every N bytes of each direction")
    private static let seed = Option.number("seed", "N", help: "seed of jitter and corruption [1]")
    static let capture = Option.text(
        "capture", "FILE", help: "write the transferred bytes to FILE in the format pcap")
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
            Bytes keep their order. Beyond the bandwidth bytes remain with their sender, except those in flight and a \
            queue of 64 KiB. During a black hole bytes are kept, as by TCP, and connections refused. The same seed and \
            the same traffic give the same faults. The proxy runs until it is interrupted, then prints its report.
            """,
            """
            A capture contains each byte at the time of its arrival. The IP and TCP headers are generated, so that no \
            privilege is required. The file has at most 1 GiB.
            """,
        ],
        exitCodes: [
            ExitMeaning(.success, "the proxy was interrupted or terminated by a signal, and printed its report"),
            ExitMeaning(.cannotCreate, "the proxy cannot listen on the address, or write the capture"),
            ExitMeaning(.inputOutput, "the capture is incomplete"),
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
            throw UsageError(message: "'--stall-every' and '--stall-for' require each other")
        }
        if let every = profile.stallEvery, profile.stallFor >= every {
            throw UsageError(message: "'--stall-for' must be shorter than '--stall-every'")
        }
        if (profile.blackHoleAt == nil) != (profile.blackHoleFor == .zero) {
            throw UsageError(message: "'--black-hole-at' and '--black-hole-for' require each other")
        }
        return profile
    }

    private static func run(_ arguments: ParsedArguments) async throws -> ExitCode {
        let profile = try profile(arguments)
        guard let target = arguments[target], let address = arguments[listen] else {
            throw UsageError(message: "'--to HOST:PORT' is required")
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
