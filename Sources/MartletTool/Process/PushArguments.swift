import MartletRelay
import MartletToolSupport
import MartletWebhook

/// The options of `serve` about reports of undelivered messages to a push gateway.
enum PushArguments {
    private static let url = Option.text(
        "push-webhook", "URL", help: "post reports of messages that were not delivered to absent accounts to URL")
    private static let secretFile = Option.text(
        "push-secret", "FILE", help: "sign the reports with the secret in the first line of FILE, at least 16 bytes"
    ).changing(.valueAtReload)
    private static let delay = Option.duration(
        "push-delay", "S", in: .seconds, isZeroAllowed: false,
        help: "duration after which a message that was not delivered is reported [10s]")
    private static let content = Option.flag(
        "push-content", help: "include the text of the newest message in the reports")

    static let specs = [url.spec, secretFile.spec, delay.spec, content.spec]

    static let notes = [
        """
        --push-webhook reports the messages of a room to each account that has joined the room and whose devices have \
        not received them after --push-delay, within two such durations. URL begins with https, or with http if its \
        host is localhost or a loopback address. Guides/push.md documents the reports, and how a gateway verifies them \
        and passes them to APNs and FCM.
        """
    ]

    /// The webhook; nil without the option.
    static func webhook(_ arguments: ParsedArguments) throws -> Webhook? {
        guard let address = arguments[url] else {
            let given = [
                (secretFile.spec, arguments[secretFile] != nil), (delay.spec, arguments[delay] != nil),
                (content.spec, arguments.has(content)),
            ].first { $0.1 }
            if let given { throw UsageError(message: "'--\(given.0.name)' requires '--push-webhook'") }
            return nil
        }
        let key = try secret(arguments)
        do throws(WebhookError) {
            var configuration = try Webhook.Configuration(url: address, secret: key)
            configuration.includesContent = arguments.has(content)
            return Webhook(configuration)
        } catch {
            throw UsageError(message: "'--push-webhook': \(error)")
        }
    }

    /// Sets the delay of the relay.
    static func apply(_ arguments: ParsedArguments, to configuration: inout Relay.Configuration) {
        if let delay = arguments[delay] { configuration.engine.undeliveredDelay = delay }
    }

    /// The secret of the reports; nil without the option.
    static func secret(_ arguments: ParsedArguments) throws(CommandError) -> [UInt8]? {
        try secret(in: arguments[secretFile])
    }

    /// The secret in the first line of a file without its end; nil without a file.
    static func secret(in path: String?) throws(CommandError) -> [UInt8]? {
        guard let path else { return nil }
        let line = try InputFile.read(path, "the secret").prefix { $0 != UInt8(ascii: "\n") }
        let secret = Array(line.last == UInt8(ascii: "\r") ? line.dropLast() : line)
        guard secret.count >= Webhook.Configuration.minSecretByteCount else {
            throw CommandError(.noInput, "\(path): \(WebhookError.shortSecret)")
        }
        return secret
    }
}
