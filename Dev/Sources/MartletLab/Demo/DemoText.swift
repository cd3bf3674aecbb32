import Foundation
import MartletToolSupport

/// The text that the demo sends.
struct DemoText: Equatable, Sendable {
    /// The minimum number of lines of the default text.
    static let minLineCount = 5_000
    /// The minimum number of bytes. A shorter text is repeated, because it would be delivered before the link is cut
    /// ten times.
    static let minByteCount = 128 << 10
    /// The maximum number of bytes of a file. The relay keeps the whole text in memory.
    static let maxByteCount = 256 << 20
    /// The folder of the default text.
    static let licenses = "/usr/share/common-licenses"

    /// The name of the source, for messages.
    var name: String
    /// The bytes of the text.
    var bytes: [UInt8]
    /// The number of copies of the source in the text.
    var repetitionCount = 1

    /// Returns the text of a file, or the default text.
    ///
    /// - Parameter path: The path of the file; nil for the default text.
    /// - Throws: `CommandError` if the file cannot be read, is empty or is too large.
    static func load(_ path: String?) throws(CommandError) -> DemoText {
        guard let path else { return defaultText() }
        guard let contents = FileManager.default.contents(atPath: path) else {
            throw CommandError(.noInput, "cannot read \(path)")
        }
        if contents.isEmpty { throw CommandError(.noInput, "\(path) is empty") }
        if contents.count > maxByteCount {
            throw CommandError(.noInput, "\(path) is larger than \(Quantity.text(byteCount: maxByteCount))")
        }
        return DemoText(name: path, bytes: Array(contents)).repeated(toLines: 1)
    }

    /// Returns the license texts on this machine in sequence, or numbered lines if there are none.
    static func defaultText(_ folder: String = licenses) -> DemoText {
        let names = ((try? FileManager.default.contentsOfDirectory(atPath: folder)) ?? []).sorted()
        let files = names.compactMap { FileManager.default.contents(atPath: "\(folder)/\($0)") }
        var text = DemoText(name: "\(folder)/*", bytes: files.flatMap { Array($0) })
        if text.bytes.isEmpty {
            text = DemoText(name: "numbered lines", bytes: (1...minLineCount).flatMap { Array("line \($0)\n".utf8) })
        }
        return text.repeated(toLines: minLineCount)
    }

    /// The number of lines, with a last line without a newline included.
    var lineCount: Int {
        let newline = UInt8(ascii: "\n")
        return bytes.count { $0 == newline } + (bytes.last == newline ? 0 : 1)
    }

    private func repeated(toLines count: Int) -> DemoText {
        let times = max(
            (count + lineCount - 1) / lineCount, (Self.minByteCount + bytes.count - 1) / bytes.count, repetitionCount)
        return DemoText(name: name, bytes: Array(repeatElement(bytes, count: times).joined()), repetitionCount: times)
    }
}
