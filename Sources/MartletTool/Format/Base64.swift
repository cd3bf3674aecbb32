/// Returns bytes as Base64 text (RFC 4648 §4).
func base64(_ bytes: some Collection<UInt8>) -> String {
    let alphabet = Array("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/".utf8)
    var text: [UInt8] = []
    text.reserveCapacity((bytes.count + 2) / 3 * 4)
    var rest = bytes[...]
    while !rest.isEmpty {
        let group = rest.prefix(3)
        rest = rest.dropFirst(3)
        let bits = group.reduce(UInt32(0)) { $0 << 8 | UInt32($1) } << UInt32(8 * (3 - group.count))
        for index in 0..<4 {
            let letter = alphabet[Int(bits >> UInt32(18 - 6 * index) & 63)]
            text.append(index <= group.count ? letter : UInt8(ascii: "="))
        }
    }
    return String(decoding: text, as: UTF8.self)
}
