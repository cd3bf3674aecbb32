import Foundation
import MartletWire

/// Who may come in: a file with an account and its token on each line; `#` begins a comment.
enum TokensFile {
    /// The credentials in a text. Throws a sentence about the first line that is none.
    static func parse(_ text: String) throws(CommandError) -> [AccountName: Credential] {
        var credentials: [AccountName: Credential] = [:]
        for (index, line) in text.split(separator: "\n", omittingEmptySubsequences: false).enumerated() {
            let words = line.prefix { $0 != "#" }.split(whereSeparator: \.isWhitespace)
            if words.isEmpty { continue }
            guard words.count == 2, let account = AccountName(String(words[0])),
                let credential = Credential(String(words[1]))
            else { throw CommandError(.noInput, "line \(index + 1) of the tokens is no account and token") }
            guard credentials.updateValue(credential, forKey: account) == nil else {
                throw CommandError(.noInput, "line \(index + 1) of the tokens names \(account) again")
            }
        }
        return credentials
    }

    /// The credentials in a file.
    static func read(_ path: String) throws(CommandError) -> [AccountName: Credential] {
        guard let text = try? String(contentsOfFile: path, encoding: .utf8) else {
            throw CommandError(.noInput, "cannot read the tokens in \(path)")
        }
        return try parse(text)
    }
}
