// Generated from Specs/registry.json by Scripts/generate-registries. Do not edit.

extension FrameFlags {
    /// The frame has a sequence and is kept by the sender until acknowledged.
    @inlinable
    public static var reliable: FrameFlags { FrameFlags(rawValue: 0x01) }
    /// Another fragment of the same message follows.
    @inlinable
    public static var moreFragments: FrameFlags { FrameFlags(rawValue: 0x02) }
    /// The sender requests an acknowledgement without delay.
    @inlinable
    public static var ackNow: FrameFlags { FrameFlags(rawValue: 0x04) }
    /// The checksum field is set. Version 1.0 requires it.
    @inlinable
    public static var checksummed: FrameFlags { FrameFlags(rawValue: 0x08) }
    /// The bits that version 1.0 reserves. A frame with one of them is refused.
    @inlinable
    public static var reserved: FrameFlags { FrameFlags(rawValue: 0xC0) }
}
