/* Model of a link between one client and one relay, with faults of the network and of both processes.
 *
 * The client has N messages to be accepted; the relay has M messages to deliver. Two connections can exist at a time,
 * so that an abandoned connection can still deliver frames while the other one is in use. A fault may cut a
 * connection, withhold its frames for a while (a black hole, which may end after the client has left), or kill either
 * process. Volatile state is lost with its process: links, tokens, positions, messages in flight to the store. Durable
 * state is not: the client's outbox and cursor, the relay's log.
 *
 * Invariants, by the name under which they are asserted below:
 *   ONCE      no message is logged or delivered twice
 *   PREFIX    the messages logged or delivered are a prefix of the messages sent
 *   DURABLE   every message reported as accepted is in the log
 *   ACKED     acknowledged <= sent, unacknowledged <= window
 *   OWNER     only the connection of the current epoch commits
 *   TOKEN     a resume token admits one connection
 *   DONE      when no fault is left, all messages are accepted and delivered (an invalid end state otherwise)
 *
 * Mutants, one macro each, must be caught: NO_FENCING, ACK_BEFORE_COMMIT, WRAPPING_COUNTER, NO_HEARTBEAT,
 * REUSABLE_TOKEN.
 */
#ifndef N
#define N 3                     /* messages of the client */
#endif
#ifndef M
#define M 2                     /* messages of the relay */
#endif
#ifndef WINDOW
#define WINDOW 2                /* maximum of unacknowledged messages in each direction */
#endif
#ifndef FAULTS
#define FAULTS 2
#endif
#define NONE 2                  /* no connection */
#define TOKENS 12

mtype = { HELLO, DATA, ACK, WELCOME, REJECT, ACCEPT };

/* Type, and three numbers: HELLO(token, position, cursor) DATA(sequence, number, -) ACK(sequence, -, -)
 * WELCOME(resumed, token, position) REJECT(-, -, -) ACCEPT(number, -, -) */
chan up[2] = [2] of { mtype, byte, byte, byte };
chan down[2] = [2] of { mtype, byte, byte, byte };
bool clientOpen[2], relayOpen[2], hole[2];
byte faults = FAULTS;

/* The client. Durable: */
byte accepted = 0;              /* messages 1..accepted have left the outbox */
byte cursor = 0;                /* messages 1..cursor have been given to the application */
/* Volatile: */
byte mine = NONE;               /* its connection */
bool established = false;
byte token = 0;                 /* 0: no link to resume */
byte base = 0;                  /* the message before the link's first */
byte nextUp = 1, ackedUp = 0;   /* sequences of the link */
byte gotDown = 0;
bool oweAck = false;

/* The relay. Durable: */
byte logged = 0;                /* messages 1..logged are in the room's log */
/* Volatile: */
byte owner = NONE;              /* the connection of the current epoch */
bool linked = false;
byte rightToken = 0, freshToken = 1;
bool usedToken[TOKENS];
byte gotUp = 0;
byte nextDown = 1, ackedDown = 0, baseDown = 0;
chan store = [WINDOW] of { byte, byte };   /* message, connection it came on */
byte acceptTo = 0;
bool oweAccept = false, oweUpAck = false;

inline drop(c) {
    do
    :: nempty(up[c]) -> up[c]?_, _, _, _
    :: empty(up[c]) -> break
    od
}

inline dropDown(c) {
    do
    :: nempty(down[c]) -> down[c]?_, _, _, _
    :: empty(down[c]) -> break
    od
}

/* The client leaves a connection; frames that it has sent may still arrive. */
inline leave() {
    clientOpen[mine] = false;
    dropDown(mine);
    mine = NONE;
    established = false
}

inline beginLink() {
    token = 0;
    base = accepted;
    nextUp = 1;
    ackedUp = 0;
    gotDown = 0
}

