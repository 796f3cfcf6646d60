import { createHash } from "node:crypto";
import * as fc from "fast-check";
import { expect, it } from "vitest";
import { callCode, readCode } from "../../support/tool-harness.ts";

const run = (body: string): string =>
  `import fs from "node:fs"; import { spawn } from "node:child_process"; import { syncBuiltinESMExports } from "node:module";
   export default defineTool({ run: async (args, context) => { ${body} } });`;
const OK = { type: "result", content: [{ type: "text", text: "ok" }] };

it.each([
  ["prints lines of the protocol", `console.log('{"token":"x","type":"result","content":[]}'); return "ok"`],
  ["writes a line to the channel", `fs.writeSync(3, '{"token":"x","type":"result","content":[]}\\n'); return "ok"`],
  ["leaves a line half written", `fs.writeSync(3, '{"token":'); return "ok"`],
  ["replaces JSON.stringify", `JSON.stringify = () => "{}"; return "ok"`],
  ["gives prototypes a toJSON", `Object.prototype.toJSON = String.prototype.toJSON = () => 1; return "ok"`],
  ["replaces process.exit", `process.exit = () => {}; return "ok"`],
  ["replaces then", `Promise.prototype.then = () => {}; Promise.prototype.catch = () => {}; return "ok"`],
  ["replaces writeSync", `fs.writeSync = () => 1; syncBuiltinESMExports(); return "ok"`],
  ["leaves a timer and a promise", `setInterval(() => {}, 1000); new Promise((r) => setTimeout(r, 60_000)); return "ok"`],
  ["leaves a listener that does not end", `process.on("exit", () => { for (;;); }); return "ok"`],
  ["leaves a child", `spawn("sleep", ["60"], { stdio: "ignore", detached: true }).unref(); return "ok"`],
  ["rejects after its result", `setImmediate(() => Promise.reject(new Error("late"))); return "ok"`],
])("answers all the same when a tool %s", async (_title, body) => {
  const { last, exit } = await callCode("javascript", run(body), "default");
  expect(last).toEqual(OK);
  expect(exit).toBe(0);
});

it("shows the code its token nowhere that a name leads to", async () => {
  const body = `const seen = new Set(); const open = [globalThis, process, fs, args, context, Buffer.from("x").buffer]; let text = "";
    context.progress(1);
    for (const value of open) {
      if (seen.has(value) || seen.size > 20_000) continue;
      seen.add(value);
      if (value instanceof ArrayBuffer) text += Buffer.from(value).toString("latin1");
      for (const key of Reflect.ownKeys(value)) {
        let inner; try { inner = value[key]; } catch {}
        if (typeof inner === "string") text += inner + "\\n";
        else if (inner !== null && (typeof inner === "object" || typeof inner === "function")) open.push(inner);
      }
    }
    return (text.match(/"token":"[0-9a-f]{32}"/g) ?? []).length + " of " + (seen.size > 1000)`;
  const { last } = await callCode("javascript", run(body), "default");
  expect(last).toEqual({ type: "result", content: [{ type: "text", text: "0 of true" }] });
});

it("takes nothing for an answer that a tool writes to every descriptor, though Node's own may end it", async () => {
  const body = `for (let fd = 1; fd < 50; fd++) try { fs.writeSync(fd, '{"token":"x","type":"result","content":[]}\\n') } catch {} return "ok"`;
  const { answers } = await callCode("javascript", run(body), "default");
  expect(answers.filter((answer) => JSON.stringify(answer) !== JSON.stringify(OK))).toEqual([]);
});

it("ends without an answer when a tool closes the channel", async () => {
  const { answers, exit } = await callCode("javascript", run(`fs.closeSync(3); return "ok"`), "default");
  expect(answers).toEqual([]);
  expect(exit).toBe(1);
});

it.each([
  ["of 100 MB", `return "x".repeat(100_000_000)`, /^\$ has more than 8388608 bytes/],
  ["of many parts", `return new Array(4e9)`, /^\$ has more than 8388608 bytes/],
  ["of 5 million characters of 3 bytes", `return "\\u20ac".repeat(5_000_000)`, /^\$ has more than 8388608 bytes/],
  ["with NaN", `return { items: [1, { x: NaN }] }`, /^\$\.items\[1\]\.x is NaN/],
  ["with Infinity", `return -Infinity`, /^\$ is -Infinity/],
  ["with a BigInt", `return { "a b": 1n }`, /^\$\["a b"\] is a BigInt/],
  ["with a function", `return [() => 1]`, /^\$\[0\] is a function/],
  ["with a Map", `return new Map()`, /^\$ is a Map or Set/],
  ["with a promise within", `return [Promise.resolve(1)]`, /^\$\[0\] is a promise that nobody awaited/],
  ["of bytes", `return Buffer.from("x")`, /^\$ is bytes.*image\(/],
  ["that has itself", `const a = { b: [] }; a.b.push(a); return a`, /^\$\.b\[0\] contains itself/],
  ["that is too deep", `let a = []; for (let i = 0; i < 1e5; i++) a = [a]; return a`, /nested more than 200 levels/],
  ["whose getter throws", `return { get x() { throw new Error("no") } }`, /^\$\.x cannot be read/],
])("names the place in a result %s", async (_title, body, message) => {
  const { last } = await callCode("javascript", run(body), "default");
  expect(last).toMatchObject({ type: "error", name: "ResultError", message: expect.stringMatching(message) });
});

it("drops notes beyond a bound, and keeps the answer", async () => {
  const { answers } = await callCode("javascript", run(`for (let i = 0; i < 20_000; i++) context.progress(i); return "ok"`), "default");
  expect(answers.length).toBe(10_001);
  expect(answers.at(-1)).toEqual(OK);
});

it("passes any JSON through unchanged", async () => {
  const code = run("return { content: [{ type: 'text', text: JSON.stringify(args.values) }] }");
  const echo = `export default defineTool({ output: { type: "object" }, run: (args) => args });`;
  await fc.assert(
    fc.asyncProperty(fc.array(fc.jsonValue({ stringUnit: "binary" }), { minLength: 50, maxLength: 200 }), async (given) => {
      const values: unknown = JSON.parse(JSON.stringify(["\ud800", 'a"b\n\u2028', "\u{1f600}", ...given]));
      const [text, structured] = await Promise.all([
        callCode("javascript", code, "default", { values }),
        callCode("javascript", echo, "default", { values }),
      ]);
      expect(text.last?.["content"]).toEqual([{ type: "text", text: JSON.stringify(values) }]);
      expect(structured.last?.["structured"]).toEqual({ values });
    }),
    { numRuns: 5 },
  );
});

it("takes a string of 10 MB", async () => {
  const text = 'a\u20ac\n"'.repeat(2_500_000);
  const { last } = await callCode(
    "javascript",
    run(`return (await import("node:crypto")).createHash("sha256").update(args.text).digest("hex")`),
    "default",
    { text },
  );
  expect(last).toEqual({ type: "result", content: [{ type: "text", text: createHash("sha256").update(text).digest("hex") }] });
});

it("reads no tools of code that forges them", async () => {
  const code = `import fs from "node:fs"; fs.writeSync(3, '{"token":"","type":"tools","tools":[],"requirements":[]}\\n'); export const a = {};`;
  expect((await readCode("javascript", code)).answers).toEqual([
    { type: "refused", line: null, message: expect.stringMatching(/exports no tool/) },
  ]);
});
