/* Sends itself the signal of a fault, which no fault has caused. */
#include "base.h"

#include <signal.h>

static int32_t check(void *self, const mcp_probe_host *host, mcp_check *check, mcp_str context_json) {
    (void)self, (void)host, (void)check, (void)context_json;
    raise(SIGSEGV);
    return MCP_PROBE_FAIL;
}

const mcp_probe_plugin mcp_probe_plugin_v1 = { VERSION, NAME("raises_segv"), .create = make, .check = check };
