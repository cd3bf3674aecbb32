extension Array where Element == UInt8 {
    /// The bytes of the array, borrowed.
    @inlinable
    package var rawBytes: RawSpan {
        @_lifetime(borrow self)
        get { unsafe span.bytes }
    }

    /// Creates an array with a copy of `bytes`.
    @inlinable
    package init(copying bytes: RawSpan) {
        self = unsafe bytes.withUnsafeBytes { unsafe Array($0) }
    }

    /// Creates an array of the bytes that `fill` appends, at most `capacity`.
    package init(capacity: Int, _ fill: (inout OutputRawSpan) throws -> Void) rethrows {
        self = try unsafe Array(unsafeUninitializedCapacity: capacity) { buffer, count in
            var output = unsafe OutputRawSpan(buffer: UnsafeMutableRawBufferPointer(buffer), initializedCount: 0)
            try fill(&output)
            count = unsafe output.finalize(for: UnsafeMutableRawBufferPointer(buffer))
        }
    }

    /// Appends a copy of `bytes`.
    @inlinable
    package mutating func append(bytes: RawSpan) {
        unsafe bytes.withUnsafeBytes { unsafe append(contentsOf: $0) }
    }

    /// Appends an integer, most significant byte first.
    @inlinable
    package mutating func append(bigEndian value: some FixedWidthInteger & BitwiseCopyable) {
        unsafe Swift.withUnsafeBytes(of: value.bigEndian) { unsafe append(contentsOf: $0) }
    }
}

extension ArraySlice where Element == UInt8 {
    /// The bytes of the slice, borrowed. Offsets in the span start at 0.
    @inlinable
    package var rawBytes: RawSpan {
        @_lifetime(borrow self)
        get { unsafe span.bytes }
    }
}

extension RawSpan {
    /// Returns the integer at a byte offset, most significant byte first.
    ///
    /// - Precondition: The integer lies within the span.
    @inlinable @inline(__always)
    package func loadBigEndian<Value: FixedWidthInteger & BitwiseCopyable>(at offset: Int, as: Value.Type) -> Value {
        precondition(offset >= 0 && offset <= byteCount &- MemoryLayout<Value>.size, "the integer exceeds the span")
        return unsafe Value(bigEndian: unsafeLoadUnaligned(fromUncheckedByteOffset: offset, as: Value.self))
    }

    /// Returns the byte at an offset.
    ///
    /// - Precondition: The byte lies within the span.
    @inlinable @inline(__always)
    package func loadUInt8(at offset: Int) -> UInt8 { loadBigEndian(at: offset, as: UInt8.self) }

    /// Returns the big-endian 16-bit integer at a byte offset.
    ///
    /// - Precondition: The integer lies within the span.
    @inlinable @inline(__always)
    package func loadUInt16(at offset: Int) -> UInt16 { loadBigEndian(at: offset, as: UInt16.self) }

    /// Returns the big-endian 32-bit integer at a byte offset.
    ///
    /// - Precondition: The integer lies within the span.
    @inlinable @inline(__always)
    package func loadUInt32(at offset: Int) -> UInt32 { loadBigEndian(at: offset, as: UInt32.self) }

    /// Returns the big-endian 64-bit integer at a byte offset.
    ///
    /// - Precondition: The integer lies within the span.
    @inlinable @inline(__always)
    package func loadUInt64(at offset: Int) -> UInt64 { loadBigEndian(at: offset, as: UInt64.self) }

    /// Returns whether both spans contain the same bytes.
    package func hasSameBytes(as other: RawSpan) -> Bool {
        guard byteCount == other.byteCount else { return false }
        guard byteCount >= 8 else {
            for offset in 0..<byteCount where loadUInt8(at: offset) != other.loadUInt8(at: offset) { return false }
            return true
        }
        for offset in stride(from: 0, to: byteCount &- 8, by: 8)
        where loadUInt64(at: offset) != other.loadUInt64(at: offset) { return false }
        // The last eight bytes overlap the previous word if the length is not a multiple of eight.
        return loadUInt64(at: byteCount &- 8) == other.loadUInt64(at: byteCount &- 8)
    }

    /// Returns whether these bytes are in front of others in lexicographic order.
    func precedes(_ other: RawSpan) -> Bool {
        let count = min(byteCount, other.byteCount)
        var offset = 0
        while count &- offset >= 8 {
            let (left, right) = (loadUInt64(at: offset), other.loadUInt64(at: offset))
            if left != right { return left < right }
            offset &+= 8
        }
        while offset < count {
            let (left, right) = (loadUInt8(at: offset), other.loadUInt8(at: offset))
            if left != right { return left < right }
            offset &+= 1
        }
        return byteCount < other.byteCount
    }
}

extension OutputRawSpan {
    /// Appends a copy of `bytes`.
    ///
    /// - Precondition: The bytes fit into `freeCapacity`.
    @inlinable
    @_lifetime(self: copy self)
    package mutating func append(bytes: RawSpan) {
        precondition(bytes.byteCount <= freeCapacity, "the bytes do not fit")
        unsafe withUnsafeMutableBytes { buffer, initializedCount in
            let free = unsafe UnsafeMutableRawBufferPointer(rebasing: buffer[initializedCount...])
            unsafe bytes.withUnsafeBytes { unsafe free.copyMemory(from: $0) }
            initializedCount += bytes.byteCount
        }
    }

    /// Appends an integer, most significant byte first.
    ///
    /// - Precondition: The integer fits into `freeCapacity`.
    @inlinable
    @_lifetime(self: copy self)
    package mutating func append(bigEndian value: some FixedWidthInteger & BitwiseCopyable) {
        unsafe append(value.bigEndian, as: type(of: value))
    }

    /// Overwrites initialized bytes with an integer, most significant byte first.
    ///
    /// - Precondition: The integer lies within the initialized bytes.
    @_lifetime(self: copy self)
    package mutating func store<Value: FixedWidthInteger & BitwiseCopyable>(bigEndian value: Value, at offset: Int) {
        var bytes = mutableBytes
        bytes.storeBytes(of: value.bigEndian, toByteOffset: offset, as: Value.self)
    }

    /// Moves the initialized bytes from `offset` to the end by `distance` bytes; a negative distance moves them towards
    /// the start.
    ///
    /// - Precondition: The moved bytes start at or after 0 and fit into the capacity.
    @_lifetime(self: copy self)
    package mutating func moveTail(from offset: Int, by distance: Int) {
        precondition(offset <= byteCount && offset + distance >= 0 && distance <= freeCapacity, "the bytes do not fit")
        unsafe withUnsafeMutableBytes { buffer, initializedCount in
            let tail = unsafe UnsafeRawBufferPointer(rebasing: buffer[offset..<initializedCount])
            unsafe UnsafeMutableRawBufferPointer(rebasing: buffer[(offset + distance)...]).copyMemory(from: tail)
            initializedCount += distance
        }
    }
}

/// Returns a number as `0x` and all its hexadecimal digits.
func hexadecimal<Value: FixedWidthInteger & UnsignedInteger>(_ value: Value) -> String {
    let digits = String(value, radix: 16, uppercase: true)
    return "0x" + String(repeating: "0", count: Value.bitWidth / 4 - digits.count) + digits
}
