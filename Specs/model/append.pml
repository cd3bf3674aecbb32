/* Model of a room that two relays share by compare-and-set in their store (relay.md R-206 to R-208).
 *
 * A device publishes two messages, in their order, at one relay at a time, and may move to the other one or begin a
 * new link at the same one: it then sends again what was not accepted. Relay 1 appends a message of its own, such as
 * an announcement. An append names the offset that it expects and carries the identity of the writer and a number. The
 * answer of an append may be lost, before or after it was committed: a request without an answer may still be
 * committed later, or never. A relay may be killed, which loses its copy and what waits; requests on their way to the
 * store are not lost with it.
 *
 * Invariants, by the name under which they are asserted below:
 *   ONCE      no message is in the log twice
 *   ORDER     the messages of the device are in the log in their order
 *   DURABLE   a message that was accepted at an offset is in the log there
 *   SAME      a message is accepted at one offset only
 *   PREFIX    the copy of each relay is the beginning of the log
 *   PROGRESS  a refused append brings messages that the copy misses
 *   DONE      in the end the device's messages are accepted, each copy is the whole log, and the relay's message is in
 *             it unless its relay was killed (an invalid end state otherwise)
 *
 * Mutants, one macro each, must be caught: NO_COMPARISON, NO_DEDUPLICATION, NO_SECOND_DECISION, EARLY_ACCEPTANCE,
 * ASSUMED_SUCCESS, ASSUMED_FAILURE, NEW_NUMBER, NO_WRITER, NO_READ, REORDERED, NO_ADVANCE.
 */
#ifndef MOVES
#define MOVES 1                 /* of the device, beside those after a kill */
#endif
#ifndef LOSSES
#define LOSSES 1                /* of answers */
#endif
#ifndef KILLS
#define KILLS 1
#endif
#define OWN 2                   /* the messages of the device are 1 and 2 */
#define NOTE 3                  /* the message of relay 1 */
#define SIZE 6
#define CONNECTIONS 3           /* of a relay to the store: losses and kills end them */

typedef Copy { byte message[SIZE]; byte last };
typedef Batch { byte first, count, writer, number; byte message[3] };

/* The store. */
byte log[SIZE];
byte writerOf[SIZE], numberOf[SIZE];    /* of the batch that begins there */
byte last = 0;
chan request[6] = [1] of { Batch };  /* of connection c of relay r: CONNECTIONS * r + c */
chan answer[6] = [1] of { bool };    /* whether it was appended */

/* The relays. */
Copy copy[2];
bool isAlive[2] = true;
byte life[2];
byte connection[2];
Copy waiting[2];                /* the messages that wait, oldest first */
Batch storing[2];               /* the append that is under way; none with the count 0 */
byte number[2];
bool mustSend[2], mustResolve[2];
bool hasAnnounced = false, isNoteLost = false;

/* The device. */
chan up[2] = [4] of { byte };
chan down[2] = [4] of { byte, byte };
byte at = 0;
bool isLinked = true;
byte sent = 0, accepted = 0;
byte acceptedAt[4];
byte moves = MOVES, losses = LOSSES, kills = KILLS;

inline clear(queue) {
    do
    :: nempty(queue) -> queue?_
    :: empty(queue) -> break
    od
}

inline clearDown(queue) {
    do
    :: nempty(queue) -> queue?_, _
    :: empty(queue) -> break
    od
}

/* The offset of a message in a copy, in `place`; 0 if it has none. */
inline find(c, m) {
    place = 0;
    k = 1;
    do
    :: k <= c.last -> if :: c.message[k] == m && place == 0 -> place = k :: else fi; k++
    :: else -> break
    od
}

/* The device learns of it if it still has a link to the relay. */
inline accept(r, m, o) {
    if
    :: m == NOTE ->
        assert(log[o] == m)                          /* DURABLE */
    :: m != NOTE && at == r && isLinked -> down[r]!m, o
    :: else
    fi
}

/* Takes messages of the log up to its end, and decides about those that wait again. */
inline advance(r) {
    do
    :: copy[r].last < last -> copy[r].last++; copy[r].message[copy[r].last] = log[copy[r].last]
    :: else -> break
    od;
    checkCopy(r);
    storing[r].count = 0;
#ifndef NO_SECOND_DECISION
    n = waiting[r].last;
    waiting[r].last = 0;
    i = 1;
    do
    :: i <= n ->
        m = waiting[r].message[i];
        waiting[r].message[i] = 0;
        find(copy[r], m);
        /* A message of the relay has no counter of its own. */
        if
        :: place > 0 && m != NOTE -> accept(r, m, place)
        :: else -> waiting[r].last++; waiting[r].message[waiting[r].last] = m
        fi;
        i++
    :: else -> break
    od;
#endif
    i = 0; n = 0; m = 0; k = 0; place = 0
}

