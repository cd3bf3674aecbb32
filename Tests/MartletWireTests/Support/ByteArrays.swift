import MartletWire

// Tests often pass temporary arrays, from which a span cannot be borrowed.

extension CRC32 {
    static func checksum(of bytes: [UInt8], continuing crc: UInt32 = 0) -> UInt32 {
        checksum(bytes.rawBytes, continuing: crc)
    }
}

extension FrameHeader {
    func frame(body: [UInt8]) -> [UInt8] {
        frame(body: body.rawBytes)
    }

    func verify(body: [UInt8]) throws(WireError) {
        try verify(body: body.rawBytes)
    }
}

extension RingBuffer {
    mutating func write(_ bytes: [UInt8]) -> Int {
        write(bytes.rawBytes)
    }
}

extension Framer {
    mutating func consume(
        _ input: ArraySlice<UInt8>, _ frame: (FrameHeader, RawSpan) throws(WireError) -> FramerStep
    ) throws(WireError) -> Int {
        try consume(input.rawBytes, frame)
    }
}

extension TLVTree {
    init(parsing body: [UInt8]) throws(WireError) {
        try self.init(parsing: body.rawBytes)
    }
}

extension TLVValidator {
    static func validate(_ body: [UInt8]) throws(WireError) {
        try validate(body.rawBytes)
    }
}
