import MartletAdmin
import MartletToolSupport

/// The option of `serve` about alerts.
enum AlertArguments {
    private static let file = Option.text(
        "alerts", "FILE", help: "raise alerts by the rules in FILE about the metrics of the relay"
    ).changing(.atReload)

    static let specs = [file.spec]

    static let notes = [
        """
        The log states when an alert of --alerts is raised and when it ends, and the status page of --admin shows the \
        raised ones. The signal HUP reads the rules again. Guides/metrics.md describes the rules.
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
}
