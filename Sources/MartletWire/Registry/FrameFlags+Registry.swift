// Generated from Specs/registry.json by Scripts/generate-registries. Do not edit.

extension FrameFlags {
    /// Counted, kept by the sender and acknowledged by the receiver.
    @inlinable
    public static var reliable: FrameFlags { FrameFlags(rawValue: 0x01) }
    /// Another fragment of the same message follows.
    @inlinable
    public static var moreFragments: FrameFlags { FrameFlags(rawValue: 0x02) }
    /// The sender would like an acknowledgement without delay.
    @inlinable
    public static var ackNow: FrameFlags { FrameFlags(rawValue: 0x04) }
    /// The checksum field is set; version 1.0 demands it.
    @inlinable
    public static var checksummed: FrameFlags { FrameFlags(rawValue: 0x08) }
    /// The bits that version 1.0 reserves; a frame that sets one is refused.
    @inlinable
    public static var reserved: FrameFlags { FrameFlags(rawValue: 0xC0) }
}
