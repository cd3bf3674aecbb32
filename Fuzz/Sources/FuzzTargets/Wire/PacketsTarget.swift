import MartletWire

/// Packets: any bytes give the same frames for any split, and packed frames are restored.
///
/// Input: a byte of options, then packets whose payloads are preceded by a length byte, or a program for frames.
enum PacketsTarget {
    private static let limit = 20 << 10

    static func run(_ input: RawSpan) {
        var program = ByteProgram(input)
        let options = program.byte()
        if options & 1 == 0 {
            checkReading(&program, isDeflated: options & 2 != 0, cut: 1 + Int(options >> 2))
        } else {
            checkRoundTrip(&program, size: options & 2 == 0 ? nil : options & 4 == 0 ? .small : .large)
        }
    }

    // MARK: Any bytes

    private struct Outcome: Equatable {
        var frames: [[UInt8]] = []
        var error: WireError?
    }

    private static func checkReading(_ program: inout ByteProgram, isDeflated: Bool, cut: Int) {
        var stream: [UInt8] = []
        while !program.isAtEnd {
            // Short and long heads, plain and deflated packets. The framer checks lengths.
            let kind = program.byte()
            let payload = program.string(unit: kind & 1 == 0 ? 1 : 16)
            stream += packet(payload, isDeflated: kind & 2 != 0, isShort: kind & 4 == 0)
        }
        let whole = read(stream, isDeflated, pieces: [stream[...]])
        let pieces = stride(from: 0, to: stream.count, by: cut).map { stream[$0..<min($0 + cut, stream.count)] }
        let other = read(stream, isDeflated, pieces: pieces)
        hold(whole == other, "cut after each \(cut) bytes, the stream gives \(other), not \(whole)")
    }

    private static func packet(_ payload: [UInt8], isDeflated: Bool, isShort: Bool) -> [UInt8] {
        var bytes: [UInt8] =
            !isDeflated && isShort && payload.count < 0x80
            ? [UInt8(payload.count)]
            : [(isDeflated ? 0xA0 : 0xC0) | UInt8(truncatingIfNeeded: payload.count >> 8), UInt8(payload.count & 0xFF)]
        bytes += payload
        let checksum = CRC32.checksum(bytes.rawBytes)
        for shift in [24, 16, 8, 0] { bytes.append(UInt8(truncatingIfNeeded: checksum >> UInt32(shift))) }
        return bytes
    }

    private static func read(_ stream: [UInt8], _ isDeflated: Bool, pieces: [ArraySlice<UInt8>]) -> Outcome {
        var framer = Framer(maxBodyByteCount: limit)
        framer.allowPackets(deflated: isDeflated)
        var outcome = Outcome()
        do throws(WireError) {
            for piece in pieces {
                var frames: [[UInt8]] = []
                defer { outcome.frames += frames }
                _ = try framer.consume(piece.rawBytes) { header, body in
                    hold(body.byteCount <= limit, "a body of \(body.byteCount) bytes")
                    hold(header.flags.isDisjoint(with: .reserved), "reserved flags")
                    frames.append(header.frame(body: body))
                    return .proceed
                }
            }
            try framer.finish()
        } catch {
            outcome.error = error
        }
        return outcome
    }

    // MARK: Frames

    private static func checkRoundTrip(_ program: inout ByteProgram, size: DeflateStream.Size?) {
        let writer = PacketWriter(deflates: size)
        var framer = Framer(maxBodyByteCount: .max)
        framer.allowPackets(deflated: size != nil)
        while !program.isAtEnd {
            let batch = (0..<1 + program.below(8)).map { _ in frame(&program) }
            let byteCount = batch.reduce(0) { $0 + $1.count }
            let ends = program.byte() == 1
            let packed = unsafe [UInt8](unsafeUninitializedCapacity: byteCount + 64) { buffer, count in
                var out = unsafe OutputRawSpan(buffer: UnsafeMutableRawBufferPointer(buffer), initializedCount: 0)
                for frame in batch { append(frame, to: .compact(writer), into: &out) }
                _ = FrameEncoder.compact(writer).finish(into: &out)
                if ends { writer.endStream(into: &out) }
                count = unsafe out.finalize(for: UnsafeMutableRawBufferPointer(buffer))
            }
            hold(packed.count <= byteCount + 8, "\(packed.count) bytes of packets for \(byteCount) of frames")
            var found: [[UInt8]] = []
            do throws(WireError) {
                _ = try framer.consume(packed.rawBytes) { header, body in
                    found.append(header.frame(body: body))
                    return .proceed
                }
            } catch {
                hold(false, "what was packed is refused: \(error)")
            }
            hold(found.map(timeless) == batch.map(timeless), "the restored frames differ")
        }
    }

    @_lifetime(out: copy out)
    private static func append(_ frame: [UInt8], to encoder: FrameEncoder, into out: inout OutputRawSpan) {
        do throws(WireError) { try encoder.append(encoded: frame.rawBytes, into: &out) } catch {
            hold(false, "what was made is no frame: \(error)")
        }
    }

    private static func frame(_ program: inout ByteProgram) -> [UInt8] {
        var header = FrameMaker.header(&program)
        if program.bool() {
            let frame = FrameMaker.frame(&program)
            header.version = .current
            header.type = frame.type
            header.compression = .none
            return header.frame(body: frame.encode().rawBytes)
        }
        return header.frame(body: program.string(unit: 4).rawBytes)
    }

    /// A frame without its timestamp and checksum, because a writer may omit timestamps.
    private static func timeless(_ frame: [UInt8]) -> [UInt8] { Array(frame[..<12] + frame[16..<24] + frame[28...]) }
}
