import Foundation
import MartletToolSupport
import MartletWire

/// Who may come in: a file with an account and its token on each line.
///
///     file    = [byte order mark] line *(end line)    ; UTF-8
///     end     = LF / CR LF
///     line    = [blanks] [comment / account blanks token [blanks [comment]]]
///     comment = "#" followed by anything
///     account, token = anything but blanks and control characters; a token does not begin with "#"
///     blanks  = spaces and tabs
///
/// A `#` inside of a token is part of it. What is neither of these is an error that names the file and the line.
enum TokensFile {
    /// What the help says of it.
    static let overview = """
        The tokens file is UTF-8, with an account, blanks and its token on each line. A line that begins with # is a \
        comment, and so is what begins with # behind the token; a # inside of a token is part of it. Blanks are spaces \
        and tabs; lines end with LF or CR LF.
        """

    /// The credentials in the bytes of the file called `name`. Throws a sentence about the first line that is wrong.
    static func parse(_ bytes: [UInt8], named name: String) throws(CommandError) -> [AccountName: Credential] {
        var credentials: [AccountName: Credential] = [:]
        let mark = Array("\u{FEFF}".utf8)
        let lines = bytes.dropFirst(bytes.starts(with: mark) ? mark.count : 0)
            .split(separator: UInt8(ascii: "\n"), omittingEmptySubsequences: false)
        for (index, line) in lines.enumerated() {
            func wrong(_ text: String) -> CommandError { CommandError(.noInput, "\(name):\(index + 1): \(text)") }
            // A carriage return at the very end of the file ends no line.
            let isEnded = index < lines.count - 1
            let line = isEnded && line.last == UInt8(ascii: "\r") ? line.dropLast() : line
            guard let text = String(validating: line, as: UTF8.self) else { throw wrong("this is not UTF-8") }
            let words = text.utf8.split { $0 == UInt8(ascii: " ") || $0 == UInt8(ascii: "\t") }.map { Substring($0) }
            guard let first = words.first, !first.hasPrefix("#") else { continue }
            guard !words.prefix(2).contains(where: { $0.unicodeScalars.contains(where: isControl) }) else {
                throw wrong("a control character")
            }
            guard words.count > 1 else { throw wrong("an account without a token") }
            guard !words[1].hasPrefix("#") else { throw wrong("a token cannot begin with #") }
            guard words.count == 2 || words[2].hasPrefix("#") else { throw wrong("something behind the token") }
            guard let account = AccountName(String(first)) else { throw wrong("this is no name of an account") }
            guard let credential = Credential(String(words[1])) else { throw wrong("the token is too long") }
            guard credentials.updateValue(credential, forKey: account) == nil else {
                throw wrong("\(account) is here again")
            }
        }
        if credentials.isEmpty { throw CommandError(.noInput, "\(name): there is no account in it") }
        return credentials
    }

    /// The credentials in a file.
    static func read(_ path: String) throws(CommandError) -> [AccountName: Credential] {
        let bytes: Data
        do { bytes = try Data(contentsOf: URL(fileURLWithPath: path)) } catch {
            throw CommandError(.noInput, "cannot read the tokens in \(path): \(error.localizedDescription)")
        }
        return try parse(Array(bytes), named: path)
    }

    private static func isControl(_ scalar: Unicode.Scalar) -> Bool {
        scalar.properties.generalCategory == .control
    }
}
