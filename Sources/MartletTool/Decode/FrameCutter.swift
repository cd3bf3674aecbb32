import MartletWire

/// One way of a connection as frames: cuts them from the stream and says where each begins.
///
/// It goes on until the first fault and then stays there; it never looks for the next magic.
final class FrameCutter {
    /// A frame as it was sent.
    struct Cut {
        var header: FrameHeader
        var body: [UInt8]
        var offset: Int
    }

    private var framer: Framer
    /// Where the next frame begins, in bytes from the start of the stream.
    private(set) var offset = 0
    /// How many frames were whole.
    private(set) var frameCount = 0
    /// Why no more frames come.
    private(set) var fault: Fault?
    private var input: [UInt8] = []
    private var consumedByteCount = 0
    /// Where the unit begins that the last frame was in; several frames may be in one packet.
    private var unitOffset = 0
    private var streamByteCount = 0

    /// A cutter at the start of a stream.
    init(maxBodyByteCount: Int) {
        framer = Framer(maxBodyByteCount: maxBodyByteCount)
    }

    /// How many bytes a body may have, from the next header on.
    var maxBodyByteCount: Int {
        get { framer.maxBodyByteCount }
        set { framer.maxBodyByteCount = newValue }
    }

    /// Packets may come from here on.
    func allowPackets(deflated: Bool) { framer.allowPackets(deflated: deflated) }

    /// The header of the frame whose body is incomplete.
    var pendingHeader: FrameHeader? { framer.pendingHeader }

    /// How many bytes of an incomplete frame are there.
    var bufferedByteCount: Int { framer.bufferedByteCount }

    /// Takes bytes; frames are asked for one by one.
    func feed(_ bytes: [UInt8]) {
        input = bytes
        consumedByteCount = 0
    }

    /// The next frame, `nil` when the bytes do not reach.
    func next() throws(Fault) -> Cut? {
        if let fault { throw fault }
        let rest = input[consumedByteCount...]
        let begun = framer.pendingHeader
        let heldByteCount = framer.bufferedByteCount
        let unitOffset = framer.hasWaitingFrames ? unitOffset : offset
        var cut: Cut?
        do throws(WireError) {
            let byteCount = try framer.consume(rest.rawBytes) { header, body in
                // A frame that was in a packet has no checksum of its own.
                var sealed = header
                sealed.seal(bodyChecksum: CRC32.checksum(body))
                cut = Cut(header: sealed, body: [UInt8](copying: body), offset: unitOffset)
                return .stop
            }
            consumedByteCount += byteCount
            streamByteCount += byteCount
        } catch {
            var fault = Fault(error)
            // Where the header itself was right, it tells which frame it was.
            let limit = FrameHeader.largestBodyByteCount
            fault.header =
                begun
                ?? (heldByteCount == 0 ? try? FrameHeader(parsing: rest.rawBytes, maxBodyByteCount: limit) : nil)
            throw fail(fault)
        }
        if let cut {
            self.unitOffset = cut.offset
            offset = streamByteCount
            frameCount += 1
        }
        return cut
    }

    /// Ends the stream with a fault of a frame, and gives it back.
    func fail(_ fault: Fault) -> Fault {
        self.fault = fault
        input = []
        consumedByteCount = 0
        return fault
    }

    /// The stream has ended. Throws when that is inside a frame.
    func finish() throws(Fault) {
        if fault != nil { return }
        let header = framer.pendingHeader
        do throws(WireError) { try framer.finish() } catch {
            var fault = Fault(error)
            fault.header = header
            throw fail(fault)
        }
    }
}
