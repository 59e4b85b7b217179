/*
 * From ZeroMQ's events about connections to what is wrong with a handshake.
 * A peer that does not admit our key says so; one for which we have the wrong
 * key cannot even read us, and hangs up.
 */
#include "handshake.h"

#include <string.h>
#include <zmq.h>

enum { SILENCE = 10000, AGAIN = 60000 }; /* milliseconds */

void handshake_follow(struct handshake *handshake, void *context, void *socket)
{
    char name[64];
    if (handshake->socket == socket)
        return;
    handshake_close(handshake);
    handshake->socket = socket;
    handshake->down_since = daemon_clock();
    if (socket == NULL)
        return;
    snprintf(name, sizeof name, "inproc://handshake-%p-%d", (void *)handshake,
             ++handshake->number);
    const int events =
        ZMQ_EVENT_CONNECTED | ZMQ_EVENT_DISCONNECTED |
        ZMQ_EVENT_HANDSHAKE_SUCCEEDED | ZMQ_EVENT_HANDSHAKE_FAILED_NO_DETAIL |
        ZMQ_EVENT_HANDSHAKE_FAILED_PROTOCOL | ZMQ_EVENT_HANDSHAKE_FAILED_AUTH;
    int now = 0;
    void *monitor = zmq_socket(context, ZMQ_PAIR);
    if (monitor == NULL)
        return;
    if (zmq_setsockopt(monitor, ZMQ_LINGER, &now, sizeof now) != 0 ||
        zmq_socket_monitor(socket, name, events) != 0 ||
        zmq_connect(monitor, name) != 0) {
        zmq_close(monitor);
        return;
    }
    handshake->monitor = monitor;
}

/* The next event, or 0. */
static int next_event(const struct handshake *handshake)
{
    unsigned char head[6] = {0};
    char address[256];
    uint16_t event;
    if (handshake->monitor == NULL ||
        zmq_recv(handshake->monitor, head, sizeof head, ZMQ_DONTWAIT) < 2)
        return 0;
    zmq_recv(handshake->monitor, address, sizeof address, ZMQ_DONTWAIT);
    memcpy(&event, head, sizeof event);
    return event;
}

static enum handshake_trouble take(struct handshake *handshake, int event)
{
    enum handshake_trouble trouble = HANDSHAKE_FINE;
    switch (event) {
    case ZMQ_EVENT_CONNECTED:
        handshake->connected = true;
        break;
    case ZMQ_EVENT_HANDSHAKE_SUCCEEDED:
        handshake->up = true;
        break;
    case ZMQ_EVENT_HANDSHAKE_FAILED_AUTH:
        trouble = HANDSHAKE_REFUSED;
        handshake->connected = false;
        break;
    case ZMQ_EVENT_HANDSHAKE_FAILED_PROTOCOL:
    case ZMQ_EVENT_HANDSHAKE_FAILED_NO_DETAIL:
        trouble = HANDSHAKE_CUT;
        handshake->connected = false;
        break;
    case ZMQ_EVENT_DISCONNECTED:
        if (handshake->connected && !handshake->up)
            trouble = HANDSHAKE_CUT;
        if (handshake->up)
            handshake->down_since = daemon_clock();
        handshake->connected = handshake->up = false;
        break;
    default:
        break;
    }
    return trouble;
}

enum handshake_trouble handshake_read(struct handshake *handshake, bool one)
{
    enum handshake_trouble found = HANDSHAKE_FINE;
    int64_t now = daemon_clock();
    for (int event; (event = next_event(handshake)) != 0;) {
        enum handshake_trouble trouble = take(handshake, event);
        if (trouble != HANDSHAKE_FINE && found != HANDSHAKE_REFUSED)
            found = trouble;
    }
    if (found == HANDSHAKE_FINE && one && !handshake->up &&
        now - handshake->down_since > SILENCE)
        found = HANDSHAKE_SILENT;
    if (found == HANDSHAKE_FINE ||
        (handshake->said[found] != 0 && now - handshake->said[found] < AGAIN))
        return HANDSHAKE_FINE;
    handshake->said[found] = now;
    return found;
}

void handshake_close(struct handshake *handshake)
{
    if (handshake->monitor != NULL)
        zmq_close(handshake->monitor);
    handshake->monitor = NULL;
    handshake->socket = NULL;
    handshake->connected = handshake->up = false;
}
