import CMartletTLS
import MartletWire

extension PeerCertificate {
    /// Adds the names in the form of `martlet_tls_read_peer`. Returns false if one of them is not UTF-8.
    mutating func add(names bytes: ArraySlice<UInt8>) -> Bool {
        var rest = bytes
        while rest.count >= 3 {
            let header = Array(rest.prefix(3))
            let count = Int(header[1]) << 8 | Int(header[2])
            let name = rest.dropFirst(3).prefix(count)
            rest = rest.dropFirst(3 + count)
            guard name.count == count, let text = String(validating: name, as: UTF8.self) else { return false }
            switch martlet_tls_name_kind(UInt32(header[0])) {
            case martlet_tls_name_common: commonName = text
            case martlet_tls_name_host: hostNames.append(text)
            case martlet_tls_name_email: emailAddresses.append(text)
            default: uris.append(text)
            }
        }
        return rest.isEmpty
    }
}
