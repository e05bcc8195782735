/* Gives a verdict that nobody knows. */
#include "base.h"

static int32_t check(void *self, const mcp_probe_host *host, mcp_check *check, mcp_str context_json) {
    (void)self, (void)host, (void)check, (void)context_json;
    host->detail(check, text("forty-two"));
    return 42;
}

const mcp_probe_plugin mcp_probe_plugin_v1 = { VERSION, NAME("unknown_verdict"), .create = make, .check = check };
