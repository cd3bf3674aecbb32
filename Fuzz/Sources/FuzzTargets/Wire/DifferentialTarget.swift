import MartletWire

/// Frames there and back: a frame that is encoded and parsed is equal to itself, and its encoding is its only one.
///
/// Input: a byte that says whether a program for a frame follows, or a type and a body, or a header.
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

    /// A value that the program made.
    private static func check(_ frame: Frame) {
        let bytes = frame.encode()
        hold(TLVRules.areKept(by: bytes), "what was encoded is not well-formed")
        do throws(WireError) {
            let parsed = try Frame.parse(type: frame.type, body: bytes.rawBytes)
            hold(parsed == frame, "\(frame) comes back as \(parsed)")
            hold(parsed.encode() == bytes, "\(frame) is encoded otherwise the second time")
        } catch {
            hold(false, "\(frame) does not come back: \(error)")
        }
        checkShortcuts(frame, bytes)
    }

    /// A body that anybody may have made.
    private static func checkBody(of type: FrameType, _ body: [UInt8]) {
        guard let frame = try? Frame.parse(type: type, body: body.rawBytes) else { return }
        check(frame)
        checkShortcuts(frame, body)
    }

    /// What looks at one field says what the whole frame says.
    private static func checkShortcuts(_ frame: Frame, _ body: [UInt8]) {
        switch frame {
        case .message(let message):
            hold(MessageView.counter(in: body.rawBytes) == message.counter, "the counter alone is another")
            hold(MessageView.offset(in: body.rawBytes) == message.relay?.offset, "the offset alone is another")
            checkStamping(message)
        case .request(let request):
            hold(Request.correlation(in: body.rawBytes) == request.correlation, "the correlation alone is another")
        case .ack(let ack):
            hold(ack.byteCount == ack.encode().count, "an ack is not as long as it says")
        default: break
        }
    }

    /// What a relay puts in front of a client's message leaves the rest as it was.
    private static func checkStamping(_ message: Message) {
        let client = Message(
            counter: message.counter, content: message.content, timeToLive: message.timeToLive
        ).encode()
        let stamp =
            message.relay
            ?? RelayStamp(offset: 7, acceptedAt: 8, sender: AccountName("a")!, device: DeviceID(rawValue: 9))
        let stamped = Message.encodeRelay(
            offset: stamp.offset, acceptedAt: stamp.acceptedAt, sender: stamp.sender, device: stamp.device,
            clientBody: client.rawBytes)
        let whole = Message(
            counter: message.counter, content: message.content, timeToLive: message.timeToLive, relay: stamp)
        hold((try? Message(parsing: stamped.rawBytes)) == whole, "a stamped message is another")
        hold(stamped.count - client.count <= RelayStamp.maxByteCount, "a stamp is longer than any")
    }

    /// A header and its body as one frame, through the framer.
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
                hold(parsed == sealed, "\(sealed) comes back as \(parsed)")
                hold(view.hasSameBytes(as: body.rawBytes), "the body comes back as another")
                return .proceed
            }
            hold(consumed == bytes.count && count == 1, "one frame comes back as \(count)")
        } catch {
            hold(false, "\(header) does not come back: \(error)")
        }
    }
}

/// Whether a body is well-formed, said in one place.
enum TLVRules {
    static func areKept(by body: [UInt8]) -> Bool {
        SimpleTLV.fault(of: body.rawBytes) == nil
    }
}
