import MartletAdmin
import MartletToolSupport
import MartletWebhook

/// The options of `serve` about alerts.
enum AlertArguments {
    private static let file = Option.text(
        "alerts", "FILE", help: "raise alerts by the rules in FILE about the metrics of the relay"
    ).changing(.atReload)
    private static let program = Option.text(
        "alert-command", "PROGRAM", help: "start PROGRAM when an alert is raised or ends")
    private static let url = Option.text("alert-webhook", "URL", help: "post each raised or ended alert to URL")
    private static let secretFile = Option.text(
        "alert-secret", "FILE", help: "sign what --alert-webhook posts with the secret in the first line of FILE")

    static let specs = [file.spec, program.spec, url.spec, secretFile.spec]

    static let notes = [
        """
        The log states when an alert of --alerts is raised and when it ends, and the status page of --admin shows the \
        raised ones. --alert-command starts a program with MARTLET_ALERT, MARTLET_ALERT_STATE and MARTLET_ALERT_VALUE \
        in its environment, and --alert-webhook posts the line of the log in JSON. The signal HUP reads the rules \
        again. Guides/metrics.md describes the rules and the actions.
        """
    ]

    /// The rules; none without the option.
    static func rules(_ arguments: ParsedArguments) throws(CommandError) -> [AlertRule] {
        guard let path = arguments[file] else { return [] }
        let text = try InputFile.read(path, "the rules of alerts")
        do throws(AlertRulesError) { return try AlertRule.parse(text) } catch {
            throw CommandError(.noInput, "\(path): \(error)")
        }
    }

    /// The actions of the options.
    static func actions(_ arguments: ParsedArguments) throws -> [AlertActions.Action] {
        for option in [program.spec, url.spec] where arguments.values[option.name] != nil && arguments[file] == nil {
            throw UsageError(message: "'--\(option.name)' requires '--alerts'")
        }
        if arguments[secretFile] != nil, arguments[url] == nil {
            throw UsageError(message: "'--alert-secret' requires '--alert-webhook'")
        }
        var actions: [AlertActions.Action] = []
        if let path = arguments[program] {
            try AlertProgram.check(path)
            let program = AlertProgram(path)
            actions.append { try await program.run($0) }
        }
        if let address = arguments[url] {
            let secret = try PushArguments.secret(in: arguments[secretFile])
            do throws(WebhookError) {
                let webhook = Webhook(try Webhook.Configuration(url: address, secret: secret))
                actions.append { change in
                    try await webhook.post(Array(RelayLog.json(RelayLog.Entry(event: .alert(change))).utf8))
                }
            } catch {
                throw UsageError(message: "'--alert-webhook': \(error)")
            }
        }
        return actions
    }
}
