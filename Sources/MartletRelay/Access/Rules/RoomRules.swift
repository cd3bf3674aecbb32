import MartletLink
import MartletWire

/// A room policy from a text of rules.
///
/// Each line is one rule. The first rule that matches the room and the account decides. If no rule matches, the account
/// is refused.
///
/// ```
/// # permissions                 rooms               accounts
/// allow all                     in staff/*          to role staff
/// allow all                     in inbox/{account}  to everyone
/// allow history,request         in news             to everyone
/// allow publish,history         in team-*           to claim tenant=acme
/// deny                          in *                to account guest
/// allow all                     in "my room"        to account "ada lovelace"
/// ```
///
/// A word with blanks is in double quotes, wherever they begin in the word; inside them `\"` and `\\` stand for a quote
/// and a backslash. `*` and `{account}` have their meaning in quotes too.
///
/// The permissions are `publish`, `history`, `request`, `create` and `administer`; `all` is every one but `administer`,
/// and `none` is for entering only. In a pattern of rooms `*` matches any text, and `{account}` the account's name.
///
/// A rule that allows `administer` in the room `martlet.administration` permits the administration of the relay
/// (`RoomName.administration`). A rule with `*` or `{account}` allows nothing there.
public struct RoomRules: ImmediateRoomPolicy {
    /// The maximum number of bytes of a text of rules.
    public static let maxByteCount = 1024 * 1024
    /// The maximum number of rules.
    public static let maxRuleCount = 4096

    private let rules: [RoomRule]

    /// Whether there is no rule, so that every account is refused.
    public var isEmpty: Bool { rules.isEmpty }

    /// Parses rules.
    ///
    /// - Parameter text: UTF-8, one rule in each line; empty lines and lines that begin with `#` are ignored.
    /// - Throws: `RoomRulesError` for the first invalid line.
    public init(parsing text: [UInt8]) throws(RoomRulesError) {
        guard text.count <= Self.maxByteCount else { throw RoomRulesError(line: 1, fault: .tooLarge) }
        var rules: [RoomRule] = []
        for (index, line) in text.split(separator: UInt8(ascii: "\n"), omittingEmptySubsequences: false).enumerated() {
            guard let line = String(validating: line, as: UTF8.self) else {
                throw RoomRulesError(line: index + 1, fault: .invalidUTF8)
            }
            do throws(RoomRulesError.Fault) {
                let words = try RuleWords.words(of: line)
                if !words.isEmpty { rules.append(try RoomRule(words)) }
            } catch {
                throw RoomRulesError(line: index + 1, fault: error)
            }
            guard rules.count <= Self.maxRuleCount else { throw RoomRulesError(line: index + 1, fault: .tooManyRules) }
        }
        self.rules = rules
    }

    /// The decision of the first rule that matches; a refusal if none does.
    public func immediateDecision(on request: RoomAuthorizationRequest) -> RoomDecision {
        rules.first { $0.matches(request) }?.decision ?? .refused
    }
}

/// The first invalid line of a text of rules.
public struct RoomRulesError: Error, Equatable, Sendable, CustomStringConvertible {
    /// The fault of a line.
    public enum Fault: Error, Equatable, Sendable {
        /// The text has more than `RoomRules.maxByteCount` bytes.
        case tooLarge
        /// There are more than `RoomRules.maxRuleCount` rules.
        case tooManyRules
        /// The line is not UTF-8.
        case invalidUTF8
        /// The line begins with neither `allow` nor `deny`.
        case unknownVerb(String)
        /// The permission has another name than `publish`, `history`, `request`, `create`, `administer`, `all` or
        /// `none`.
        case unknownPermission(String)
        /// A quoted word has no end, or a backslash in it is followed by neither a quote nor a backslash.
        case invalidQuotes
        /// The pattern of rooms is missing or too long, has too many wildcards, or is followed by another word than
        /// `to`.
        case invalidPattern
        /// The accounts are neither `everyone`, nor `role NAME`, `account NAME` or `claim NAME=VALUE`.
        case invalidAccounts
    }

    /// The number of the line, from 1.
    public let line: Int
    /// The fault of the line.
    public let fault: Fault

    /// The line and its fault.
    public var description: String { "line \(line): \(fault)" }
}

extension RoomRulesError.Fault: CustomStringConvertible {
    /// A description in one line.
    public var description: String {
        switch self {
        case .tooLarge: "the rules have more than \(RoomRules.maxByteCount) bytes"
        case .tooManyRules: "there are more than \(RoomRules.maxRuleCount) rules"
        case .invalidUTF8: "the line is not UTF-8"
        case .unknownVerb(let word): "a rule begins with \"allow\" or \"deny\", not with \"\(word)\""
        case .unknownPermission(let word):
            "\"\(word)\" is not a permission: publish, history, request, create and administer, or all or none alone"
        case .invalidQuotes: "a quoted word ends with a quote, and has \\\" and \\\\ for a quote and a backslash in it"
        case .invalidPattern:
            "between \"in\" and \"to\" is one pattern of rooms, in double quotes if it has blanks; it is not valid"
        case .invalidAccounts:
            "the accounts are \"to everyone\", \"to role NAME\", \"to account NAME\" or \"to claim NAME=VALUE\", with "
                + "double quotes around blanks"
        }
    }
}
