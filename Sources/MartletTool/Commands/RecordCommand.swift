import Martlet
import MartletToolSupport

/// `martlet record`: points of telemetry from a shell.
enum RecordCommand {
    /// The maximum number of bytes of a line. A longer one is several lines.
    private static let maxLineByteCount = 4096

    private static let tags = pair("tag", "add this tag to the points").repeating
    private static let fields = pair("field", "a field of the point; without one, each line of the input is a point")
        .repeating

    static let spec = CommandSpec(
        name: "record",
        summary: "Record points for the database of serve --telemetry.",
        operand: "MEASUREMENT",
        options: ClientOptions.specsWithoutRoom + [
            ClientOptions.timeout.spec, tags.spec, fields.spec,
        ],
        notes: [
            """
            A line of the input has the fields of a point, KEY=VALUE, separated by spaces. A value is an integer, a \
            number with a point or an exponent, true, false, or a text. The command ends when the relay has stored all \
            points. Guides/telemetry.md describes points.
            """
        ],
        exitCodes: [
            ExitMeaning(.success, "the relay has stored all points"),
            ExitMeaning(.failure, "points were dropped; standard error states their number for each reason"),
        ] + ClientOptions.exitCodes
    ) { arguments in try await Interruptions.cancel { try await run(arguments) } }

    /// An option whose value is a key and a value.
    private static func pair(_ name: String, _ help: String) -> Option<(key: String, value: String)> {
        Option(name, "KEY=VALUE", expectation: "a key, an equals sign and a value", help: help) { Self.pair($0) }
    }

    static func pair(_ text: String) -> (key: String, value: String)? {
        guard let sign = text.utf8.firstIndex(of: UInt8(ascii: "=")), sign != text.startIndex else { return nil }
        return (String(text[..<sign]), String(text[text.utf8.index(after: sign)...]))
    }

    /// The value of a field in a text.
    static func value(_ text: String) -> TelemetryValue {
        if let integer = Int64(text) { return .integer(integer) }
        if text == "true" || text == "false" { return .bool(text == "true") }
        guard let first = text.utf8.first, first < UInt8(ascii: ":"), let number = Double(text) else {
            return .text(text)
        }
        return .double(number)
    }

    private static func run(_ arguments: ParsedArguments) async throws -> ExitCode {
        guard arguments.operands.count == 1 else { throw UsageError(message: "the operand is a measurement") }
        let monitor = TransferMonitor(.none)
        var telemetry = Telemetry.Configuration()
        telemetry.interval = .milliseconds(100)
        telemetry.maxPointCount = 1_000_000
        telemetry.maxByteCount = 256 << 20
        let client = try ClientOptions.client(arguments, agent: "record", monitor: monitor, telemetry: telemetry)
        do {
            try await withClient(client) { client in
                try await withThrowingTaskGroup(of: Void.self) { group in
                    group.addTask { try await monitor.watch(client, timeout: arguments[ClientOptions.timeout]) }
                    group.addTask {
                        try await record(arguments, client)
                        while await client.metrics["martlet_client_telemetry_pending"] != 0 {
                            try await Task.sleep(for: .milliseconds(20))
                        }
                    }
                    defer { group.cancelAll() }
                    try await group.next()
                }
            }
        } catch is CancellationError {
            return .interrupted
        } catch let error as MartletError {
            throw CommandError(error)
        }
        let dropped = await client.metrics.metrics.first { $0.name == "martlet_client_telemetry_dropped" }
        var reasons: [String] = []
        for sample in dropped?.samples ?? [] {
            guard case .number(let count) = sample.value, count > 0 else { continue }
            reasons.append("\(UInt64(count)) \(sample.labels[0].value)")
        }
        guard reasons.isEmpty else {
            throw CommandError(.failure, "points were dropped: \(reasons.joined(separator: ", "))")
        }
        return .success
    }

    private static func record(_ arguments: ParsedArguments, _ client: Client) async throws {
        let measurement = arguments.operands[0]
        let tags = arguments.all(tags).map { TelemetryPoint.Tag($0.key, $0.value) }
        let given = arguments.all(fields)
        guard given.isEmpty else { return record(given, measurement, tags, client) }
        let input = StandardInput()
        var splitter = LineSplitter(maxPieceByteCount: maxLineByteCount)
        while true {
            let bytes = try await input.next()
            for line in bytes.isEmpty ? splitter.finish().map({ [$0] }) ?? [] : splitter.split(bytes) {
                let words = line.split { $0 <= UInt8(ascii: " ") }.map { String(decoding: $0, as: UTF8.self) }
                let pairs = words.compactMap { pair($0) }
                guard pairs.count == words.count else {
                    throw CommandError(.failure, "a line of the input has other words than KEY=VALUE")
                }
                if !pairs.isEmpty { record(pairs, measurement, tags, client) }
            }
            if bytes.isEmpty { return }
        }
    }

    private static func record(
        _ pairs: [(key: String, value: String)], _ measurement: String, _ tags: [TelemetryPoint.Tag], _ client: Client
    ) {
        let fields = pairs.map { TelemetryPoint.Field($0.key, value($0.value)) }
        client.telemetry.record(measurement, tags: tags, fields: fields)
    }
}
