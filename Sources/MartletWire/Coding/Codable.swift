// Embedded Swift has no `Codable`.
#if !hasFeature(Embedded)
    extension LogID: Codable {}
    extension DeviceID: Codable {}

    extension MessageID: Codable {
        private enum CodingKeys: CodingKey {
            case sender, device, counter
        }

        /// Decodes an identity.
        ///
        /// - Throws: `DecodingError`, also if the counter is 0.
        public init(from decoder: any Decoder) throws {
            let container = try decoder.container(keyedBy: CodingKeys.self)
            self.init(
                sender: try container.decode(AccountName.self, forKey: .sender),
                device: try container.decode(DeviceID.self, forKey: .device),
                counter: try container.decode(UInt64.self, forKey: .counter))
            guard counter > 0 else {
                throw DecodingError.dataCorruptedError(
                    forKey: .counter, in: container, debugDescription: "counters start at 1")
            }
        }

        /// Encodes the identity.
        public func encode(to encoder: any Encoder) throws {
            var container = encoder.container(keyedBy: CodingKeys.self)
            try container.encode(sender, forKey: .sender)
            try container.encode(device, forKey: .device)
            try container.encode(counter, forKey: .counter)
        }
    }

    extension WireName {
        /// Decodes the text of a name.
        ///
        /// - Throws: `DecodingError.dataCorrupted` if the text violates W-31.
        public init(from decoder: any Decoder) throws {
            let container = try decoder.singleValueContainer()
            let text = try container.decode(String.self)
            guard let name = Self(text) else {
                throw DecodingError.dataCorruptedError(in: container, debugDescription: "not a name")
            }
            self = name
        }

        /// Encodes the text of the name.
        public func encode(to encoder: any Encoder) throws {
            var container = encoder.singleValueContainer()
            try container.encode(text)
        }
    }

    extension AccountName: Codable {}
    extension RoomName: Codable {}
    extension MethodName: Codable {}

    extension ContentKind: Codable {}

    extension MessageContent: Codable {
        private enum CodingKeys: CodingKey {
            case kind, text, bytes
        }

        /// Decodes a content.
        ///
        /// - Throws: `DecodingError`, also if the content violates `ContentRules`.
        public init(from decoder: any Decoder) throws {
            let container = try decoder.container(keyedBy: CodingKeys.self)
            if let text = try container.decodeIfPresent(String.self, forKey: .text) {
                guard !text.isEmpty else {
                    throw DecodingError.dataCorruptedError(
                        forKey: .text, in: container, debugDescription: "the text of a message is empty")
                }
                self.init(text: text)
                return
            }
            let kind = try container.decode(ContentKind.self, forKey: .kind)
            let bytes = try container.decode([UInt8].self, forKey: .bytes)
            do throws(WireError) { try self.init(kind: kind, bytes: bytes) } catch {
                throw DecodingError.dataCorruptedError(forKey: .bytes, in: container, debugDescription: "\(error)")
            }
        }

        /// Encodes the content: a text as `text`, any other content as `kind` and the `bytes` of its TLVs.
        public func encode(to encoder: any Encoder) throws {
            var container = encoder.container(keyedBy: CodingKeys.self)
            if let text, self == MessageContent(text: text) {
                try container.encode(text, forKey: .text)
            } else {
                try container.encode(kind, forKey: .kind)
                try container.encode(bytes, forKey: .bytes)
            }
        }
    }
#endif
