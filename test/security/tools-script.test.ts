import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { once } from "node:events";
import { expect } from "vitest";
import { narrowScope } from "../../src/catalog/narrow-scope.ts";
import type { ToolResult } from "../../src/catalog/tool.ts";
import { LOCAL, type Principal } from "../../src/sandbox/sandbox.ts";
import { listed } from "../support/listed.ts";
import { openScriptLab, type ScriptLab } from "../support/script-lab.ts";
import { outside } from "./support/outside.ts";
import { verifies } from "./verifies.ts";

const READER: Principal = { id: "reader", name: "reader", grants: { readOnly: true } };
const scope = ({ grants }: Principal) => narrowScope({}, grants);

/** What a hostile program digs out of its own process: the token and the channel, by which it writes what it likes. */
const DIG = `
import os, json
ask = tools.memo.add._ask
cells = lambda f: dict(zip(f.__code__.co_freevars, (c.cell_contents for c in f.__closure__)))
send = cells(ask)["send"]
token, channel = cells(send)["token"], cells(send)["moved"]
def forge(tool, **more):
    os.write(channel, ("\\n" + json.dumps(dict({"token": token, "type": "call", "tool": tool, "arguments": {}}, **more)) + "\\n").encode())
def answer(count=1):
    text = b""
    while text.count(b"\\n") < count or not text.endswith(b"\\n"):
        text += os.read(channel, 1 << 20)
    return [json.loads(line) for line in text.decode().splitlines()]
`;

const returned = (result: ToolResult): unknown => (result.value as { readonly returned?: unknown }).returned;
const python = (lab: ScriptLab, code: string, principal: Principal = LOCAL) =>
  lab.call("execute_tools_script", { language: "python", code: `${DIG}${code}` }, { principal });

verifies(
  "scripts-call-as-their-caller",
  async () => {
    await using lab = await openScriptLab({ scope });
    await lab.lab.add("@mcp.tool\ndef own() -> str:\n    return 'mine'\n");
    const forged =
      'forge("mcp_memo_say_hello", id=7)\nforge("mcp_memo_say_hello", id=7)\nreturn sorted(json.dumps(one) for one in answer(2))';
    const twice = returned(await python(lab, forged)) as readonly string[];
    expect(
      twice.map((one) => JSON.parse(one) as object),
      "a program can write to its channel",
    ).toEqual([
      { id: 7, value: "hello", content: [], isError: false },
      { id: 7, value: "hello", content: [], isError: false },
    ]);
    for (const tool of [
      "execute_tools_script",
      "tool_draft",
      "tool_publish",
      "tool_get",
      "call_tool",
      "search_tools",
      "describe_tool",
      "no_such",
    ]) {
      const [said] = returned(
        await python(lab, `forge("${tool}", id=-1)\nforge("${tool}", id="x")\nforge("${tool}")\nreturn answer()`),
      ) as object[];
      expect(said, tool).toMatchObject({ isError: true, value: { code: "TOOL_NOT_FOUND" } });
    }
    expect(
      lab.calls.filter(({ tool }) => !/^(?:mcp_memo_|execute_tools_script)/.test(tool)),
      "none of them was called",
    ).toEqual([]);
    const mine = "return (await tools.own());";
    expect(returned(await lab.script(mine))).toBe("mine");
    const other = await lab.call("execute_tools_script", { code: mine }, { principal: { id: "other", name: "other" } });
    expect(other, "another caller's tools are not there").toMatchObject({ isError: true, value: { error: { name: "ToolError" } } });
    expect(returned(await lab.script("return tools.memo.write();"))).toBe("written");
    const names = returned(await lab.call("execute_tools_script", { code: "return Object.keys(tools.memo);" }, { principal: READER }));
    expect(names).toContain("add");
    expect(names).not.toContain("write");
    const [said] = returned(await python(lab, 'forge("mcp_memo_write")\nreturn answer()', READER)) as object[];
    expect(said).toMatchObject({ isError: true, value: { code: "TOOL_NOT_FOUND" } });
    expect(lab.begun.names.filter((name) => name === "write")).toHaveLength(1);
  },
  180_000,
);

verifies(
  "scripts-hold-nothing",
  async () => {
    const server = createServer((_request, response) => response.end()).listen(0, "127.0.0.1");
    await once(server, "listening");
    const { port } = server.address() as AddressInfo;
    const reach = `import socket\nsocket.create_connection(("127.0.0.1", ${port}), 5).close()`;
    try {
      await outside(["python3", "-c", reach]);
      await using lab = await openScriptLab();
      const look = `
import socket, os
try:
    socket.create_connection(("127.0.0.1", ${port}), 5).close()
    reached = True
except OSError:
    reached = False
return [reached, sorted(name for name in os.environ if any(word in name.lower() for word in ("token", "secret", "key", "belljar")))]`;
      expect(returned(await lab.script(look, "python"))).toEqual([false, []]);
      // What goes on after the end writes to the channel that it still has.
      const after = `
script = os.getpid()
if os.fork() == 0:
    os.setsid()
    while os.getppid() == script:
        pass
    for _ in range(1000):
        forge("mcp_memo_write")
    os._exit(0)
return 1`;
      expect(returned(await python(lab, after))).toBe(1);
      const begun = lab.begun.names.length;
      expect(returned(await lab.script("return 2;"))).toBe(2);
      expect(lab.begun.names).toHaveLength(begun);
      expect(lab.begun.now).toBe(0);
      expect(
        (await listed(lab.lab.sandboxes, LOCAL, {})).map(({ id }) => id),
        "its sandbox is in no list",
      ).toEqual([]);
    } finally {
      server.close();
    }
  },
  120_000,
);

verifies(
  "scripts-bounded",
  async () => {
    await using lab = await openScriptLab();
    const flood = await python(lab, 'for _ in range(20000):\n    forge("mcp_memo_say_hello")\nimport time\ntime.sleep(60)');
    expect(flood).toMatchObject({ isError: true, value: { code: "QUOTA_EXCEEDED" } });
    expect(lab.begun.names.length, "calls were made until then").toBeGreaterThan(0);
    expect(lab.begun.names.length).toBeLessThanOrEqual(1_000);
    const told = await lab.script(`
      let last;
      for (let count = 0; count < 1_001; count += 1) last = await tools.memo.say_hello().catch((error) => error.code);
      return last;`);
    expect(returned(told)).toBe("QUOTA_EXCEEDED");
    const large = await python(
      lab,
      'os.write(channel, b"{" + token.encode())\nfor _ in range(200):\n    os.write(channel, b"x" * 1048576)\nreturn 1',
    );
    expect(large).toMatchObject({ isError: true, value: { code: "RESULT_TOO_LARGE" } });
    const honest = await lab.script('return tools.memo.add({ a: "x".repeat(9 * 1048576) }).catch((error) => error.message);');
    expect(returned(honest)).toBe("$ has more than 8388608 bytes of JSON");
    const answer = await lab.script('return "x".repeat(9 * 1048576);');
    expect(answer).toMatchObject({ isError: true, value: { code: "TOOL_FAILED", error: { name: "ResultError" } } });
    const printed = await lab.script('for (let count = 0; count < 100000; count += 1) console.log("x".repeat(100)); return 1;');
    expect(returned(printed)).toBe(1);
    expect(printed.content.reduce((sum, block) => sum + (block.type === "text" ? block.text.length : 0), 0)).toBeLessThan(6_000);
    expect((await lab.script("for (;;) ;", "javascript", { timeout_ms: 4_000 })).value).toMatchObject({ code: "EXEC_TIMEOUT" });
  },
  180_000,
);
