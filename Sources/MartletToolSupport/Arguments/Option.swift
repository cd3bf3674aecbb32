/// One row of a command's table of options: the values that the parser accepts, and the help.
package struct OptionSpec: Sendable {
    /// The long name, without the dashes.
    package var name: String
    /// The one-letter name, if there is one.
    package var short: Character?
    /// What stands for the value in the help; `nil` for a flag, which has none.
    package var placeholder: String?
    /// One sentence for the help.
    package var help: String
    /// What holds when the option is not given, for the help.
    package var fallback: String?
    /// A description of a valid value, for the error.
    package var expectation: String
    /// Whether it may be given more than once; each use adds a value.
    package var repeats = false
    /// The value that the text stands for, or `nil` when it stands for none.
    package var parse: @Sendable (String) -> (any Sendable)?
}

/// An option whose value has a type: the key under which a command finds the value.
package struct Option<Value: Sendable>: Sendable {
    /// The row of the table.
    package private(set) var spec: OptionSpec
    /// What holds when the option is not given.
    package let fallback: Value?

    /// An option with a value.
    package init(
        _ name: String, short: Character? = nil, _ placeholder: String?, fallback: Value? = nil, shown: String? = nil,
        expectation: String = "", help: String, parse: @escaping @Sendable (String) -> Value?
    ) {
        self.fallback = fallback
        spec = OptionSpec(
            name: name, short: short, placeholder: placeholder, help: help, fallback: shown, expectation: expectation
        ) { parse($0) }
    }

    /// The same, but it may be given more than once.
    package var repeating: Option {
        var option = self
        option.spec.repeats = true
        return option
    }
}

extension Option where Value == Bool {
    /// An option without a value.
    package static func flag(_ name: String, short: Character? = nil, help: String) -> Option {
        Option(name, short: short, nil, fallback: false, help: help) { _ in true }
    }
}

extension Option where Value == String {
    /// An option whose value is any text but the empty one.
    package static func text(
        _ name: String, short: Character? = nil, _ placeholder: String, fallback: String? = nil, help: String
    ) -> Option {
        Option(
            name, short: short, placeholder, fallback: fallback, shown: fallback,
            expectation: "a text that is not empty",
            help: help
        ) { $0.isEmpty ? nil : $0 }
    }
}

extension Option where Value == Int {
    /// An option whose value is a whole number.
    package static func count(
        _ name: String, short: Character? = nil, _ placeholder: String = "N", in range: ClosedRange<Int>,
        fallback: Int? = nil, help: String
    ) -> Option {
        Option(
            name, short: short, placeholder, fallback: fallback, shown: fallback.map { "\($0)" },
            expectation: range.upperBound == .max
                ? "a number from \(range.lowerBound) up" : "a number from \(range.lowerBound) to \(range.upperBound)",
            help: help
        ) { Int($0).flatMap { range.contains($0) ? $0 : nil } }
    }

    /// An option whose value is a number of bytes: `4096`, `64K`, `1.5M`, `1G`, in powers of 1,024.
    package static func byteCount(
        _ name: String, _ placeholder: String = "BYTES", atLeast least: Int = 1, help: String
    ) -> Option {
        Option(
            name, placeholder, expectation: "a number of bytes from \(least) up, such as 4096, 64K or 1M", help: help
        ) {
            Quantity.byteCount(parsing: $0).flatMap { $0 >= least ? $0 : nil }
        }
    }
}

extension Option where Value == UInt64 {
    /// An option whose value is a number of up to 64 bits.
    package static func number(_ name: String, _ placeholder: String, help: String) -> Option {
        Option(name, placeholder, expectation: "a number from 0 to \(UInt64.max)", help: help) { UInt64($0) }
    }
}

extension Option where Value == Duration {
    /// An option whose value is a time in `unit`, unless it ends in `ms` or `s`.
    package static func duration(
        _ name: String, _ placeholder: String, in unit: Quantity.TimeUnit, fallback: Duration? = nil,
        isZeroAllowed: Bool = true, help: String
    ) -> Option {
        Option(
            name, placeholder, fallback: fallback, shown: fallback.map { Quantity.text($0) },
            expectation: "a time such as 200ms or 1.5s\(isZeroAllowed ? "" : ", above zero")", help: help
        ) { text in
            Quantity.duration(parsing: text, unit: unit).flatMap { $0 > .zero || isZeroAllowed ? $0 : nil }
        }
    }
}

extension Option where Value: RawRepresentable & CaseIterable, Value.RawValue == String {
    /// An option whose value is one of a few words.
    package static func choice(_ name: String, fallback: Value, help: String) -> Option {
        let words = Value.allCases.map(\.rawValue)
        return Option(
            name, words.joined(separator: "|"), fallback: fallback, shown: fallback.rawValue,
            expectation: "one of \(words.joined(separator: ", "))", help: help
        ) { Value(rawValue: $0) }
    }
}
