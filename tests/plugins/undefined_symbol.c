/* Calls what no library has. */
#include "base.h"

int32_t mcp_nowhere_defined(void);

static int32_t check(void *self, const mcp_probe_host *host, mcp_check *check, mcp_str context_json) {
    (void)self, (void)host, (void)check, (void)context_json;
    return mcp_nowhere_defined();
}

const mcp_probe_plugin mcp_probe_plugin_v1 = { VERSION, NAME("undefined_symbol"), .create = make, .check = check };
