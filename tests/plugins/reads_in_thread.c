/* A thread waits in a stream, whose lock it holds for ever. Each check prints through C, and is busy with its number. */
#include "base.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <time.h>

static atomic_bool is_held;

static void *wait_for_a_line(void *unused) {
    (void)unused;
    char line[8];
    FILE *stream = popen("exec sleep 3600", "r");
    if (stream) {
        flockfile(stream);
        is_held = true;
        if (fgets(line, sizeof line, stream))
            return stream;
    }
    return NULL;
}

static void *create(const mcp_probe_host *host, mcp_str config_json, mcp_check *diag) {
    pthread_t thread;
    struct timespec millisecond = { 0, 1000000 };
    if (pthread_create(&thread, NULL, wait_for_a_line, NULL))
        return NULL;
    while (!is_held)
        nanosleep(&millisecond, NULL);
    return make(host, config_json, diag);
}

static int32_t check(void *self, const mcp_probe_host *host, mcp_check *check, mcp_str context_json) {
    (void)self, (void)context_json;
    static int number;
    char digits[16];
    snprintf(digits, sizeof digits, "%d", ++number);
    printf("a line through C\n");
    host->detail(check, text(digits));
    return MCP_PROBE_BUSY;
}

const mcp_probe_plugin mcp_probe_plugin_v1 = { VERSION, NAME("reads_in_thread"), .create = create, .check = check };
