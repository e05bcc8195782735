/* Asks the server, and never returns. */
#include "base.h"

#include <unistd.h>

static int32_t check(void *self, const mcp_probe_host *host, mcp_check *check, mcp_str context_json) {
    (void)self, (void)context_json;
    mcp_str reply = { NULL, 0 };
    host->call(check, text("ping"), text(""), 1000, &reply);
    for (;;)
        pause();
    return MCP_PROBE_PASS;
}

const mcp_probe_plugin mcp_probe_plugin_v1 = { VERSION, NAME("stuck"), .create = make, .check = check };
