// A WebSocket by the library wslay: carries bytes between the descriptor LOCAL, a stream socket, and the descriptor
// SOCKET, a connection whose upgrade is complete.
//
//     wslay LOCAL SOCKET
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/random.h>
#include <sys/socket.h>
#include <unistd.h>
#include <wslay/wslay.h>

enum { MAX_QUEUED = 1 << 20 };

static int local, peer;

static ssize_t receive(
    wslay_event_context_ptr context, uint8_t *bytes, size_t count, int flags, void *unused) {
    ssize_t result = recv(peer, bytes, count, 0);
    if (result > 0) return result;
    int waits = result < 0 && (errno == EAGAIN || errno == EINTR);
    wslay_event_set_error(context, waits ? WSLAY_ERR_WOULDBLOCK : WSLAY_ERR_CALLBACK_FAILURE);
    return -1;
}

static ssize_t transmit(
    wslay_event_context_ptr context, const uint8_t *bytes, size_t count, int flags, void *unused) {
    ssize_t result = send(peer, bytes, count, MSG_NOSIGNAL);
    if (result >= 0) return result;
    int waits = errno == EAGAIN || errno == EINTR;
    wslay_event_set_error(context, waits ? WSLAY_ERR_WOULDBLOCK : WSLAY_ERR_CALLBACK_FAILURE);
    return -1;
}

static int mask(wslay_event_context_ptr context, uint8_t *bytes, size_t count, void *unused) {
    return getrandom(bytes, count, 0) == (ssize_t)count ? 0 : -1;
}

static void received(
    wslay_event_context_ptr context, const struct wslay_event_on_msg_recv_arg *message, void *unused) {
    if (message->opcode == WSLAY_TEXT_FRAME) exit(2);
    if (message->opcode != WSLAY_BINARY_FRAME) return;
    for (size_t sent = 0; sent < message->msg_length;) {
        ssize_t part = send(local, message->msg + sent, message->msg_length - sent, MSG_NOSIGNAL);
        if (part < 0 && errno != EINTR) return;
        if (part > 0) sent += (size_t)part;
    }
}

int main(int count, char **arguments) {
    if (count != 3) return 64;
    local = atoi(arguments[1]);
    peer = atoi(arguments[2]);
    fcntl(peer, F_SETFL, fcntl(peer, F_GETFL) | O_NONBLOCK);
    struct wslay_event_callbacks callbacks = {receive, transmit, mask, NULL, NULL, NULL, received};
    wslay_event_context_ptr context;
    if (wslay_event_context_client_init(&context, &callbacks, NULL) != 0) return 1;
    int has_ended = 0;
    while (wslay_event_want_read(context) || wslay_event_want_write(context)) {
        int has_room = !has_ended && wslay_event_get_queued_msg_length(context) < MAX_QUEUED;
        struct pollfd ready[2] = {{has_room ? local : -1, POLLIN, 0}, {peer, 0, 0}};
        if (wslay_event_want_read(context)) ready[1].events |= POLLIN;
        if (wslay_event_want_write(context)) ready[1].events |= POLLOUT;
        if (poll(ready, 2, -1) < 0) continue;
        if (ready[0].revents) {
            static uint8_t bytes[1 << 16];
            ssize_t part = recv(local, bytes, sizeof bytes, 0);
            struct wslay_event_msg message = {WSLAY_BINARY_FRAME, bytes, part > 0 ? (size_t)part : 0};
            if (part > 0) wslay_event_queue_msg(context, &message);
            has_ended = part <= 0;
            if (has_ended) wslay_event_queue_close(context, WSLAY_CODE_NORMAL_CLOSURE, NULL, 0);
        }
        if (ready[1].revents & (POLLIN | POLLHUP | POLLERR) && wslay_event_recv(context) != 0) return 0;
        if (ready[1].revents & POLLOUT && wslay_event_send(context) != 0) return 0;
    }
    return 0;
}
