import MartletTransport

/// A request of HTTP/1.1 (RFC 9110, RFC 9112).
package struct HTTPRequest: Sendable, Equatable {
    /// The method, for example "GET". Methods are case-sensitive.
    package var method: String
    /// The absolute path of the target, with percent-encodings and without the query.
    package var path: String
    /// The query of the target with its question mark; empty without one.
    package var query = ""
    /// The host, with a port or without: that of a target in absolute form, or else of the field Host (RFC 9112
    /// §3.2.2); empty without one.
    package var host = ""
    /// The fields in their order. Names are in lowercase.
    package var fields: [HTTPField]
    /// The content.
    package var body: [UInt8]
    /// Whether the connection ends with the response.
    package var closesConnection: Bool
    /// 0 for HTTP/1.0, and 1 for HTTP/1.1 and higher minor versions (RFC 9110 §2.5).
    package var minorVersion: Int

    /// Whether the host is this machine, by an address or as `localhost`. A page of another site whose name leads to
    /// this machine has that name in the field (DNS rebinding).
    package var namesLoopback: Bool {
        let name = host.lowercased()
        if name == "localhost" || name.hasPrefix("localhost:") { return true }
        let isBracketed = name.hasPrefix("[") && name.hasSuffix("]")
        let address = SocketAddress(name)?.ip ?? IPAddress(isBracketed ? String(name.dropFirst().dropLast()) : name)
        return address?.isLoopback == true
    }

    /// Whether a text is a host, with a port or without (RFC 3986 §3.2.2, RFC 9110 §4.2.4).
    package static func isAuthority(_ text: Substring) -> Bool {
        var rest = text
        if text.hasPrefix("["), let end = text.firstIndex(of: "]") {
            guard IPAddress(String(text[..<end].dropFirst()))?.isIPv6 == true else { return false }
            rest = text[end...].dropFirst()
        } else {
            let name = text.prefix { $0.isASCII && ($0.isLetter || $0.isNumber) || "-._~%!$&'()*+,;=".contains($0) }
            rest = text[name.endIndex...]
        }
        return rest.isEmpty || rest.hasPrefix(":") && (rest.count == 1 || decimalPort(rest.dropFirst()) != nil)
    }

    /// Returns the value of a field, with those of repeated lines joined by commas (RFC 9110 §5.3); nil without one.
    ///
    /// - Parameter name: The name in lowercase.
    package subscript(name: String) -> String? {
        fields[joined: name]
    }
}

extension [HTTPField] {
    /// The value of a field, with those of repeated lines joined by commas (RFC 9110 §5.3); nil without one.
    package subscript(joined name: String) -> String? {
        let values = lazy.filter { $0.name == name }.map(\.value)
        return values.isEmpty ? nil : values.joined(separator: ", ")
    }

    /// Whether a field that is a list has an element. Elements are compared without case.
    package func list(_ name: String, contains element: String) -> Bool {
        self[joined: name].map { $0.lowercased().split(separator: ",").contains { $0.trimmingSpaces == element } }
            ?? false
    }
}

/// A field of a request or a response.
package struct HTTPField: Sendable, Equatable {
    /// The name, in lowercase in a request.
    package var name: String
    /// The value without the surrounding spaces.
    package var value: String

    package init(_ name: String, _ value: String) {
        self.name = name
        self.value = value
    }
}

/// A fault of a peer's request. The raw value is the status of the response, after which the connection ends.
package enum HTTPFault: UInt16, Error, CaseIterable {
    /// The bytes are no request.
    case malformed = 400
    /// The content has no length that is known in advance.
    case lengthRequired = 411
    /// The content is longer than ``HTTPRequestParser/maxBodyByteCount``.
    case contentTooLarge = 413
    /// The field Expect has a value other than 100-continue.
    case expectationFailed = 417
    /// The request line and the fields are longer than ``HTTPRequestParser/maxHeadByteCount``, or there are more than
    /// ``HTTPRequestParser/maxFieldCount`` fields.
    case headTooLarge = 431
    /// The major version is not 1.
    case unsupportedVersion = 505
}
