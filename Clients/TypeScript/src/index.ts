// The public interface of the client.

export { Client, type ClientEvents, type ClientOptions, type RoomEntry } from './api/client.js'
export { CodeError, type LocalCode } from './api/errors.js'
export type { FileDescription } from './api/attachments.js'
export { Outgoing } from './api/outgoing.js'
export { type From, type Message, Room, type RoomEvents, type SendOptions, targetOf } from './api/room.js'
export type { Carrier, CarrierEvents, Connect } from './carriers/carrier.js'
export type { ConnectionState, StoredMessage } from './client/events.js'
export { bytesOfTLVs, encodeContent, parseContent, textContent } from './messages/tlvs.js'
export type { Outbox } from './outbox/outbox.js'
export { codeName, WireError } from './wire/errors.js'
export { Code, Kind, Tag } from './wire/registry.generated.js'
