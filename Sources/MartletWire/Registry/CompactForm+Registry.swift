// Generated from Specs/registry.json by Scripts/generate-registries. Do not edit.

extension CompactForm {
    static let announcedType: UInt8 = 0x00
    static let text: UInt8 = 0x20
    static let delivery: UInt8 = 0x21
    static let textAt: UInt8 = 0x22
    static let text16: UInt8 = 0x23
    static let acceptedNext: UInt8 = 0x24
    static let accepted: UInt8 = 0x25
    static let ackNext: UInt8 = 0x26
    static let ack: UInt8 = 0x27

    /// Returns the type of a form; nil for the form that names its type and for unknown forms.
    static func type(of form: UInt8) -> FrameType? {
        switch form {
        case 0x01: .data
        case 0x02: .transient
        case 0x03: .ack
        case 0x04: .receipt
        case 0x05: .accepted
        case 0x06: .gap
        case 0x07: .ping
        case 0x08: .pong
        case 0x09: .hello
        case 0x0A: .welcome
        case 0x0B: .reject
        case 0x0C: .goaway
        case 0x0D: .open
        case 0x0E: .opened
        case 0x0F: .close
        case 0x10: .reset
        case 0x11: .suspend
        case 0x12: .resume
        case 0x13: .request
        case 0x14: .response
        case 0x15: .cancel
        case text, delivery, textAt, text16: .data
        case acceptedNext, accepted: .accepted
        case ackNext, ack: .ack
        default: nil
        }
    }

    /// Returns the form of a type with compact TLVs.
    static func form(of type: FrameType) -> UInt8 {
        switch type {
        case .data: 0x01
        case .transient: 0x02
        case .ack: 0x03
        case .receipt: 0x04
        case .accepted: 0x05
        case .gap: 0x06
        case .ping: 0x07
        case .pong: 0x08
        case .hello: 0x09
        case .welcome: 0x0A
        case .reject: 0x0B
        case .goaway: 0x0C
        case .open: 0x0D
        case .opened: 0x0E
        case .close: 0x0F
        case .reset: 0x10
        case .suspend: 0x11
        case .resume: 0x12
        case .request: 0x13
        case .response: 0x14
        case .cancel: 0x15
        default: announcedType
        }
    }
}
