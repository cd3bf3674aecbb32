package import MartletWire

extension Framer {
    /// The bytes of all calls of `transmit` until it appends nothing.
    package static func drain(_ transmit: (inout OutputRawSpan) -> Void) -> [UInt8] {
        var all: [UInt8] = []
        while true {
            let bytes = [UInt8](capacity: 64 * 1024, transmit)
            if bytes.isEmpty { return all }
            all += bytes
        }
    }
}
