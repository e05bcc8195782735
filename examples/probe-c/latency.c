/*
 * A probe in C: the server has to answer a ping within a number of milliseconds.
 *
 *     cc -std=c99 -Wall -shared -fPIC -fvisibility=hidden -I ../../probe-api/include -o latency.so latency.c
 *     mcp-watchdog plugins check ./latency.so --config '{"max_ms": 200}'
 *
 * A link of a chain: { type: plugin, library: /usr/lib/mcp-watchdog/latency.so, config: { max_ms: 200 } }
 */
#define _POSIX_C_SOURCE 199309L
#include <mcp_probe.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

typedef struct {
    long max_ms;
} latency;

static mcp_str text(const char *chars) {
    mcp_str borrowed = { chars, strlen(chars) };
    return borrowed;
}

/* JSON with a NUL behind it, to be searched. A real probe would use a JSON library. */
static char *copy(mcp_str json) {
    char *chars = malloc(json.len + 1);
    if (chars) {
        if (json.len)
            memcpy(chars, json.ptr, json.len);
        chars[json.len] = '\0';
    }
    return chars;
}

static void *create(const mcp_probe_host *host, mcp_str config_json, mcp_check *diag) {
    char *config = copy(config_json);
    const char *at = config ? strstr(config, "\"max_ms\"") : NULL;
    if (at)
        at += strlen("\"max_ms\"");
    long max_ms = at ? strtol(at + strspn(at, ": "), NULL, 10) : 0;
    free(config);
    if (max_ms <= 0) {
        host->detail(diag, text("max_ms: has to be there, and a number of milliseconds above 0"));
        return NULL;
    }
    latency *self = malloc(sizeof *self);
    if (self)
        self->max_ms = max_ms;
    return self;
}

static long now_ms(void) {
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return now.tv_sec * 1000L + now.tv_nsec / 1000000L;
}

static int32_t check(void *instance, const mcp_probe_host *host, mcp_check *check, mcp_str context_json) {
    const latency *self = instance;
    char *context = copy(context_json);
    int has_ping = context && strstr(context, "\"handshake\"") != NULL; /* revision 2026-07-28 has no ping */
    free(context);
    if (!has_ping)
        return MCP_PROBE_UNSUPPORTED;

    long begin = now_ms();
    int64_t left = host->remaining_ms(check);
    int32_t code = host->call(check, text("ping"), text(""), left > 0 ? (uint32_t)left : 0, NULL);
    long took = now_ms() - begin;

    char why[96];
    if (code >= 0 && took <= self->max_ms)
        return MCP_PROBE_PASS;
    if (code >= 0) {
        snprintf(why, sizeof why, "ping took %ld ms, more than %ld ms", took, self->max_ms);
        host->detail(check, text(why));
        return MCP_PROBE_BUSY; /* slow, but alive: no reason to restart it */
    }
    if (code == MCP_CALL_TIMEOUT) {
        snprintf(why, sizeof why, "no answer to ping within %ld ms", took);
        host->detail(check, text(why));
        return MCP_PROBE_FAIL;
    }
    host->detail(check, text("the ping could not be sent"));
    return MCP_PROBE_INCONCLUSIVE;
}

const mcp_probe_plugin mcp_probe_plugin_v1 = {
    .magic = MCP_PROBE_MAGIC,
    .size = sizeof(mcp_probe_plugin),
    .abi_major = MCP_PROBE_ABI_MAJOR,
    .abi_minor = MCP_PROBE_ABI_MINOR,
    .name = "latency",
    .version = "1.0",
#ifdef __VERSION__
    .built_with = "cc " __VERSION__,
#endif
    .create = create,
    .check = check,
    .destroy = free,
    .config_schema = "{\"type\":\"object\",\"properties\":{\"max_ms\":{\"type\":\"integer\",\"minimum\":1}},"
                     "\"required\":[\"max_ms\"]}",
};
