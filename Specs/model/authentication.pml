/* Model of an authentication exchange (connection.md 6.1): SCRAM with a password, between a client and a server, over a
 * network that an attacker may control.
 *
 * The client makes EXCHANGES connections in turn. On each, the network either carries the messages and may lose them;
 * or an attacker ends the connections of both sides, which have different exporters then. An attacker has no keys. It
 * reads everything, and sends any message whose proof it has seen or which has none. With TLS the proofs contain the
 * exporter of the connection (SCRAM-SHA-256-PLUS); with PLAIN they do not. An operator may revoke the account at any
 * time.
 *
 * Invariants, by the name under which they are asserted below:
 *   PROVED    the server accepts only a proof of the client for these nonces, once
 *   BOUND     with TLS the server accepts no client whose connection an attacker has ended
 *   MUTUAL    the client accepts only a server that has proved that it knows the keys, in this exchange
 *   ANSWERS   the client makes one proof on a connection, and none after a peer has failed to prove itself
 *   EARLY     no early frame is processed before the client is accepted
 *   REVOKED   no client is accepted after the revocation
 *   ENDS      every exchange ends (an invalid end state otherwise)
 *
 * Mutants, one macro each, must be caught: NO_BINDING, REUSED_NONCE, NO_SERVER_PROOF, SECOND_ANSWER, EAGER_FRAMES,
 * LATE_REVOCATION, NO_TIMEOUT.
 */
#ifndef EXCHANGES
#define EXCHANGES 2
#endif
#define NONCES 4                /* 0: none; 1..EXCHANGES of an honest side; the last: the attacker's */
#define ATTACKER (NONCES - 1)

mtype = { HELLO, EARLY, CHALLENGE, PROOF, WELCOME, REJECT };
mtype = { CLOSED, HELLO_SENT, ANSWERED, ESTABLISHED };
mtype = { AWAITING_HELLO, AUTHENTICATING, CHALLENGED, VERIFYING, ATTACHED };

/* Type, nonce of the client, nonce of the server, binding, and whether it was made with the keys. */
chan fromClient = [3] of { mtype, byte, byte, byte, bit };
chan toClient = [1] of { mtype, byte, byte, byte, bit };
chan fromServer = [3] of { mtype, byte, byte, byte, bit };
chan toServer = [2] of { mtype, byte, byte, byte, bit };

mtype client = CLOSED;
mtype server = CLOSED;
byte number = 0;                /* of the connection, from 1 */
bool isAttacked = false;        /* an attacker ends the connections of both sides */
bool stopped = false;           /* the client makes no further connection */
bool revoked = false;
byte proofs = 0;                /* of the client on this connection */
bool isAccepted[NONCES];        /* the server has accepted a proof for the client's nonce */
bool hasEarly = false;          /* the server holds an early frame */
/* The messages with keys that an attacker has read on each connection: nonces and binding. */
typedef Seen { byte c, s, b };
Seen proof[EXCHANGES + 1], final[EXCHANGES + 1];

#ifdef PLAIN
#define CLIENT_BINDING 0
#define SERVER_BINDING 0
#else
#define CLIENT_BINDING (2 * number - 1)
#define SERVER_BINDING (isAttacked -> 2 * number : 2 * number - 1)
#endif
#ifdef LATE_REVOCATION
#define ACCEPTABLE true
#else
#define ACCEPTABLE !revoked
#endif
#ifdef REUSED_NONCE
#define SERVER_NONCE 1
#else
#define SERVER_NONCE number
#endif

inline clear(queue) {
    do
    :: nempty(queue) -> queue?_, _, _, _, _
    :: empty(queue) -> break
    od
}

active proctype Client() {
    mtype kind;
    byte c, s, b;
    bit key;
end:
    do
    :: atomic {
        client == CLOSED && server == CLOSED && !stopped && number < EXCHANGES ->
        clear(fromClient); clear(toClient); clear(fromServer); clear(toServer);
        number++;
        if :: isAttacked = true :: isAttacked = false fi;
        proofs = 0;
        hasEarly = false;
        client = HELLO_SENT;
        server = AWAITING_HELLO;
        fromClient!HELLO, number, 0, 0, 0;
        fromClient!EARLY, 0, 0, 0, 0
      }
    :: atomic {
        client != CLOSED && nempty(toClient) ->
        toClient?kind, c, s, b, key;
        if
#ifdef SECOND_ANSWER
        :: kind == CHALLENGE && c == number && (client == HELLO_SENT || client == ANSWERED) ->
#else
        :: kind == CHALLENGE && c == number && client == HELLO_SENT ->
#endif
            proofs++;
            assert(proofs == 1);                     /* ANSWERS */
            client = ANSWERED;
            fromClient!PROOF, number, s, CLIENT_BINDING, 1
#ifdef NO_SERVER_PROOF
        :: kind == WELCOME && client == ANSWERED ->
#else
        :: kind == WELCOME && client == ANSWERED && key && c == number && b == CLIENT_BINDING ->
#endif
            assert(key && c == number);              /* MUTUAL */
            assert(isAccepted[c]);                   /* MUTUAL */
            client = ESTABLISHED
        :: kind == REJECT -> client = CLOSED
        /* A message without a valid answer: the server has not proved itself. */
        :: else -> client = CLOSED; stopped = true
        fi;
        kind = HELLO; c = 0; s = 0; b = 0; key = 0
      }
    /* The timeout, a loss, the end by the server, the end of the link. */
    :: atomic { client != CLOSED && empty(toClient) -> client = CLOSED }
    od
}

