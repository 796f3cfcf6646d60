import { equal, ok } from "node:assert/strict";
import { BelljarError } from "../../../src/errors.ts";
import { renderContents, renderResult } from "../../../src/cli/mcp-client/render-content.ts";
import { parseSettings } from "../../../src/mcp/client/config/parse-settings.ts";
import { readConfigText } from "../../../src/mcp/client/config/read-config.ts";
import { envFileOf, inputsOf, resolveServer } from "../../../src/mcp/client/config/resolve-server.ts";
import type { ConfiguredServer } from "../../../src/mcp/client/config/server-config.ts";
import { hostFiles } from "../../../src/mcp/client/discover/host-files.ts";
import { exposeNames } from "../../../src/mcp/client/exposed-names.ts";
import { readRecording } from "../../../src/mcp/client/recording/read-recording.ts";
import { createReplay } from "../../../src/mcp/client/recording/replay.ts";
import { pureTarget } from "../fuzz-target.ts";
import { refused } from "./refused.ts";

const SECRET = "q9-hidden-value-9q";
const SCOPE = { env: { KEY: SECRET, PATH: "/bin" }, workspaceFolder: "/w", userHome: "/h", inputs: new Map([["id", SECRET]]) };
const PLACES = { home: "/h", config: "/h/.config", applications: "/h/.config", codex: "/h/.codex", project: "/p" };
const STDIO = '{"mcpServers":{"a":{"command":"x","args":["${KEY}"],"env":{"A":"${env:KEY}"},"envFile":"${workspaceFolder}/e","cwd":"."}}}';
const HTTP = '{"servers":{"b":{"type":"sse","url":"https://h/${KEY:-d}","headers":{"A":"Bearer ${input:id}"}}},"inputs":[{"id":"id"}]}';
const AUTH =
  '{"mcpServers":{"c":{"url":"https://h","auth":{"type":"oauth","clientId":"${KEY}","scope":["a"]}},"d":{"url":"https://h","auth":{"type":"bearer","token":"${KEY}"}},"e":{"url":"https://h","oauth":{"clientId":"x","scopes":["b"],"callbackPort":1}}}}';
const WORDS = [
  '"auth":{"type":',
  '"oauth":{',
  '"mcpServers":{',
  "${KEY}",
  "${input:id}",
  "${",
  ":-",
  "//",
  "/*",
  '"__proto__":',
  '"command":',
  '"url":',
  "http:",
  "\0",
  "\r\n",
];

/** A file of a host: it is refused with a message that holds no value, or its servers each are a target or have a problem. */
function check(text: string, file: string): void {
  refused(() => {
    const { servers } = readConfigText(text, file);
    equal(new Set(servers.map(({ name }) => name)).size, servers.length);
    for (const server of servers) resolve(server, file);
  });
}

function resolve({ config, problem }: ConfiguredServer, file: string): void {
  ok(config !== undefined || problem instanceof BelljarError);
  if (!config) return;
  inputsOf(config);
  try {
    envFileOf(config, file, SCOPE);
    const target = resolveServer(config, file, SCOPE, `A=${SECRET}`);
    if (target.kind === "stdio") ok(![target.command, ...target.args, ...Object.entries(target.env).flat()].join("").includes("\0"));
    else ok(/^https?:$/.test(target.url.protocol) && new Headers({ ...target.headers }));
  } catch (error) {
    if (!(error instanceof BelljarError) || error.code !== "CONFIG_INVALID") throw error;
    ok(!error.message.includes(SECRET), "a message has a value in it");
  }
}

export const mcpConfig = pureTarget({
  seeds: [STDIO, HTTP, AUTH, '{/* c */"mcpServers":{"a":{"command":["x","y"],"disabled":true,},},}'],
  words: WORDS,
  run: (input) => check(input.toString(), "mcp.json"),
});

export const mcpConfigToml = pureTarget({
  seeds: [
    '[mcp_servers.a]\ncommand = "x"\nargs = ["y"]\nenv_vars = ["KEY"]\n',
    '[mcp_servers."b c"]\nurl="http://h"\nbearer_token_env_var="KEY"\n',
  ],
  words: ["[mcp_servers.", "[[", '"""', "''", "\\u", "__proto__", "0x", "1979-05-27T07:32:00Z", "{", "="],
  run: (input) => check(input.toString(), "config.toml"),
});

/** Files of all hosts, whose shapes differ. */
export const hostSettings = pureTarget({
  seeds: [
    STDIO,
    '{"projects":{"/p":{"mcpServers":{"a":{"command":"x"}},"disabledMcpServers":["a"]}}}',
    '{"mcp":{"excluded":["a"],"a":{}}}',
  ],
  words: [...WORDS, '"projects":{', '"mcp":{', '"context_servers":{'],
  run(input) {
    for (const file of hostFiles(PLACES)) refused(() => void file.tables(parseSettings(input.toString(), file.path, file.format)));
  },
});

/** Names of tools, one a line: each becomes another one that models take, whatever the servers call them. */
export const exposedNames = pureTarget({
  seeds: ["a__b\na_\n_b", "tool one\ntool/one\ntool_one"],
  words: ["__", "_", "\u{1f600}", "\ud800", "x".repeat(64)],
  run(input) {
    const tools = input
      .toString()
      .split("\n")
      .map((line) => ({ server: line.slice(0, 3), tool: line.slice(3) }));
    const distinct = [...new Map(tools.map((tool) => [JSON.stringify(tool), tool])).values()];
    const names = exposeNames(distinct);
    ok(names.every((name) => /^[\w-]{1,64}$/.test(name)));
    equal(new Set(names).size, names.length);
  },
});

/** What a server answers becomes a text, whatever it is. */
export const serverContents = pureTarget({
  seeds: [
    '[{"type":"text","text":"a"},{"type":"image","data":"AAAA"},{"resource":{"uri":"a:b","blob":"AA=="}}]',
    '{"content":[],"structuredContent":{}}',
  ],
  words: ['"type":', '"resource":{', '"toString":1', '"__proto__":'],
  run(input) {
    let value: unknown;
    try {
      value = JSON.parse(input.toString());
    } catch {
      return;
    }
    equal(typeof renderContents(value), "string");
    if (typeof value === "object" && value !== null) equal(typeof renderResult({ ...value }), "string");
  },
});

/** A recording: it is refused, or played to its own requests. */
export const recordings = pureTarget({
  seeds: [
    '{"server":"a","direction":"sent","message":{"id":1,"method":"tools/call","params":{"name":"x","_meta":{"progressToken":1}}}}\n' +
      '{"server":"a","direction":"received","message":{"method":"notifications/progress","params":{"progressToken":1}}}\n' +
      '{"server":"a","direction":"received","message":{"id":1,"result":{}}}\n',
  ],
  words: ['{"server":"a","direction":"sent","message":', '"received"', '"__proto__":', '"id":', '"method":"initialize"', "\n"],
  run(input) {
    refused(() => {
      const said: unknown[] = [];
      const recording = readRecording(input.toString(), "file");
      const replay = createReplay(recording, (message) => void said.push(message));
      for (const message of [...recording.values()].flat().flatMap(({ before }) => before)) void replay.take({ ...message, id: 1 });
      for (const method of ["initialize", "tools/call", "constructor"]) void replay.take({ id: 2, method });
      ok(said.length > 0);
    });
  },
});
