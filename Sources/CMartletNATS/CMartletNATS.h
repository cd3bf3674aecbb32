// libnats, the client library of NATS.
#include <nats/nats.h>
