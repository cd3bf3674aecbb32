// The chat message's fields by protobuf, in loops that are called through C.
#include "chat.pb.h"

#include <cstdint>
#include <string>

namespace {

const char text[] = "The bird that never lands: whoever has read this far knows what a martlet is, says Ada.";

void fill(chat::Message &message, uint64_t counter) {
    message.set_offset(4711);
    message.set_accepted_at(1789000000000);
    message.set_device(0x1122334455667788);
    message.set_sender("ada.lovelace@example");
    message.set_counter(1234567 + (counter & 1));
    message.set_kind(0x1001);
    message.set_text(text);
}

}  // namespace

// Into one message that is used again, which is protobuf at its best: its strings keep their storage.
extern "C" uint64_t protobuf_decode(uint64_t count) {
    static const std::string bytes = [] {
        chat::Message message;
        fill(message, 0);
        return message.SerializeAsString();
    }();
    static chat::Message message;
    uint64_t sum = 0;
    for (uint64_t i = 0; i < count; i++) {
        if (!message.ParseFromArray(bytes.data(), static_cast<int>(bytes.size()))) __builtin_trap();
        sum += message.counter() + message.text().size() + message.sender().size();
    }
    return sum;
}

extern "C" uint64_t protobuf_encode(uint64_t count) {
    static chat::Message message;
    char buffer[512];
    uint64_t sum = 0;
    for (uint64_t i = 0; i < count; i++) {
        fill(message, i);
        if (!message.SerializeToArray(buffer, sizeof buffer)) __builtin_trap();
        sum += message.GetCachedSize();
    }
    return sum;
}
