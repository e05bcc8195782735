/* Writes to nowhere. */
#include "base.h"

static int32_t check(void *self, const mcp_probe_host *host, mcp_check *check, mcp_str context_json) {
    (void)self, (void)host, (void)check, (void)context_json;
    volatile int *volatile nowhere = NULL;
    *nowhere = 1;
    return MCP_PROBE_PASS;
}

const mcp_probe_plugin mcp_probe_plugin_v1 = { VERSION, NAME("segfault_in_check"), .create = make, .check = check };
