// Generated from Specs/registry.json by Scripts/generate-registries. Do not edit.

import MartletWire

/// The types whose body is a list of fields.
let listedFrameCases = [
    FrameCase(.accepted, required: [.acceptedRun], repeats: [.acceptedRun: 256]),
    FrameCase(.ping, required: [.nonce]),
    FrameCase(.pong, required: [.nonce, .echo]),
    FrameCase(
        .hello, required: [.spokenVersion, .features, .limits, .device, .account], repeats: [.spokenVersion: 16],
        texts: [.account: 1...128, .mechanism: 1...32, .agent: 0...128], opaque: [.credential]),
    FrameCase(
        .reject, required: [.code], repeats: [.spokenVersion: 16], texts: [.reason: 0...256, .redirect: 1...512]),
    FrameCase(
        .goaway, required: [.code], repeats: [.spokenVersion: 16], texts: [.reason: 0...256, .redirect: 1...512]),
    FrameCase(.auth, required: [], opaque: [.credential]),
    FrameCase(.open, required: [.room, .sessionKind, .cursor], texts: [.room: 1...128]),
    FrameCase(.opened, required: [.head, .first], repeats: [.member: 256], texts: [.member: 1...128]),
    FrameCase(.close, required: [], texts: [.reason: 0...256]),
    FrameCase(.reset, required: [.session, .code], texts: [.reason: 0...256]),
    FrameCase(.suspend, required: []),
    FrameCase(.resume, required: []),
    FrameCase(
        .request, required: [.correlation, .method, .deadline],
        texts: [.method: 1...64, .recipient: 1...128, .sender: 1...128]),
    FrameCase(.response, required: [.correlation, .status], texts: [.reason: 0...256]),
    FrameCase(.cancel, required: [.correlation]),
]
