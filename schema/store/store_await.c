/*
 * Waiting for an answer with a deadline. libpq's own waiting has none: behind
 * something that goes on acknowledging bytes for a server that is gone it would
 * wait for ever.
 */
#include "schema/store/store_private.h"

#include <errno.h>
#include <poll.h>
#include <sys/socket.h>

/* Until the socket can be read, or written to where something is unsent; false past the deadline. What
 * came while this process was stopped is seen first, however late it is. */
static bool socket_ready(PGconn *connection, bool unsent, gint64 end_us)
{
    struct pollfd at = {.fd = PQsocket(connection), .events = POLLIN};
    int ready;
    if (unsent)
        at.events |= POLLOUT;
    do {
        gint64 left_ms = (end_us - g_get_monotonic_time()) / 1000;
        ready = poll(&at, 1, (int)CLAMP(left_ms, 0, G_MAXINT));
    } while (ready < 0 && errno == EINTR);
    return ready != 0;
}

/* True also where the connection broke, which the result tells. */
static bool result_comes(PGconn *connection, gint64 end_us)
{
    while (PQstatus(connection) == CONNECTION_OK) {
        int unsent = PQflush(connection);
        if (unsent < 0 || (unsent == 0 && !PQisBusy(connection)))
            return true;
        if (!socket_ready(connection, unsent > 0, end_us))
            return false;
        if (!PQconsumeInput(connection))
            return true;
    }
    return true;
}

/* Leaves the connection as one that the server closed. */
static void hang_up(PGconn *connection)
{
    shutdown(PQsocket(connection), SHUT_RDWR);
    while (PQstatus(connection) == CONNECTION_OK && PQconsumeInput(connection))
        continue;
}

/* The last of the results, which is the failed one where one failed. NULL past the deadline. */
static PGresult *last_result(PGconn *connection, gint64 end_us)
{
    PGresult *last = NULL;
    while (result_comes(connection, end_us)) {
        PGresult *next = PQgetResult(connection);
        if (next == NULL)
            return last;
        PQclear(last);
        last = next;
    }
    PQclear(last);
    hang_up(connection);
    return NULL;
}

PGresult *store_await(PGconn *connection, bool sent, double seconds, GError **error)
{
    gint64 end_us = g_get_monotonic_time() + (gint64)(seconds * G_USEC_PER_SEC);
    PGresult *rows = sent ? last_result(connection, end_us) : NULL;
    ExecStatusType status = PQresultStatus(rows);
    if (status == PGRES_TUPLES_OK || status == PGRES_COMMAND_OK)
        return rows;
    if (rows == NULL && sent)
        g_set_error(error, STORE_ERROR, STORE_ERROR_CONNECTION,
                    "database: no answer within %.0f seconds: the connection is given up", seconds);
    else
        store_set_error(connection, rows, error);
    PQclear(rows);
    return NULL;
}
