import MartletWire

/// Round trips: an encoded and parsed frame equals the original, and its encoding is unique.
///
/// Input: a byte that selects a program for a frame, a type and a body, or a header.
enum DifferentialTarget {
    static func run(_ input: RawSpan) {
        var program = ByteProgram(input)
        switch program.byte() % 4 {
        case 0, 1: check(FrameMaker.frame(&program))
        case 2:
            let type = program.pick(FrameType.known)
            checkBody(of: type, program.rest())
        default: checkHeader(FrameMaker.header(&program), body: program.rest())
        }
    }

    /// Checks a generated value.
    private static func check(_ frame: Frame) {
        let bytes = frame.encode()
        hold(TLVRules.areKept(by: bytes), "an encoded body is malformed")
        do throws(WireError) {
            let parsed = try Frame.parse(type: frame.type, body: bytes.rawBytes)
            hold(parsed == frame, "\(frame) is parsed as \(parsed)")
            hold(parsed.encode() == bytes, "\(frame) has another encoding the second time")
        } catch {
            hold(false, "\(frame) is not parsed: \(error)")
        }
        checkShortcuts(frame, bytes)
    }

    /// Checks an arbitrary body.
    private static func checkBody(of type: FrameType, _ body: [UInt8]) {
        guard let frame = try? Frame.parse(type: type, body: body.rawBytes) else { return }
        check(frame)
        checkShortcuts(frame, body)
    }

    /// Checks that parsers of single fields agree with the parser of the frame.
    private static func checkShortcuts(_ frame: Frame, _ body: [UInt8]) {
        switch frame {
        case .message(let message):
            hold(MessageView.counter(in: body.rawBytes) == message.counter, "the counter alone differs")
            hold(MessageView.offset(in: body.rawBytes) == message.relay?.offset, "the offset alone differs")
            checkStamping(message)
        case .request(let request):
            hold(Request.correlation(in: body.rawBytes) == request.correlation, "the correlation alone differs")
        case .ack(let ack):
            hold(ack.byteCount == ack.encode().count, "an ack differs from its length")
        default: break
        }
    }

    /// Checks that a relay's stamp preserves the rest of a client's message.
    private static func checkStamping(_ message: Message) {
        let client = Message(
            counter: message.counter, content: message.content, timeToLive: message.timeToLive
        ).encode()
        let stamp =
            message.relay
            ?? RelayStamp(offset: 7, acceptedAt: 8, sender: AccountName("a"), device: DeviceID(rawValue: 9))
        let stamped = Message.encodeRelay(
            offset: stamp.offset, acceptedAt: stamp.acceptedAt, sender: stamp.sender, device: stamp.device,
            clientBody: client.rawBytes)
        let whole = Message(
            counter: message.counter, content: message.content, timeToLive: message.timeToLive, relay: stamp)
        hold((try? Message(parsing: stamped.rawBytes)) == whole, "a stamped message differs")
        hold(stamped.count - client.count <= RelayStamp.maxByteCount, "a stamp exceeds its maximum length")
    }

    /// Checks a header and its body as one frame, through the framer.
    private static func checkHeader(_ header: FrameHeader, body: [UInt8]) {
        let bytes = header.frame(body: body.rawBytes)
        var framer = Framer(maxBodyByteCount: body.count)
        var count = 0
        do throws(WireError) {
            let consumed = try framer.consume(bytes.rawBytes) { parsed, view in
                count += 1
                var sealed = header
                sealed.bodyByteCount = UInt32(body.count)
                sealed.seal(bodyChecksum: CRC32.checksum(body.rawBytes))
                hold(parsed == sealed, "\(sealed) is parsed as \(parsed)")
                hold(view.hasSameBytes(as: body.rawBytes), "the body is parsed as another")
                return .proceed
            }
            hold(consumed == bytes.count && count == 1, "one frame is parsed as \(count) frames")
        } catch {
            hold(false, "\(header) is not parsed: \(error)")
        }
    }
}

/// The reference rules for well-formed bodies.
enum TLVRules {
    static func areKept(by body: [UInt8]) -> Bool {
        SimpleTLV.fault(of: body.rawBytes) == nil
    }
}
