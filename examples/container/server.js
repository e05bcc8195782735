// A small MCP server on stdin and stdout, without packages. Put yours in its place.
'use strict';
const { createInterface } = require('node:readline');

const TOOLS = [
  {
    name: 'count_words',
    description: 'Counts the words of a text',
    inputSchema: { type: 'object', properties: { text: { type: 'string' } }, required: ['text'] },
    annotations: { readOnlyHint: true },
  },
];

class RpcError extends Error {
  constructor(code, message) {
    super(message);
    this.code = code;
  }
}

const METHODS = {
  initialize: ({ protocolVersion }) => ({
    protocolVersion: ['2025-06-18', '2025-11-25'].includes(protocolVersion) ? protocolVersion : '2025-11-25',
    capabilities: { tools: {} },
    serverInfo: { name: 'words', version: '1.0.0' },
  }),
  ping: () => ({}),
  'tools/list': () => ({ tools: TOOLS }),
  'tools/call': ({ name, arguments: { text } = {} }) => {
    if (name !== 'count_words') throw new RpcError(-32602, `Unknown tool: ${name}`);
    if (typeof text !== 'string') return { content: [{ type: 'text', text: '`text` is missing' }], isError: true };
    return { content: [{ type: 'text', text: String(text.split(/\s+/).filter(Boolean).length) }] };
  },
};

function answer(line) {
  let request;
  try {
    request = JSON.parse(line);
  } catch {
    return { jsonrpc: '2.0', id: null, error: { code: -32700, message: 'Parse error' } };
  }
  const { id, method, params = {} } = request;
  if (id === undefined || method === undefined) return undefined; // a notification, or an answer
  try {
    if (!Object.hasOwn(METHODS, method)) throw new RpcError(-32601, `Method not found: ${method}`);
    return { jsonrpc: '2.0', id, result: METHODS[method](params) };
  } catch (error) {
    return { jsonrpc: '2.0', id, error: { code: error.code ?? -32603, message: error.message } };
  }
}

createInterface({ input: process.stdin }).on('line', (line) => {
  const message = answer(line);
  if (message) process.stdout.write(`${JSON.stringify(message)}\n`);
});
