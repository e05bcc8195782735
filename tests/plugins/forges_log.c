/* Writes lines for the log to the socket of its host, without end. */
#include "base.h"

#include <stdint.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

static int32_t forge(void *self, const mcp_probe_host *host, mcp_check *check, mcp_str context_json) {
    static const char body[] = "{\"log\":{\"level\":3,\"text\":\"x\"}}";
    uint32_t length = sizeof body - 1;
    char frame[sizeof length + sizeof body];
    int socket = -1;
    (void)self;
    (void)host;
    (void)check;
    (void)context_json;
    memcpy(frame, &length, sizeof length);
    memcpy(frame + sizeof length, body, length);
    for (int number = 3; number < 64; number++) {
        struct stat facts;
        if (fstat(number, &facts) == 0 && S_ISSOCK(facts.st_mode)) {
            socket = number;
        }
    }
    while (write(socket, frame, sizeof length + length) > 0) {
    }
    return MCP_PROBE_PASS;
}

const mcp_probe_plugin mcp_probe_plugin_v1 = { VERSION, NAME("forges_log"), .create = make, .check = forge };
