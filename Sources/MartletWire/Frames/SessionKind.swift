extension TLVView {
    func sessionKind() throws(WireError) -> SessionKind {
        guard let kind = SessionKind(rawValue: try uint8()) else { throw .invalidValue(tag) }  // S-51
        return kind
    }
}
