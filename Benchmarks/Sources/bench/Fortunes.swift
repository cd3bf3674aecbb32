import Foundation

/// Texts written by people, from Debian's `fortunes` and `fortunes-zh`.
enum Fortunes {
    private static let folder = "/usr/share/games/fortunes"
    /// The maximum length of a text, in characters.
    private static let longest = 200

    /// Short Latin texts, the same on every machine with the package.
    static func latin(_ count: Int) -> [String] { texts(count) { !isChinese($0) } }

    /// Short Chinese texts.
    static func chinese(_ count: Int) -> [String] { texts(count, where: isChinese) }

    private static func isChinese(_ file: String) -> Bool {
        ["chinese", "tang300", "song100"].contains(file)
    }

    private static func texts(_ count: Int, where isWanted: (String) -> Bool) -> [String] {
        let names = (try? FileManager.default.contentsOfDirectory(atPath: folder)) ?? []
        let files = names.filter { !$0.contains(".") && isWanted($0) }.sorted()
        var all = files.flatMap { name -> [String] in
            let text = (try? String(contentsOfFile: "\(folder)/\(name)", encoding: .utf8)) ?? ""
            return text.components(separatedBy: "\n%\n").map { $0.trimmingCharacters(in: .whitespacesAndNewlines) }
                .filter { !$0.isEmpty && $0.count <= longest }
        }
        if all.isEmpty { all = builtIn }
        return (0..<count).map { all[$0 % all.count] }
    }

    /// Texts for a machine without the packages.
    private static let builtIn = (1...400).map { number in
        "Line \(number): the quick brown fox met \(number * 7919 % 1000) lazy dogs and told \(number % 13) of them why."
    }
}
