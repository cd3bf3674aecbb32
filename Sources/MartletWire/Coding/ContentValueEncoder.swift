// Embedded Swift has no `Codable`.
#if !hasFeature(Embedded)
    extension ContentValue {
        /// Creates the value of an `Encodable` type: structures and dictionaries with string keys are objects, arrays
        /// are arrays, and a non-empty array whose elements are all `UInt8` is `data`, as `Foundation.Data` is.
        ///
        /// - Throws: `EncodingError` for an integer of more than 64 bits, or for values nested deeper than
        ///   ``maxDepth``;
        ///   the errors of the type's own `encode(to:)`.
        public init(encoding value: some Encodable) throws {
            self = try ValueEncoder.element(value, at: []).value
        }
    }

    /// The value of one encoder of the standard library.
    ///
    /// An encoder is empty until its value requests a container, and then has that container's form.
    private final class ValueEncoder: Encoder {
        /// A complete value, or a value that is still being encoded.
        enum Element {
            case value(ContentValue)
            case nested(ValueEncoder)

            var value: ContentValue {
                switch self {
                case .value(let value): value
                case .nested(let encoder): encoder.value
                }
            }
        }

        private enum Form {
            case empty
            case single(Element)
            case array([Element], isBytes: Bool)
            case object([(key: String, element: Element)])
        }

        let codingPath: [any CodingKey]
        let userInfo: [CodingUserInfoKey: Any] = [:]
        private var form = Form.empty

        init(codingPath: [any CodingKey]) {
            self.codingPath = codingPath
        }

        /// The value so far. A type that encodes nothing is an empty object.
        var value: ContentValue {
            switch form {
            case .empty: return .object([])
            case .single(let element): return element.value
            case .array(let elements, let isBytes):
                let values = elements.map(\.value)
                guard isBytes, !values.isEmpty else { return .array(values) }
                return .data(
                    values.map { value in
                        guard case .integer(let number) = value else { return 0 }
                        return UInt8(truncatingIfNeeded: number)
                    })
            case .object(let members): return .object(members.map { Member($0.key, $0.element.value) })
            }
        }

        private typealias Member = ContentValue.Member

        /// Returns a value of any type.
        static func element(_ value: some Encodable, at path: [any CodingKey]) throws -> Element {
            switch value {
            case let value as Bool: return .value(.bool(value))
            case let value as String: return .value(.text(value))
            case let value as Double: return .value(.double(value))
            case let value as Float: return .value(.double(Double(value)))
            case let value as any FixedWidthInteger:
                if let number = Int64(exactly: value) { return .value(.integer(number)) }
                if let number = UInt64(exactly: value) { return .value(.unsigned(number)) }
                throw EncodingError.invalidValue(value, context(path, "the integer has more than 64 bits"))
            default:
                guard path.count <= ContentValue.maxDepth else {
                    throw EncodingError.invalidValue(
                        value, context(path, "the value is nested deeper than \(ContentValue.maxDepth)"))
                }
                let encoder = ValueEncoder(codingPath: path)
                try value.encode(to: encoder)
                return .nested(encoder)
            }
        }

        private static func context(_ path: [any CodingKey], _ text: String) -> EncodingError.Context {
            EncodingError.Context(codingPath: path, debugDescription: text)
        }

        // MARK: Changes by containers

        var elementCount: Int {
            if case .array(let elements, _) = form { elements.count } else { 0 }
        }

        func set(_ element: Element) {
            form = .single(element)
        }

        func append(_ element: Element, isByte: Bool) {
            guard case .array(var elements, let isBytes) = form else { return }
            // The array has one owner while it grows.
            form = .empty
            elements.append(element)
            form = .array(elements, isBytes: isBytes && isByte)
        }

        /// Sets the value of a key, also of one that was set before.
        func set(_ element: Element, forKey key: String) {
            guard case .object(var members) = form else { return }
            form = .empty
            members.removeAll { $0.key.hasSameUTF8(as: key) }
            members.append((key, element))
            form = .object(members)
        }

        func beginArray() {
            if case .array = form { return }
            form = .array([], isBytes: true)
        }

        func beginObject() {
            if case .object = form { return }
            form = .object([])
        }

        // MARK: Encoder

        func container<Key: CodingKey>(keyedBy: Key.Type) -> KeyedEncodingContainer<Key> {
            beginObject()
            return KeyedEncodingContainer(KeyedValues<Key>(encoder: self))
        }

        func unkeyedContainer() -> any UnkeyedEncodingContainer {
            beginArray()
            return UnkeyedValues(encoder: self)
        }

        func singleValueContainer() -> any SingleValueEncodingContainer { SingleValue(encoder: self) }
    }

    /// A key of an array's element, or of a superclass.
    struct ValueKey: CodingKey {
        let stringValue: String
        let intValue: Int?

        static let superclass = ValueKey(stringValue: "super")

        init(stringValue: String) {
            self.stringValue = stringValue
            intValue = nil
        }

        init(intValue: Int) {
            stringValue = "\(intValue)"
            self.intValue = intValue
        }
    }

    private struct SingleValue: SingleValueEncodingContainer {
        let encoder: ValueEncoder
        var codingPath: [any CodingKey] { encoder.codingPath }

        func encodeNil() { encoder.set(.value(.null)) }

        func encode<Value: Encodable>(_ value: Value) throws {
            encoder.set(try ValueEncoder.element(value, at: codingPath))
        }
    }

    private struct UnkeyedValues: UnkeyedEncodingContainer {
        let encoder: ValueEncoder
        var codingPath: [any CodingKey] { encoder.codingPath }
        var count: Int { encoder.elementCount }

        func encodeNil() { encoder.append(.value(.null), isByte: false) }

        func encode<Value: Encodable>(_ value: Value) throws {
            encoder.append(try ValueEncoder.element(value, at: path), isByte: value is UInt8)
        }

        func nestedContainer<Key: CodingKey>(keyedBy: Key.Type) -> KeyedEncodingContainer<Key> {
            nested().container(keyedBy: Key.self)
        }

        func nestedUnkeyedContainer() -> any UnkeyedEncodingContainer { nested().unkeyedContainer() }

        func superEncoder() -> any Encoder { nested() }

        private var path: [any CodingKey] { codingPath + [ValueKey(intValue: count)] }

        private func nested() -> ValueEncoder {
            let nested = ValueEncoder(codingPath: path)
            encoder.append(.nested(nested), isByte: false)
            return nested
        }
    }

    private struct KeyedValues<Key: CodingKey>: KeyedEncodingContainerProtocol {
        let encoder: ValueEncoder
        var codingPath: [any CodingKey] { encoder.codingPath }

        func encodeNil(forKey key: Key) { encoder.set(.value(.null), forKey: key.stringValue) }

        func encode<Value: Encodable>(_ value: Value, forKey key: Key) throws {
            encoder.set(try ValueEncoder.element(value, at: codingPath + [key]), forKey: key.stringValue)
        }

        func nestedContainer<Nested: CodingKey>(
            keyedBy: Nested.Type, forKey key: Key
        ) -> KeyedEncodingContainer<Nested> {
            nested(key).container(keyedBy: Nested.self)
        }

        func nestedUnkeyedContainer(forKey key: Key) -> any UnkeyedEncodingContainer { nested(key).unkeyedContainer() }

        func superEncoder() -> any Encoder { nested(ValueKey.superclass) }

        func superEncoder(forKey key: Key) -> any Encoder { nested(key) }

        private func nested(_ key: any CodingKey) -> ValueEncoder {
            let nested = ValueEncoder(codingPath: codingPath + [key])
            encoder.set(.nested(nested), forKey: key.stringValue)
            return nested
        }
    }
#endif