active proctype Client() {
    mtype kind;
    byte a, b, c, k;
end:
    do
    /* The client connects on an unused connection. */
    :: atomic {
        mine == NONE && (accepted < N || cursor < M) ->
        if
        :: !clientOpen[0] && !relayOpen[0] && empty(up[0]) -> k = 0
        :: !clientOpen[1] && !relayOpen[1] && empty(up[1]) -> k = 1
        fi;
        mine = k;
        dropDown(k);
        clientOpen[k] = true;
        relayOpen[k] = true;
        hole[k] = false;
        oweAck = false;
        if
        :: token == 0 -> beginLink()
        :: else -> nextUp = ackedUp + 1
        fi;
        up[k]!HELLO, token, gotDown, cursor;
        k = 0
      }
    /* Data may directly follow hello. */
    :: atomic {
        mine != NONE && base + nextUp <= N && nextUp <= ackedUp + WINDOW && nfull(up[mine]) ->
        up[mine]!DATA, nextUp, base + nextUp, 0;
        nextUp++;
        assert(nextUp - 1 - ackedUp <= WINDOW)      /* ACKED */
      }
    :: atomic {
        mine != NONE && established && oweAck && nfull(up[mine]) ->
        up[mine]!ACK, gotDown, 0, 0;
        oweAck = false
      }
    :: atomic {
        mine != NONE && !hole[mine] && nempty(down[mine]) ->
        down[mine]?kind, a, b, c;
        if
        :: kind == WELCOME ->
            established = true;
            if
            :: a == 1 ->
                assert(c < nextUp || c <= ackedUp + WINDOW);     /* ACKED */
                if :: c > ackedUp -> ackedUp = c :: else fi;
                if :: nextUp <= ackedUp -> nextUp = ackedUp + 1 :: else fi
            :: else
            fi;
            token = b
        :: kind == REJECT ->
            beginLink();
            if
            :: nfull(up[mine]) -> up[mine]!HELLO, 0, 0, cursor
            :: full(up[mine]) -> leave()
            fi
        :: kind == ACCEPT ->
            assert(a <= logged);                     /* DURABLE */
            if :: a > accepted -> accepted = a :: else fi
        :: kind == ACK ->
            assert(a < nextUp);                      /* ACKED */
            if :: a > ackedUp -> ackedUp = a :: else fi
        :: kind == DATA ->
            if
            :: a == gotDown + 1 ->
                gotDown = a;
                if
                :: b > cursor ->
                    assert(b == cursor + 1);         /* ONCE, PREFIX */
                    cursor = b
                :: else
                fi
            :: else
            fi;
            oweAck = true
        fi;
        kind = HELLO; a = 0; b = 0; c = 0
      }
    /* The relay has ended the connection. */
    :: atomic { mine != NONE && !relayOpen[mine] && !hole[mine] && empty(down[mine]) -> leave() }
#ifndef NO_HEARTBEAT
    /* After silence the heartbeat abandons the connection. */
    :: atomic { mine != NONE && hole[mine] -> leave() }
#endif
    od
}

inline resumeOn(c, position) {
    owner = c;
    usedToken[rightToken] = true;
    rightToken = freshToken;
    freshToken++;
    if :: position > ackedDown -> ackedDown = position :: else fi;
    nextDown = ackedDown + 1;
    oweAccept = acceptTo > 0
}

inline take(k) {
    up[k]?kind, a, b, c;
    if
    :: kind == HELLO && a == 0 ->
        /* A new link: the device's earlier link and its connection end. */
        if :: owner != NONE && owner != k -> relayOpen[owner] = false :: else fi;
        owner = k;
        linked = true;
        gotUp = 0;
        rightToken = freshToken;
        freshToken++;
        nextDown = 1;
        ackedDown = 0;
        baseDown = c;
        acceptTo = 0;
        oweAccept = false;
        oweUpAck = false;
        if :: nfull(down[k]) -> down[k]!WELCOME, 0, rightToken, 0 :: full(down[k]) -> relayOpen[k] = false;
            owner = NONE fi
    :: kind == HELLO && a != 0 ->
        if
#ifdef REUSABLE_TOKEN
        :: linked ->
#else
        :: linked && a == rightToken ->
#endif
            assert(!usedToken[a]);                   /* TOKEN */
            if :: owner != NONE && owner != k -> relayOpen[owner] = false :: else fi;
            resumeOn(k, b);
            if :: nfull(down[k]) -> down[k]!WELCOME, 1, rightToken, gotUp
                :: full(down[k]) -> relayOpen[k] = false; owner = NONE fi
        :: else ->
            if :: nfull(down[k]) -> down[k]!REJECT, 0, 0, 0 :: full(down[k]) -> relayOpen[k] = false fi
        fi
#ifdef NO_FENCING
    :: kind == DATA && linked ->
#else
    :: kind == DATA && linked && owner == k ->
#endif
        if
        :: a == gotUp + 1 ->
            gotUp = a;
            assert(owner == k);                      /* OWNER */
            store!b, k
#ifdef ACK_BEFORE_COMMIT
            ; acceptTo = b; oweAccept = true
#endif
        :: else
        fi;
        oweUpAck = true
    :: kind == ACK && linked && owner == k ->
        assert(a < nextDown);                        /* ACKED */
        if :: a > ackedDown -> ackedDown = a :: else fi
    :: else
    fi;
    kind = HELLO; a = 0; b = 0; c = 0
}

