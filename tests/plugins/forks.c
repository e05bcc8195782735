/*
 * Forks while it is loaded, while an instance is made, and in each check. The second process returns where it must not; the first one
 * waits for it to end, and says so.
 */
#include "base.h"

#include <stdbool.h>
#include <sys/wait.h>
#include <unistd.h>

/* Whether this is the second process. */
static bool is_second(void) {
    pid_t second = fork();
    if (second > 0)
        waitpid(second, NULL, 0);
    return second == 0;
}

__attribute__((constructor)) static void load(void) {
    is_second();
}

static void *create(const mcp_probe_host *host, mcp_str config_json, mcp_check *diag) {
    return is_second() ? NULL : make(host, config_json, diag);
}

static int32_t check(void *self, const mcp_probe_host *host, mcp_check *check, mcp_str context_json) {
    (void)self, (void)context_json;
    if (is_second()) {
        host->detail(check, text("the second process"));
        return MCP_PROBE_FAIL;
    }
    host->detail(check, text("the first process"));
    return MCP_PROBE_BUSY;
}

const mcp_probe_plugin mcp_probe_plugin_v1 = { VERSION, NAME("forks"), .create = create, .check = check };
