/// Memory with a packed element's bytes, behind their number, or none.
@safe
struct PackedBytes {
    private static let headByteCount = MemoryLayout<UInt16>.size
    private let memory: UnsafeMutableRawPointer?

    /// Those at an address; none at 0.
    init(address: UInt = 0) {
        unsafe memory = UnsafeMutableRawPointer(bitPattern: address)
    }

    /// Even, as allocators give it; 0 when there are none.
    var address: UInt { unsafe UInt(bitPattern: memory) }

    /// Bytes taken, the number included, beside what the allocator adds.
    var byteCount: Int {
        guard let memory = unsafe memory else { return 0 }
        return unsafe Self.headByteCount + Int(memory.loadUnaligned(as: UInt16.self))
    }

    /// The same with what the allocator adds.
    var takenByteCount: Int { Self.room(for: byteCount) + 8 }

    /// Lends the bytes; there must be some.
    func read<Value>(_ body: (RawSpan) -> Value) -> Value {
        guard let memory = unsafe memory else { preconditionFailure("nothing is packed") }
        let start = unsafe memory + Self.headByteCount
        return unsafe body(RawSpan(_unsafeStart: start, byteCount: byteCount - Self.headByteCount))
    }

    /// Other bytes, at most `UInt16.max`, in the same memory where they fit and take half of it at least.
    func replaced(by bytes: [UInt8]) -> PackedBytes {
        let needed = Self.headByteCount + bytes.count
        let place: UnsafeMutableRawPointer
        if let memory = unsafe memory, case let room = Self.room(for: byteCount), (room / 2...room).contains(needed) {
            unsafe place = memory
        } else {
            deallocate()
            unsafe place = .allocate(byteCount: Self.room(for: needed), alignment: Self.headByteCount)
        }
        unsafe place.storeBytes(of: UInt16(bytes.count), as: UInt16.self)
        unsafe (place + Self.headByteCount).copyMemory(from: bytes, byteCount: bytes.count)
        return PackedBytes(address: UInt(bitPattern: place))
    }

    func deallocate() {
        unsafe memory?.deallocate()
    }

    /// What an allocator takes for so many bytes anyway: blocks of 16, less the 8 that it needs itself.
    private static func room(for byteCount: Int) -> Int {
        max(24, (byteCount + 7) / 16 * 16 + 8)
    }
}
