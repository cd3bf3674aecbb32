// Embedded Swift has no `Codable`.
#if !hasFeature(Embedded)
    extension ContentValue {
        /// Returns the value of a `Decodable` type. `data` is also read as an array of integers, and an integer as a
        /// floating-point number that equals it.
        ///
        /// - Throws: `DecodingError` if the value does not have the form that the type requires; the errors of the
        ///   type's
        ///   own `init(from:)`.
        public func decode<Value: Decodable>(_: Value.Type = Value.self) throws -> Value {
            try ValueDecoder(value: self, codingPath: []).decode()
        }

        /// The name of the form, for the description of an error.
        fileprivate var formName: String {
            switch self {
            case .null: "null"
            case .bool: "a truth value"
            case .integer, .unsigned: "an integer"
            case .double: "a floating-point number"
            case .text: "a text"
            case .data: "bytes"
            case .array: "an array"
            case .object: "an object"
            }
        }
    }

    /// A value, as the decoder and the container of itself.
    private struct ValueDecoder: Decoder, SingleValueDecodingContainer {
        let value: ContentValue
        let codingPath: [any CodingKey]
        var userInfo: [CodingUserInfoKey: Any] { [:] }

        func decode<Value: Decodable>(_: Value.Type = Value.self) throws -> Value {
            switch Value.self {
            case is Bool.Type:
                if case .bool(let bool) = value, let result = bool as? Value { return result }
            case is String.Type:
                if case .text(let text) = value, let result = text as? Value { return result }
            case is Double.Type:
                if let result = double as? Value { return result }
            case is Float.Type:
                if let double {
                    let float = Float(double)
                    guard float.isFinite || !double.isFinite else { throw outOfRange(Value.self) }
                    if let result = float as? Value { return result }
                }
            case let type as any FixedWidthInteger.Type:
                if let result = try integer(type) as? Value { return result }
            default: return try Value(from: self)
            }
            throw mismatch(Value.self)
        }

        private var double: Double? {
            switch value {
            case .double(let number): number
            case .integer(let number): Double(exactly: number)
            case .unsigned(let number): Double(exactly: number)
            default: nil
            }
        }

        private func integer<Number: FixedWidthInteger>(_: Number.Type) throws -> Number {
            let number: Number?
            switch value {
            case .integer(let integer): number = Number(exactly: integer)
            case .unsigned(let integer): number = Number(exactly: integer)
            default: throw mismatch(Number.self)
            }
            guard let number else { throw outOfRange(Number.self) }
            return number
        }

        func decodeNil() -> Bool { value == .null }

        func container<Key: CodingKey>(keyedBy: Key.Type) throws -> KeyedDecodingContainer<Key> {
            guard case .object(let members) = value else { throw mismatch([String: ContentValue].self) }
            return KeyedDecodingContainer(KeyedMembers<Key>(members: members, codingPath: codingPath))
        }

        func unkeyedContainer() throws -> any UnkeyedDecodingContainer {
            switch value {
            case .array(let values): return UnkeyedElements(elements: .values(values), codingPath: codingPath)
            case .data(let bytes): return UnkeyedElements(elements: .bytes(bytes), codingPath: codingPath)
            default: throw mismatch([ContentValue].self)
            }
        }

        func singleValueContainer() -> any SingleValueDecodingContainer { self }

        private func mismatch(_ type: Any.Type) -> DecodingError {
            .typeMismatch(
                type, DecodingError.Context(codingPath: codingPath, debugDescription: "the value is \(value.formName)"))
        }

        private func outOfRange(_ type: Any.Type) -> DecodingError {
            .dataCorrupted(
                DecodingError.Context(codingPath: codingPath, debugDescription: "the number does not fit into \(type)"))
        }
    }

    private struct UnkeyedElements: UnkeyedDecodingContainer {
        enum Elements {
            case values([ContentValue])
            case bytes([UInt8])
        }

        let elements: Elements
        let codingPath: [any CodingKey]
        var currentIndex = 0

        init(elements: Elements, codingPath: [any CodingKey]) {
            self.elements = elements
            self.codingPath = codingPath
        }

        var count: Int? {
            switch elements {
            case .values(let values): values.count
            case .bytes(let bytes): bytes.count
            }
        }

        var isAtEnd: Bool { currentIndex == count }

        /// The decoder of the next element, which is not consumed.
        private func next(_ type: Any.Type) throws -> ValueDecoder {
            let path = codingPath + [ValueKey(intValue: currentIndex)]
            guard !isAtEnd else {
                throw DecodingError.valueNotFound(
                    type, DecodingError.Context(codingPath: path, debugDescription: "the array has no further element"))
            }
            switch elements {
            case .values(let values): return ValueDecoder(value: values[currentIndex], codingPath: path)
            case .bytes(let bytes): return ValueDecoder(value: .integer(Int64(bytes[currentIndex])), codingPath: path)
            }
        }

        /// Performs a step, which consumes the next element if it succeeds.
        private mutating func consume<Result>(
            _ type: Any.Type, _ body: (ValueDecoder) throws -> Result
        ) throws -> Result {
            let result = try body(try next(type))
            currentIndex += 1
            return result
        }

        mutating func decodeNil() throws -> Bool {
            guard try next(Any?.self).decodeNil() else { return false }
            currentIndex += 1
            return true
        }

        mutating func decode<Value: Decodable>(_ type: Value.Type) throws -> Value {
            try consume(type) { try $0.decode() }
        }

        mutating func nestedContainer<Key: CodingKey>(keyedBy: Key.Type) throws -> KeyedDecodingContainer<Key> {
            try consume(Key.self) { try $0.container(keyedBy: Key.self) }
        }

        mutating func nestedUnkeyedContainer() throws -> any UnkeyedDecodingContainer {
            try consume([ContentValue].self) { try $0.unkeyedContainer() }
        }

        mutating func superDecoder() throws -> any Decoder {
            try consume((any Decoder).self) { $0 }
        }
    }

    private struct KeyedMembers<Key: CodingKey>: KeyedDecodingContainerProtocol {
        let members: [ContentValue.Member]
        let codingPath: [any CodingKey]

        var allKeys: [Key] { members.compactMap { Key(stringValue: $0.key) } }

        func contains(_ key: Key) -> Bool { value(of: key) != nil }

        func decodeNil(forKey key: Key) throws -> Bool { try decoder(key).decodeNil() }

        func decode<Value: Decodable>(_: Value.Type, forKey key: Key) throws -> Value { try decoder(key).decode() }

        func nestedContainer<Nested: CodingKey>(
            keyedBy: Nested.Type, forKey key: Key
        ) throws -> KeyedDecodingContainer<Nested> {
            try decoder(key).container(keyedBy: Nested.self)
        }

        func nestedUnkeyedContainer(forKey key: Key) throws -> any UnkeyedDecodingContainer {
            try decoder(key).unkeyedContainer()
        }

        func superDecoder() throws -> any Decoder { try decoder(ValueKey.superclass) }

        func superDecoder(forKey key: Key) throws -> any Decoder { try decoder(key) }

        private func value(of key: any CodingKey) -> ContentValue? {
            members.first { $0.key.hasSameUTF8(as: key.stringValue) }?.value
        }

        private func decoder(_ key: any CodingKey) throws -> ValueDecoder {
            guard let value = value(of: key) else {
                throw DecodingError.keyNotFound(
                    key, DecodingError.Context(codingPath: codingPath, debugDescription: "the object has no such key"))
            }
            return ValueDecoder(value: value, codingPath: codingPath + [key])
        }
    }
#endif
