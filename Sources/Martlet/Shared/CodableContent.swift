import MartletWire

/// The content with a value of an application (M-14).
func encoded(_ value: some Encodable) throws(MartletError) -> [UInt8] {
    do { return try ContentValue(encoding: value).encode() } catch { throw .invalidContent(causedBy: error) }
}

/// The value of an application in a content. A missing content has none.
func value<Value: Decodable>(in content: [UInt8]?) throws(MartletError) -> Value {
    let content = content ?? []
    do { return try ContentValue(content: content.rawBytes).decode() } catch {
        throw .invalidContent(causedBy: error)
    }
}
