import MartletWire

/// Splits the stream of one direction into frames with their offsets.
///
/// The first fault ends the stream. The cutter does not search for the next magic (Specs/wire.md §3).
final class FrameCutter {
    /// A frame as it was sent, before inflating and joining.
    struct Cut {
        var header: FrameHeader
        var body: [UInt8]
        var offset: Int
    }

    private var framer: Framer
    /// The offset of the next frame in the stream, in bytes.
    private(set) var offset = 0
    /// The number of complete frames.
    private(set) var frameCount = 0
    /// The fault that ended the stream.
    private(set) var fault: DecodeFault?
    private var input: [UInt8] = []
    private var consumedByteCount = 0
    /// The received bytes of an incomplete header.
    private var head: [UInt8] = []
    /// The offset of the frame or packet that contains the latest frame. A packet contains several frames.
    private var unitOffset = 0
    private var streamByteCount = 0

    /// Creates a cutter for the beginning of a stream.
    init(maxBodyByteCount: Int) {
        framer = Framer(maxBodyByteCount: maxBodyByteCount)
    }

    /// The maximum size of a body, in bytes, from the next header on.
    var maxBodyByteCount: Int {
        get { framer.maxBodyByteCount }
        set { framer.maxBodyByteCount = newValue }
    }

    /// Admits packets from here on.
    func allowPackets(deflated: Bool) { framer.allowPackets(deflated: deflated) }

    /// Whether the next frame must be a hello.
    var expectsHello: Bool {
        get { framer.expectsHello }
        set { framer.expectsHello = newValue }
    }

    /// The number of buffered bytes of an incomplete frame.
    var bufferedByteCount: Int { framer.bufferedByteCount }

    /// Receives bytes; ``next()`` returns the frames in them.
    func feed(_ bytes: [UInt8]) {
        input = bytes
        consumedByteCount = 0
    }

    /// The next frame; nil if more bytes are needed.
    func next() throws(DecodeFault) -> Cut? {
        if let fault { throw fault }
        let rest = input[consumedByteCount...]
        let begun = framer.pendingHeader
        let heldByteCount = framer.bufferedByteCount
        let unitOffset = framer.hasWaitingFrames ? unitOffset : offset
        var cut: Cut?
        do throws(WireError) {
            let byteCount = try framer.consume(rest.rawBytes) { header, body in
                // A frame in a packet has no checksum of its own.
                var sealed = header
                sealed.seal(bodyChecksum: CRC32.checksum(body))
                cut = Cut(header: sealed, body: [UInt8](copying: body), offset: unitOffset)
                return .stop
            }
            let held = framer.bufferedByteCount
            let isInHead = held > 0 && held < FrameHeader.byteCount
            head = isInHead ? Array((head + rest.prefix(byteCount)).suffix(held)) : []
            consumedByteCount += byteCount
            streamByteCount += byteCount
        } catch {
            var fault = DecodeFault(error)
            // A valid header names the frame.
            let limit = FrameHeader.largestBodyByteCount
            let bytes = head + rest.prefix(FrameHeader.byteCount - min(heldByteCount, FrameHeader.byteCount))
            fault.header =
                begun
                ?? (heldByteCount == head.count
                    ? try? FrameHeader(parsing: bytes.rawBytes, maxBodyByteCount: limit) : nil)
            throw fail(fault)
        }
        if let cut {
            self.unitOffset = cut.offset
            offset = streamByteCount
            frameCount += 1
        }
        return cut
    }

    /// Ends the stream with a fault, and returns it.
    func fail(_ fault: DecodeFault) -> DecodeFault {
        self.fault = fault
        input = []
        consumedByteCount = 0
        return fault
    }

    /// Ends the stream. Throws when it ends inside a frame.
    func finish() throws(DecodeFault) {
        if fault != nil { return }
        let header = framer.pendingHeader
        do throws(WireError) { try framer.finish() } catch {
            var fault = DecodeFault(error)
            fault.header = header
            throw fail(fault)
        }
    }
}