inline checkCopy(r) {
    k = 1;
    do
    :: k <= copy[r].last -> assert(k <= last && copy[r].message[k] == log[k]); k++      /* PREFIX */
    :: else -> break
    od;
    k = 0
}

/* The append is stored: its messages are delivered and accepted. */
inline stored(r) {
    n = storing[r].count;
    i = 1;
    do
    :: i <= n ->
        m = storing[r].message[i - 1];
        copy[r].last++;
        copy[r].message[copy[r].last] = m;
        accept(r, m, copy[r].last);
        i++
    :: else -> break
    od;
    checkCopy(r);
    drop(r, n);
    storing[r].count = 0;
    i = 0; n = 0; m = 0; k = 0
}

/* The first messages no longer wait. */
inline drop(r, count) {
    i = 1;
    do
    :: i + count <= waiting[r].last -> waiting[r].message[i] = waiting[r].message[i + count]; i++
    :: else -> break
    od;
    do
    :: i <= waiting[r].last -> waiting[r].message[i] = 0; i++
    :: else -> break
    od;
    waiting[r].last = waiting[r].last - count
}

active [2] proctype Relay() {
    byte i, k, m, n, place;
    bool isAppended;
end:
    do
    /* A message of the device. */
    :: atomic {
        isAlive[_pid] && nempty(up[_pid]) ->
        up[_pid]?m;
#ifdef NO_DEDUPLICATION
        place = 0;
#else
        find(copy[_pid], m);
#endif
        if
        :: place > 0 -> accept(_pid, m, place)
        :: else ->
            find(waiting[_pid], m);
            if
            :: place == 0 -> waiting[_pid].last++; waiting[_pid].message[waiting[_pid].last] = m
            :: else
            fi
        fi;
        m = 0; k = 0; place = 0
      }
    /* A message of the relay. */
    :: atomic {
        _pid == 1 && isAlive[_pid] && !hasAnnounced ->
        hasAnnounced = true;
        waiting[_pid].last++;
        waiting[_pid].message[waiting[_pid].last] = NOTE
      }
    /* All messages that wait are appended. */
    :: atomic {
        isAlive[_pid] && storing[_pid].count == 0 && waiting[_pid].last > 0 ->
        number[_pid]++;
        storing[_pid].first = copy[_pid].last + 1;
        storing[_pid].count = waiting[_pid].last;
#ifdef NO_WRITER
        storing[_pid].writer = 0;
#else
        storing[_pid].writer = 1 + 2 * life[_pid] + _pid;
#endif
        storing[_pid].number = number[_pid];
        i = 1;
        do
        :: i <= waiting[_pid].last -> storing[_pid].message[i - 1] = waiting[_pid].message[i]; i++
        :: else -> break
        od;
#ifdef REORDERED
        if
        :: storing[_pid].count > 1 -> storing[_pid].message[0] = waiting[_pid].message[2];
            storing[_pid].message[1] = waiting[_pid].message[1]
        :: else
        fi;
#endif
        i = 0;
        mustSend[_pid] = true;
#ifdef EARLY_ACCEPTANCE
        i = 1;
        do
        :: i <= waiting[_pid].last -> m = waiting[_pid].message[i]; accept(_pid, m, copy[_pid].last + i); i++
        :: else -> break
        od;
        i = 0; m = 0
#endif
      }
    :: atomic {
        isAlive[_pid] && mustSend[_pid] ->
        mustSend[_pid] = false;
        request[CONNECTIONS * _pid + connection[_pid]]!storing[_pid]
      }
    :: atomic {
        isAlive[_pid] && nempty(answer[CONNECTIONS * _pid + connection[_pid]]) ->
        answer[CONNECTIONS * _pid + connection[_pid]]?isAppended;
        if
        :: isAppended -> stored(_pid)
        :: else -> mustResolve[_pid] = true
        fi;
        isAppended = false
      }
    /* The append was refused: it was stored before, or a different relay was first. */
    :: atomic {
        isAlive[_pid] && mustResolve[_pid] ->
        mustResolve[_pid] = false;
        if
        :: (writerOf[storing[_pid].first] == storing[_pid].writer
            && numberOf[storing[_pid].first] == storing[_pid].number) -> stored(_pid)
        :: else ->
#ifdef NO_ADVANCE
            storing[_pid].count = 0;
#else
            advance(_pid);
#endif
            assert(copy[_pid].last >= storing[_pid].first)              /* PROGRESS */
        fi
      }
#ifndef NO_READ
    /* A report of the store, or the question once a second. */
    :: atomic { isAlive[_pid] && storing[_pid].count == 0 && copy[_pid].last < last -> advance(_pid) }
#endif
    /* The connection to the store ends before the answer. */
    :: atomic {
        isAlive[_pid] && losses > 0 && storing[_pid].count > 0 && !mustSend[_pid] && !mustResolve[_pid] ->
        losses--;
        connection[_pid]++;
#ifdef ASSUMED_SUCCESS
        stored(_pid)
#else
#ifdef ASSUMED_FAILURE
        n = storing[_pid].count;
        drop(_pid, n);
        storing[_pid].count = 0;
        n = 0; i = 0
#else
#ifdef NEW_NUMBER
        number[_pid]++;
        storing[_pid].number = number[_pid];
#endif
        mustSend[_pid] = true
#endif
#endif
      }
    /* A kill. */
    :: atomic {
        isAlive[_pid] && kills > 0 ->
        kills--;
        isAlive[_pid] = false;
        connection[_pid]++;
        if
        :: _pid == 1 && hasAnnounced -> isNoteLost = true
        :: else
        fi;
        clear(up[_pid]);
        clearDown(down[_pid]);
        if :: at == _pid -> isLinked = false :: else fi;
        do
        :: i < SIZE -> copy[_pid].message[i] = 0; waiting[_pid].message[i] = 0; i++
        :: else -> break
        od;
        copy[_pid].last = 0;
        waiting[_pid].last = 0;
        storing[_pid].count = 0;
        number[_pid] = 0;
        mustSend[_pid] = false;
        mustResolve[_pid] = false;
        i = 0
      }
    /* The next life reads the log. */
    :: atomic {
        !isAlive[_pid] ->
        isAlive[_pid] = true;
        life[_pid]++;
        advance(_pid)
      }
    od
}

