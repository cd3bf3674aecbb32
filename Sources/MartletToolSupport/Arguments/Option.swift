/// A row in a command's table of options: the parser of the value, and the help.
package struct OptionSpec: Sendable {
    /// The long name, without the dashes.
    package var name: String
    /// The one-letter name; nil if there is none.
    package var short: Character?
    /// The placeholder of the value in the help; nil for a flag.
    package var placeholder: String?
    /// One sentence for the help.
    package var help: String
    /// The default value in the help; nil if there is none.
    package var fallback: String?
    /// A description of a valid value, for error messages.
    package var expectation: String
    /// Whether the option may be given more than once. Each use adds a value.
    package var repeats = false
    /// Whether the value is a path with any bytes; see `CommandLineProgram.path`.
    package var acceptsAnyBytes = false
    /// The effect of a change of the option in a configuration file while the program runs.
    package var change = ConfigurationChange.atStart
    /// A closure that converts text to a value, or returns nil for invalid text.
    package var parse: @Sendable (String) -> (any Sendable)?
}

/// The effect of a change of an option in a configuration file while the program runs.
package enum ConfigurationChange: Sendable {
    /// The change takes effect at the next start.
    case atStart
    /// Another value takes effect when the file is read again. To add or remove the option requires a start.
    case valueAtReload
    /// Any change takes effect when the file is read again.
    case atReload
    /// The option is an option of the command line only.
    case notInFile
}

/// An option with a typed value: the key with which a command accesses the value.
package struct Option<Value: Sendable>: Sendable {
    /// The row of the table.
    package private(set) var spec: OptionSpec
    /// The default value; nil if there is none.
    package let fallback: Value?

    /// Creates an option with a value.
    package init(
        _ name: String, short: Character? = nil, _ placeholder: String?, fallback: Value? = nil, shown: String? = nil,
        expectation: String = "", help: String, parse: @escaping @Sendable (String) -> Value?
    ) {
        self.fallback = fallback
        spec = OptionSpec(
            name: name, short: short, placeholder: placeholder, help: help, fallback: shown, expectation: expectation
        ) { parse($0) }
    }

    /// The same option, whose value can be a path that is not UTF-8.
    package var acceptingAnyBytes: Option {
        var option = self
        option.spec.acceptsAnyBytes = true
        return option
    }

    /// The same option, which may be given more than once.
    package var repeating: Option {
        var option = self
        option.spec.repeats = true
        return option
    }

    /// The same option with this effect of a change in a configuration file.
    package func changing(_ change: ConfigurationChange) -> Option {
        var option = self
        option.spec.change = change
        return option
    }
}

extension Option where Value == Bool {
    /// Returns an option without a value.
    package static func flag(_ name: String, short: Character? = nil, help: String) -> Option {
        Option(name, short: short, nil, fallback: false, help: help) { _ in true }
    }
}

extension Option where Value == String {
    /// Returns an option whose value is non-empty text.
    package static func text(
        _ name: String, short: Character? = nil, _ placeholder: String, fallback: String? = nil, help: String
    ) -> Option {
        Option(
            name, short: short, placeholder, fallback: fallback, shown: fallback,
            expectation: "a non-empty text",
            help: help
        ) { $0.isEmpty ? nil : $0 }
    }
}

extension Option where Value == Int {
    /// Returns an option whose value is an integer.
    package static func count(
        _ name: String, short: Character? = nil, _ placeholder: String = "N", in range: ClosedRange<Int>,
        fallback: Int? = nil, help: String
    ) -> Option {
        Option(
            name, short: short, placeholder, fallback: fallback, shown: fallback.map { "\($0)" },
            expectation: range.upperBound == .max
                ? "a number of at least \(range.lowerBound)"
                : "a number from \(range.lowerBound) to \(range.upperBound)",
            help: help
        ) { Int($0).flatMap { range.contains($0) ? $0 : nil } }
    }

    /// Returns an option whose value is a number of bytes: `4096`, `64K`, `1.5M`, `1G`, in powers of 1,024.
    package static func byteCount(
        _ name: String, _ placeholder: String = "BYTES", atLeast least: Int = 1, help: String
    ) -> Option {
        Option(
            name, placeholder, expectation: "a number of bytes of at least \(least), such as 4096, 64K or 1M",
            help: help
        ) {
            Quantity.byteCount(parsing: $0).flatMap { $0 >= least ? $0 : nil }
        }
    }
}

extension Option where Value == UInt64 {
    /// Returns an option whose value is an unsigned 64-bit integer.
    package static func number(_ name: String, _ placeholder: String, help: String) -> Option {
        Option(name, placeholder, expectation: "a number from 0 to \(UInt64.max)", help: help) { UInt64($0) }
    }
}

extension Option where Value == Duration {
    /// Returns an option whose value is a duration in `unit`, or with the suffix `ms`, `s` or `m`.
    package static func duration(
        _ name: String, _ placeholder: String, in unit: Quantity.TimeUnit, fallback: Duration? = nil,
        isZeroAllowed: Bool = true, help: String
    ) -> Option {
        Option(
            name, placeholder, fallback: fallback, shown: fallback.map { Quantity.text($0) },
            expectation: "a duration such as 200ms or 1.5s\(isZeroAllowed ? "" : ", above zero")", help: help
        ) { text in
            Quantity.duration(parsing: text, unit: unit).flatMap { $0 > .zero || isZeroAllowed ? $0 : nil }
        }
    }
}

extension Option where Value: RawRepresentable & CaseIterable, Value.RawValue == String {
    /// Returns an option whose value is one of several words.
    package static func choice(_ name: String, fallback: Value, help: String) -> Option {
        let words = Value.allCases.map(\.rawValue)
        return Option(
            name, words.joined(separator: "|"), fallback: fallback, shown: fallback.rawValue,
            expectation: "one of \(words.joined(separator: ", "))", help: help
        ) { Value(rawValue: $0) }
    }
}
