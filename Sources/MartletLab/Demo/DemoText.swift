import Foundation
import MartletToolSupport

/// The text that the demo sends.
struct DemoText: Equatable, Sendable {
    /// What the demo's own text has at least.
    static let minLineCount = 5_000
    /// A text is repeated until it has so many bytes: a smaller one would be through before the link was cut ten times.
    static let minByteCount = 128 << 10
    /// A larger file is refused: all of it lies in the relay's memory.
    static let maxByteCount = 256 << 20
    /// Where the default text comes from.
    static let licences = "/usr/share/common-licenses"

    /// Where it comes from, for people.
    var name: String
    /// All of it.
    var bytes: [UInt8]
    /// How often the source is in it.
    var repetitionCount = 1

    /// The file at `path`, or the default text. Throws when there is nothing to send.
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

    /// The licences on this machine, one after the other; where there are none, a text that is made up.
    static func defaultText(_ folder: String = licences) -> DemoText {
        let names = ((try? FileManager.default.contentsOfDirectory(atPath: folder)) ?? []).sorted()
        let files = names.compactMap { FileManager.default.contents(atPath: "\(folder)/\($0)") }
        var text = DemoText(name: "\(folder)/*", bytes: files.flatMap { Array($0) })
        if text.bytes.isEmpty {
            text = DemoText(name: "numbered lines", bytes: (1...minLineCount).flatMap { Array("line \($0)\n".utf8) })
        }
        return text.repeated(toLines: minLineCount)
    }

    /// How many lines it has, a last one without an end of line included.
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
