/*
 * A thread uses the first check while it runs, and goes on when it is stale. The second check fails if the host still serves the
 * first, or if a detail of the thread becomes its own.
 */
#include "base.h"

#include <pthread.h>
#include <stdatomic.h>
#include <time.h>

static const mcp_probe_host *the_host;
static mcp_check *stale;
static pthread_t thread;
static atomic_int checks, rounds, rounds_when_stale, served_when_stale;

static void nap(void) {
    struct timespec millisecond = { 0, 1000000 };
    nanosleep(&millisecond, NULL);
}

static void *use(void *unused) {
    (void)unused;
    while (rounds_when_stale < 20) {
        int is_stale = checks > 1;
        mcp_str reply = { NULL, 0 };
        int64_t left = the_host->remaining_ms(stale);
        int32_t code = the_host->call(stale, text("ping"), text(""), 1000, &reply);
        the_host->detail(stale, text("of a thread"));
        the_host->log(stale, MCP_LOG_DEBUG, text("of a thread"));
        if (is_stale && (left > 0 || code != MCP_CALL_CANCELLED))
            served_when_stale++;
        rounds_when_stale += is_stale;
        rounds++;
        nap();
    }
    return NULL;
}

static int32_t check(void *self, const mcp_probe_host *host, mcp_check *check, mcp_str context_json) {
    (void)self, (void)context_json;
    int number = ++checks;
    if (number == 1) {
        the_host = host;
        stale = check;
        if (pthread_create(&thread, NULL, use, NULL))
            return MCP_PROBE_INCONCLUSIVE;
        while (rounds < 3)
            nap();
    }
    if (number == 2) {
        pthread_join(thread, NULL);
        host->detail(check, text(served_when_stale ? "a stale check was served" : "only the second"));
        return served_when_stale ? MCP_PROBE_FAIL : MCP_PROBE_BUSY;
    }
    return MCP_PROBE_PASS;
}

const mcp_probe_plugin mcp_probe_plugin_v1 = { VERSION, NAME("late_thread_call"), .create = make, .check = check };
