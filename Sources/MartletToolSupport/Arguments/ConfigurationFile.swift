import MartletAuthentication

/// A configuration file: a JSON object whose members are options of a command.
///
/// A member has the name of the option without the dashes. A flag is a boolean. The value of another option is the text
/// of the command line or a number, and an option that repeats can have an array of them. Each error names the file and
/// the member.
package struct ConfigurationFile {
    /// The maximum number of bytes of a file.
    static let maxByteCount = 1 << 20

    private let path: String
    private let command: CommandSpec

    /// Returns the arguments of a command line with the options of a file. An option of the command line takes
    /// precedence over the member with its name.
    package static func complete(
        _ arguments: ParsedArguments, from path: String, for command: CommandSpec
    ) throws(CommandError) -> ParsedArguments {
        let file = ConfigurationFile(path: path, command: command)
        var completed = arguments
        completed.values = try file.values(in: InputFile.read(path, "the configuration"))
            .merging(arguments.values) { $1 }
        return completed
    }

    private func error(_ member: String? = nil, _ text: String) -> CommandError {
        CommandError(.noInput, "\(path): \(member.map { "\($0.quotedAsJSON): " } ?? "")\(text)")
    }

    private func values(in bytes: [UInt8]) throws(CommandError) -> [String: [any Sendable]] {
        let json: JSONValue
        do throws(JSONError) {
            json = try JSONReader.read(bytes, maxByteCount: Self.maxByteCount)
        } catch {
            let line = bytes.prefix(error.offset).count { $0 == UInt8(ascii: "\n") } + 1
            // The offset of a duplicate is that of its quotation mark.
            let name = bytes.dropFirst(error.offset + 1).prefix { $0 != UInt8(ascii: "\"") }
            let member = error.reason == .duplicateName ? String(decoding: name, as: UTF8.self) : nil
            throw self.error(member, "line \(line): \(error)")
        }
        guard let members = json.members else { throw error(nil, "the file is not a JSON object") }
        var values: [String: [any Sendable]] = [:]
        for member in members {
            guard let spec = command.option(named: member.name) else {
                let suggestion = command.suggestion(for: member.name).map { "; did you mean \($0.quotedAsJSON)?" } ?? ""
                throw error(member.name, "unknown member\(suggestion)")
            }
            guard spec.change != .notInFile else { throw error(member.name, "an option of the command line only") }
            let parsed = try self.values(of: member, for: spec)
            if !parsed.isEmpty { values[member.name] = parsed }
        }
        return values
    }

    private func values(of member: JSONMember, for spec: OptionSpec) throws(CommandError) -> [any Sendable] {
        guard spec.placeholder != nil else {
            guard case .bool(let isGiven) = member.value else { throw error(member.name, "the value is true or false") }
            return isGiven ? [true] : []
        }
        var values: [any Sendable] = []
        var texts: Set<String> = []
        let elements = spec.repeats ? member.value.elements : nil
        for element in elements ?? [member.value] {
            guard let text = text(of: element), let value = spec.parse(text) else {
                throw error(member.name, "the value is \(spec.expectation)")
            }
            guard texts.insert(text).inserted else {
                throw error(member.name, "the value \(text.quotedAsJSON) is given twice")
            }
            values.append(value)
        }
        return values
    }

    /// The text of the command line; nil for a value that has none.
    private func text(of value: JSONValue) -> String? {
        switch value {
        case .string(let text): text
        case .integer(let number): "\(number)"
        case .unsigned(let number): "\(number)"
        case .double(let number): "\(number)"
        case .object, .array, .bool, .null: nil
        }
    }
}

extension CommandSpec {
    /// Returns the arguments that are in effect after the arguments `next` have been read while `current` are in
    /// effect, and the names of the changed options that require a start.
    package func reloading(
        _ next: ParsedArguments, over current: ParsedArguments
    ) -> (arguments: ParsedArguments, atStart: [String]) {
        var (result, atStart) = (current, [String]())
        for option in options {
            let (old, new) = (current.values[option.name], next.values[option.name])
            // The values of an option have one type, whose description shows all of it.
            guard old?.map({ "\($0)" }) != new?.map({ "\($0)" }) else { continue }
            switch option.change {
            case .atReload: result.values[option.name] = new
            case .valueAtReload where old != nil && new != nil: result.values[option.name] = new
            case .valueAtReload, .atStart, .notInFile: atStart.append(option.name)
            }
        }
        return (result, atStart)
    }
}
