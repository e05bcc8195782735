/*
 * mcp_probe.h - health probes for mcp-watchdog, ABI 1.0.
 *
 * A plugin is a shared library that defines and exports one object, and may hide everything else (-fvisibility=hidden):
 *
 *     const mcp_probe_plugin mcp_probe_plugin_v1 = { .magic = MCP_PROBE_MAGIC, .size = sizeof(mcp_probe_plugin), ... };
 *
 * It is loaded into a process of its own (the probe host). Whatever it does there - crash, hang, fork, print - reaches neither
 * the watchdog nor the supervised server.
 *
 * Rules of the border:
 *   - Nothing is freed on the other side of it. Text that goes in is borrowed for the call; text that a plugin hands to a host
 *     function is copied before that returns; a reply of call() stays readable until check() returns.
 *   - Text is UTF-8 with a length, and is not NUL-terminated. The const char * of the descriptor are NUL-terminated.
 *   - create(), check() and destroy() of one instance run on one thread, one after the other.
 *   - Host functions may be called from any thread. After check() has returned, its mcp_check is stale: calls with it do nothing
 *     (call() gives MCP_CALL_CANCELLED).
 *   - The host's struct and its functions stay where they are for the life of the process.
 *   - Structs only grow at the end. Read no field beyond `size`: of the host's struct, if (host->size > offsetof(...)). What
 *     ABI 1.0 has is always there.
 *   - No exception and no longjmp may leave a function of the plugin.
 */
#ifndef MCP_PROBE_H
#define MCP_PROBE_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#define MCP_PROBE_MAGIC UINT64_C(0x4d43505052425631) /* "MCPPRBV1" */
#define MCP_PROBE_ABI_MAJOR 1
#define MCP_PROBE_ABI_MINOR 0

/* Borrowed text: UTF-8, not NUL-terminated. ptr may be NULL where len is 0. */
typedef struct {
    const char *ptr;
    size_t len;
} mcp_str;

/* What check() returns. Any other value counts as MCP_PROBE_INCONCLUSIVE. 0 to 3 are the states of monitoring plugins. */
enum {
    MCP_PROBE_PASS = 0,         /* the server is well */
    MCP_PROBE_BUSY = 1,         /* it is alive but occupied; say with what by detail() */
    MCP_PROBE_FAIL = 2,         /* it is not well; say why by detail() */
    MCP_PROBE_INCONCLUSIVE = 3, /* the probe could not tell; never counts against the server */
    MCP_PROBE_UNSUPPORTED = 4   /* this server or session has not what the probe asks for */
};

/* What call() returns. Values that are not listed: negative ones are failures, others are answers. */
enum {
    MCP_CALL_RESULT = 0,     /* *reply_json is the "result" member; the server is alive */
    MCP_CALL_ERROR = 1,      /* *reply_json is the "error" member; the server is alive too */
    MCP_CALL_TIMEOUT = -1,   /* the server did not answer in time */
    MCP_CALL_CANCELLED = -2, /* the check has ended, or its time is over */
    MCP_CALL_GONE = -3,      /* the server is gone */
    MCP_CALL_INVALID = -4    /* not JSON, or a method that this link may not call: see allow_methods */
};

/* Levels of log(). Any other value counts as MCP_LOG_INFO. */
enum { MCP_LOG_ERROR = 1, MCP_LOG_WARN = 2, MCP_LOG_INFO = 3, MCP_LOG_DEBUG = 4 };

/* One check, or one creation. Opaque. */
typedef struct mcp_check mcp_check;

/* What the watchdog offers. */
typedef struct {
    uint32_t size; /* of this struct, in bytes, as the host knows it */
    uint16_t abi_major, abi_minor;
    /*
     * Sends one JSON-RPC request to the supervised server, under an id that no client uses, and waits for its answer: for
     * timeout_ms, or until the check's time is over. An empty params_json sends no "params". reply_json may be NULL.
     */
    int32_t (*call)(mcp_check *, mcp_str method, mcp_str params_json, uint32_t timeout_ms, mcp_str *reply_json);
    /* Milliseconds that are left for the check. At 0 and below, return now: 50 ms later the probe host is killed. */
    int64_t (*remaining_ms)(mcp_check *);
    /* The reason for the verdict, or for refusing a configuration: one line, cut at 4 KiB. The last one counts. */
    void (*detail)(mcp_check *, mcp_str text);
    /* A line for the log, cut at 4 KiB. */
    void (*log)(mcp_check *, int32_t level, mcp_str text);
} mcp_probe_host;

/* What a plugin exports. All up to check is required; what is behind it may be NULL. */
typedef struct {
    uint64_t magic; /* MCP_PROBE_MAGIC */
    uint32_t size;  /* sizeof(mcp_probe_plugin) */
    uint16_t abi_major, abi_minor; /* MCP_PROBE_ABI_MAJOR, MCP_PROBE_ABI_MINOR */
    uint16_t min_host_minor;       /* the least abi_minor of a host that this plugin can work with */
    uint16_t flags;                /* 0 */
    uint32_t reserved;             /* 0 */
    const char *name, *version;
    const char *built_with; /* compiler and version, for diagnosis; may be NULL */
    /*
     * Makes an instance from the link's `config:` ("null" where it has none). NULL refuses it: say why by detail(diag, ...).
     */
    void *(*create)(const mcp_probe_host *, mcp_str config_json, mcp_check *diag);
    /* Examines the server once and gives a verdict. context_json is described in docs/probes.md; keys may be added. */
    int32_t (*check)(void *self, const mcp_probe_host *, mcp_check *, mcp_str context_json);
    void (*destroy)(void *self);
    /* A JSON Schema of `config:` for `mcp-watchdog plugins check`. */
    const char *config_schema;
} mcp_probe_plugin;

/* The plugin defines it. This declaration exports it, and gives it the linkage of C in C++. */
#if defined(__GNUC__)
__attribute__((visibility("default")))
#endif
extern const mcp_probe_plugin mcp_probe_plugin_v1;

#ifdef __cplusplus
}
#endif

#endif