inline clearBatch() {
    batch.first = 0;
    batch.count = 0;
    batch.writer = 0;
    batch.number = 0;
    batch.message[0] = 0;
    batch.message[1] = 0;
    batch.message[2] = 0
}

/* The statement of an append. */
inline perform(c) {
    request[c]?batch;
#ifdef NO_COMPARISON
    isNext = true;
#else
    isNext = batch.first == last + 1;
#endif
    if
    :: isNext ->
        writerOf[last + 1] = batch.writer;
        numberOf[last + 1] = batch.number;
        do
        :: i < batch.count ->
            k = 1;
            do
            :: k <= last ->
                m = batch.message[i];
                assert(log[k] != m);                 /* ONCE */
                assert(m == NOTE || log[k] == NOTE || log[k] < m);      /* ORDER */
                k++
            :: else -> break
            od;
            last++;
            log[last] = batch.message[i];
            i++
        :: else -> break
        od
    :: else
    fi;
    if
    :: c % CONNECTIONS == connection[c / CONNECTIONS] -> answer[c]!isNext
    :: else
    fi;
    isNext = false; i = 0; k = 0; m = 0;
    clearBatch()
}

#define REQUEST(c) \
    :: atomic { nempty(request[c]) -> perform(c) } \
    :: atomic { nempty(request[c]) && c % CONNECTIONS != connection[c / CONNECTIONS] -> request[c]?batch; clearBatch() }

/* Requests come on all connections, also on those that their relay has left, where they may be lost instead. */
active proctype Store() {
    byte i, k, m;
    bool isNext;
    Batch batch;
end:
    do
    REQUEST(0)
    REQUEST(1)
    REQUEST(2)
    REQUEST(3)
    REQUEST(4)
    REQUEST(5)
    od
}

active proctype Device() {
    byte m, o;
end:
    do
    :: atomic { isLinked && sent < OWN && nfull(up[at]) -> sent++; up[at]!sent }
    :: atomic {
        isLinked && nempty(down[at]) ->
        down[at]?m, o;
        assert(log[o] == m);                         /* DURABLE */
        assert(acceptedAt[m] == 0 || acceptedAt[m] == o);                               /* SAME */
        acceptedAt[m] = o;
        if :: m > accepted -> accepted = m :: else fi;
        m = 0; o = 0
      }
    /* A new link, at any relay. Frames of the earlier one may still arrive at its relay. */
    :: atomic {
        accepted < OWN && (!isLinked || moves > 0) ->
        if
        :: isLinked -> moves--
        :: else
        fi;
        clearDown(down[at]);
        if
        :: isAlive[0] -> at = 0
        :: isAlive[1] -> at = 1
        fi;
        isLinked = true;
        sent = accepted
      }
    od
}

/* When no process can proceed, everything is stored and known. */
active proctype Completion() {
    timeout ->
        assert(accepted == OWN && copy[0].last == last && copy[1].last == last);        /* DONE */
        assert(last == OWN + 1 || (last == OWN && isNoteLost))                          /* DONE */
}
