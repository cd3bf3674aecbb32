import MartletToolSupport
import MartletWire

/// The accounts of a relay: a file with an account and its token on each line.
///
///     file    = [byte order mark] line *(end line)    ; UTF-8
///     end     = LF / CR LF
///     line    = [blanks] [comment / account blanks token [blanks [comment]]]
///     comment = "#" followed by any text
///     account, token = text without blanks and control characters; a token does not begin with "#"
///     blanks  = spaces and tabs
///
/// A `#` within a token belongs to the token. Any other line is an error, which names the file and the line.
enum TokensFile {
    /// The description of the format in the help.
    static let overview = """
        The tokens file is UTF-8. Each line contains an account, blanks and its token. A comment begins with #, on a \
        line of its own or after the token; a # within a token belongs to the token. Blanks are spaces and tabs; lines \
        end with LF or CR LF.
        """

    /// Returns the tokens in the bytes of the file `name`. Throws an error about the first invalid line.
    static func parse(_ bytes: [UInt8], named name: String) throws(CommandError) -> [AccountName: Credential] {
        var credentials: [AccountName: Credential] = [:]
        let mark = Array("\u{FEFF}".utf8)
        let lines = bytes.dropFirst(bytes.starts(with: mark) ? mark.count : 0)
            .split(separator: UInt8(ascii: "\n"), omittingEmptySubsequences: false)
        for (index, line) in lines.enumerated() {
            func error(_ text: String) -> CommandError { CommandError(.noInput, "\(name):\(index + 1): \(text)") }
            // A carriage return at the end of the file does not end a line.
            let isEnded = index < lines.count - 1
            let line = isEnded && line.last == UInt8(ascii: "\r") ? line.dropLast() : line
            guard let text = String(validating: line, as: UTF8.self) else { throw error("invalid UTF-8") }
            let words = text.utf8.split { $0 == UInt8(ascii: " ") || $0 == UInt8(ascii: "\t") }.map { Substring($0) }
            guard let first = words.first, !isComment(first) else { continue }
            guard !words.prefix(2).contains(where: { $0.unicodeScalars.contains(where: isControl) }) else {
                throw error("a control character")
            }
            guard words.count > 1 else { throw error("an account without a token") }
            guard !isComment(words[1]) else { throw error("a token cannot begin with #") }
            guard words.count == 2 || isComment(words[2]) else { throw error("text after the token") }
            guard let account = AccountName(String(first)) else { throw error("an invalid account name") }
            guard let credential = Credential(String(words[1])) else { throw error("the token is too long") }
            guard credentials.updateValue(credential, forKey: account) == nil else {
                throw error("the account \(account) is repeated")
            }
        }
        if credentials.isEmpty { throw CommandError(.noInput, "\(name): the file contains no account") }
        return credentials
    }

    /// Returns the tokens in a file.
    static func read(_ path: String) throws(CommandError) -> [AccountName: Credential] {
        try parse(InputFile.read(path, "the tokens"), named: path)
    }

    /// Whether a comment begins with this word, also if a combining mark follows the `#`.
    private static func isComment(_ word: Substring) -> Bool { word.utf8.first == UInt8(ascii: "#") }

    private static func isControl(_ scalar: Unicode.Scalar) -> Bool {
        scalar.properties.generalCategory == .control
    }
}