inline refuse() {
    server = CLOSED;
    if :: nfull(fromServer) -> fromServer!REJECT, 0, 0, 0, 0 :: full(fromServer) fi
}

inline accept() {
    if
#ifndef LATE_REVOCATION
    :: revoked -> refuse()
#endif
    :: ACCEPTABLE ->
        assert(!revoked);                            /* REVOKED */
        server = ATTACHED;
        isAccepted[own] = true;
        fromServer!WELCOME, own, SERVER_NONCE, SERVER_BINDING, 1;
        hasEarly = false
    fi
}

active proctype Server() {
    mtype kind;
    byte c, s, b, own;
    bit key;
end:
    do
    :: atomic {
        server != CLOSED && server != AUTHENTICATING && server != VERIFYING && nempty(toServer) ->
        toServer?kind, c, s, b, key;
        if
        :: kind == HELLO && server == AWAITING_HELLO -> own = c; server = AUTHENTICATING
        :: kind == EARLY && server != AWAITING_HELLO ->
            hasEarly = true
#ifdef EAGER_FRAMES
            ; assert(server == ATTACHED)             /* EARLY */
#endif
        :: kind == PROOF && server == CHALLENGED ->
            if
#ifdef NO_BINDING
            :: key && c == own && s == SERVER_NONCE ->
#else
            :: key && c == own && s == SERVER_NONCE && b == SERVER_BINDING ->
#endif
                assert(!isAccepted[c]);              /* PROVED */
#ifndef PLAIN
                assert(!isAttacked);                 /* BOUND */
#endif
                server = VERIFYING
            :: else -> refuse()
            fi
        :: else -> refuse()
        fi;
        kind = HELLO; c = 0; s = 0; b = 0; key = 0
      }
    /* The authenticator answers later. */
    :: atomic {
        server == AUTHENTICATING && nfull(fromServer) ->
        server = CHALLENGED;
        fromServer!CHALLENGE, own, SERVER_NONCE, 0, 0
      }
    :: atomic { server == VERIFYING && nfull(fromServer) -> accept() }
#ifndef NO_TIMEOUT
    :: atomic { server != CLOSED && server != ATTACHED -> server = CLOSED }
#endif
    /* The end of the link. */
    :: atomic { server == ATTACHED && client == CLOSED -> server = CLOSED }
    od
}

/* The network carries a message of the client or the server. */
inline carry(from, to) {
    from?kind, c, s, b, key;
    if
    :: kind == PROOF && key -> proof[number].c = c; proof[number].s = s; proof[number].b = b
    :: kind == WELCOME && key -> final[number].c = c; final[number].s = s; final[number].b = b
    :: else
    fi;
    if
    :: true -> to!kind, c, s, b, key
    /* It is lost; the timeouts end the connection. */
    :: true
    fi;
    kind = HELLO; c = 0; s = 0; b = 0; key = 0
}

active proctype Network() {
    mtype kind;
    byte c, s, b;
    bit key;
end:
    do
    :: atomic { nempty(fromClient) && nfull(toServer) -> carry(fromClient, toServer) }
    :: atomic { nempty(fromServer) && nfull(toClient) -> carry(fromServer, toClient) }
    /* The attacker sends a message to the server. */
    :: atomic {
        isAttacked && server != CLOSED && empty(toServer) ->
        if
        :: server == AWAITING_HELLO -> select(c : 1 .. ATTACKER); toServer!HELLO, c, 0, 0, 0
        :: server == CHALLENGED -> toServer!PROOF, ATTACKER, 1, 0, 0
        :: proof[1].c > 0 -> toServer!PROOF, proof[1].c, proof[1].s, proof[1].b, 1
        :: proof[number].c > 0 -> toServer!PROOF, proof[number].c, proof[number].s, proof[number].b, 1
        :: else
        fi;
        c = 0
      }
    /* The attacker sends a message to the client. */
    :: atomic {
        isAttacked && client != CLOSED && empty(toClient) ->
        if
        :: select(s : 1 .. ATTACKER); toClient!CHALLENGE, number, s, 0, 0
        :: toClient!WELCOME, number, 1, 0, 0
        :: final[1].c > 0 -> toClient!WELCOME, final[1].c, final[1].s, final[1].b, 1
        :: final[number].c > 0 -> toClient!WELCOME, final[number].c, final[number].s, final[number].b, 1
        :: toClient!REJECT, 0, 0, 0, 0
        fi;
        s = 0
      }
    :: atomic { !revoked -> revoked = true }
    od
}

/* When no process can proceed, every exchange has ended. */
active proctype Completion() {
    timeout -> assert(client == CLOSED && server == CLOSED)      /* ENDS */
}