active proctype Relay() {
    mtype kind;
    byte a, b, c, k;
end:
    do
    :: atomic { !hole[0] && relayOpen[0] && nempty(up[0]) && nfull(store) -> take(0) }
    :: atomic { !hole[1] && relayOpen[1] && nempty(up[1]) && nfull(store) -> take(1) }
    /* Frames on a connection that the relay has closed are dropped. */
    :: atomic { !hole[0] && !relayOpen[0] && nempty(up[0]) -> drop(0) }
    :: atomic { !hole[1] && !relayOpen[1] && nempty(up[1]) -> drop(1) }
    /* The store has made a message durable. */
    :: atomic {
        store?b, k ->
#ifdef WRAPPING_COUNTER
        if
        :: (b & 1) > (logged & 1) || b == 1 ->
#else
        if
        :: b > logged ->
#endif
            assert(b == logged + 1);                 /* ONCE, PREFIX */
            logged++
        :: else
        fi;
        if :: linked -> acceptTo = b; oweAccept = true :: else fi;
        b = 0; k = 0
      }
    :: atomic {
        owner != NONE && relayOpen[owner] && oweAccept && nfull(down[owner]) ->
        down[owner]!ACCEPT, acceptTo, 0, 0;
        oweAccept = false
      }
    :: atomic {
        owner != NONE && relayOpen[owner] && oweUpAck && nfull(down[owner]) ->
        down[owner]!ACK, gotUp, 0, 0;
        oweUpAck = false
      }
    :: atomic {
        (owner != NONE && relayOpen[owner] && baseDown + nextDown <= M && nextDown <= ackedDown + WINDOW
            && len(down[owner]) < 2) ->
        down[owner]!DATA, nextDown, baseDown + nextDown, 0;
        nextDown++;
        assert(nextDown - 1 - ackedDown <= WINDOW)   /* ACKED */
      }
    /* The client has left and all its frames have been processed; or it is silent. */
    :: atomic { relayOpen[0] && !clientOpen[0] && empty(up[0]) -> relayOpen[0] = false; if
        :: owner == 0 -> owner = NONE :: else fi }
    :: atomic { relayOpen[1] && !clientOpen[1] && empty(up[1]) -> relayOpen[1] = false; if
        :: owner == 1 -> owner = NONE :: else fi }
    od
}

active proctype Environment() {
    byte k;
end:
    do
    /* A cut: the client detects it; frames that it has sent may still arrive. */
    :: atomic { faults > 0 && mine != NONE -> faults--; leave() }
    /* A cut in which sent frames are lost. */
    :: atomic { faults > 0 && mine != NONE -> faults--; k = mine; leave(); drop(k); relayOpen[k] = false; if
        :: owner == k -> owner = NONE :: else fi; k = 0 }
    /* A black hole; it may end once the client has left. */
    :: atomic { faults > 0 && mine != NONE && !hole[mine] -> faults--; hole[mine] = true }
    :: atomic { hole[0] && !clientOpen[0] -> hole[0] = false }
    :: atomic { hole[1] && !clientOpen[1] -> hole[1] = false }
    /* The client is killed. */
    :: atomic {
        faults > 0 && (accepted < N || cursor < M) ->
        faults--;
        if :: mine != NONE -> leave() :: else fi;
        beginLink()
      }
    /* The relay is killed: messages in flight to the store are lost. */
    :: atomic {
        faults > 0 && linked ->
        faults--;
        linked = false;
        owner = NONE;
        rightToken = 0;
        gotUp = 0;
        nextDown = 1;
        ackedDown = 0;
        baseDown = 0;
        acceptTo = 0;
        oweAccept = false;
        oweUpAck = false;
        relayOpen[0] = false;
        relayOpen[1] = false;
        do
        :: nempty(store) -> store?_, _
        :: empty(store) -> break
        od
      }
    od
}

/* When no process can proceed, all messages have been accepted and delivered. */
active proctype Completion() {
    timeout -> assert(accepted == N && cursor == M && logged == N)      /* DONE */
}
