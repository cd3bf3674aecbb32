import MartletRelay
import MartletTelemetry
import MartletToolSupport
import MartletWebhook

/// The options of `serve` about points that clients record.
enum TelemetryArguments {
    private static let url = Option.text(
        "telemetry", "URL", help: "write points that clients record to the InfluxDB at URL")
    private static let tokenFile = Option.text(
        "telemetry-token", "FILE", help: "authenticate to InfluxDB with the first line of FILE")
    private static let spool = Option.text(
        "telemetry-spool", "DIR", help: "keep points that InfluxDB has not taken in the directory DIR, which is created"
    )
    private static let spoolByteCount = Option.byteCount(
        "telemetry-spool-size", atLeast: 1 << 20, help: "maximum bytes of these points [64M]")

    static let specs = [url.spec, tokenFile.spec, spool.spec, spoolByteCount.spec]

    static let notes = [
        """
        URL of --telemetry is http://127.0.0.1:8086/write?db=NAME of InfluxDB 1, or \
        https://HOST/api/v2/write?org=NAME&bucket=NAME of InfluxDB 2; http is for loopback addresses only. \
        --telemetry-token has a token of InfluxDB 2, or USER:PASSWORD of InfluxDB 1. --telemetry requires \
        --telemetry-spool: points stay there while InfluxDB is away and over a restart, and beyond \
        --telemetry-spool-size clients keep them. Guides/telemetry.md describes the points.
        """
    ]

    /// Checks the options and the file that they name.
    static func check(_ arguments: ParsedArguments) throws {
        guard let folder = try configuration(arguments)?.spoolFolder else { return }
        try OutputFolder.check(folder, "the points", isCreated: true)
    }

    /// The exporter; nil without the option.
    static func exporter(
        _ arguments: ParsedArguments, onEvent: @escaping @Sendable (InfluxExporter.Event) -> Void
    ) throws -> InfluxExporter? {
        guard let configuration = try configuration(arguments) else { return nil }
        do { return try InfluxExporter(configuration, onEvent: onEvent) } catch {
            throw CommandError(.cannotCreate, "\(configuration.spoolFolder): \(error)")
        }
    }

    private static func configuration(_ arguments: ParsedArguments) throws -> InfluxExporter.Configuration? {
        guard let address = arguments[url] else {
            for option in [tokenFile.spec, spool.spec, spoolByteCount.spec] where arguments.values[option.name] != nil {
                throw UsageError(message: "'--\(option.name)' requires '--telemetry'")
            }
            return nil
        }
        guard let folder = arguments[spool] else {
            throw UsageError(message: "'--telemetry' requires '--telemetry-spool'")
        }
        var configuration: InfluxExporter.Configuration
        do throws(WebhookError) {
            configuration = try InfluxExporter.Configuration(url: address, spoolFolder: folder)
        } catch .invalidURL(let text) {
            throw UsageError(message: "'--telemetry': \"\(text)\" is not an address such as https://HOST/write?db=NAME")
        } catch {
            throw UsageError(message: "'--telemetry': \(error)")
        }
        configuration.token = try token(arguments)
        configuration.maxSpoolByteCount = arguments[spoolByteCount] ?? configuration.maxSpoolByteCount
        return configuration
    }

    /// The first line of the file, without its end.
    private static func token(_ arguments: ParsedArguments) throws(CommandError) -> String? {
        guard let path = arguments[tokenFile] else { return nil }
        let line = try InputFile.read(path, "the token").prefix { $0 != UInt8(ascii: "\n") && $0 != UInt8(ascii: "\r") }
        guard !line.isEmpty, line.allSatisfy({ (0x21...0x7E).contains($0) }) else {
            throw CommandError(.noInput, "\(path): the first line is not a token")
        }
        return String(decoding: line, as: UTF8.self)
    }
}
