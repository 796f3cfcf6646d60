import { expect, it } from "vitest";
import { JavascriptContext } from "../../support/kernels/javascript-context.ts";

const PNG = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNkYPhfDwAChwGA60e6kgAAAABJRU5ErkJggg==";

it("tells what is printed, in order with what is shown", async () => {
  await using context = await JavascriptContext.open();
  const code =
    "console.log('a', 1); console.error('b'); process.stdout.write(Buffer.from('c')); display(2); console.warn('d'); console.info('e'); 3";
  expect(await context.run(code)).toEqual([
    { type: "stdout", text: "a 1\n" },
    { type: "stderr", text: "b\n" },
    { type: "stdout", text: "c" },
    { type: "display", data: { "text/plain": "2" } },
    { type: "stderr", text: "d\n" },
    { type: "stdout", text: "e\n" },
    { type: "result", data: { "text/plain": "3" } },
  ]);
});

it("begins and ends each run with its token, on the pipes too", async () => {
  await using context = await JavascriptContext.open();
  const told = await context.runWhole(
    "require('fs').writeSync(1, 'raw'); require('child_process').execSync('echo child', { stdio: 'inherit' }); undefined",
  );
  const { run } = told[0] ?? {};
  expect(told).toEqual([
    { type: "started", run },
    { type: "done", run, execution_count: 1 },
  ]);
  await context.run("1");
  expect(context.raw).toContain(`rawchild\n${run}\n`);
  expect(context.raw.split(`${run}\n`)).toHaveLength(3);
});

it("puts what microtasks print into their run, and later prints into the next one", async () => {
  await using context = await JavascriptContext.open();
  expect(await context.run("Promise.resolve().then(() => 1).then(() => console.log('soon')); 0;")).toMatchObject([
    { text: "soon\n" },
    { type: "result" },
  ]);
  await context.run("var late = new Promise(done => setTimeout(() => { console.log('late'); done() }, 1)); 0;");
  expect(await context.run("await late; 0;")).toMatchObject([{ text: "late\n" }, { type: "result" }]);
});

it("holds back what is printed between runs, to a bound", async () => {
  await using context = await JavascriptContext.open();
  const print = "console.log('first'); for (let i = 0; i < 9000; i++) console.log('x'.repeat(99)); require('fs').writeSync(1, 'printed');";
  await context.run(`process.on('SIGUSR2', () => { ${print} }); undefined`);
  context.child.kill("SIGUSR2");
  await context.rawWith("printed");
  const told = await context.run("console.log('own')");
  const texts = told.map(({ text }) => text ?? "");
  expect([texts[0], texts.at(-1)]).toEqual(["first\n", "own\n"]);
  expect(texts.join("").length).toBeGreaterThan(60 * 1024);
  expect(texts.join("").length).toBeLessThanOrEqual(64 * 1024 + 4);
});

it("cuts long prints into messages, between characters", async () => {
  await using context = await JavascriptContext.open();
  const told = await context.run("process.stdout.write('a' + '\\u{1F600}'.repeat(50_000))");
  const texts = told.filter(({ type }) => type === "stdout").map(({ text }) => text ?? "");
  expect(texts.join("")).toBe(`a${"\u{1F600}".repeat(50_000)}`);
  expect(Math.max(...texts.map((text) => Buffer.byteLength(text)))).toBeLessThanOrEqual(64 * 1024);
  expect(texts.every((text) => text === Buffer.from(text).toString())).toBe(true);
});

it("gives plain data as JSON, and other values as a text", async () => {
  await using context = await JavascriptContext.open();
  const data = async (code: string) => (await context.run(code)).at(-1)?.data;
  expect(await data("[1, { a: null, b: 'x' }]")).toEqual({
    "text/plain": "[ 1, { a: null, b: 'x' } ]",
    "application/json": [1, { a: null, b: "x" }],
  });
  for (const code of [
    "[undefined]",
    "[NaN]",
    "[,1]",
    "({ f() {} })",
    "new Map()",
    "new Date(0)",
    "[1n]",
    "({ get a() { return 1 } })",
    "new Proxy({}, {})",
    "var c = []; c.push(c); c",
    "'s'",
    "5",
  ])
    expect({ code, types: Object.keys((await data(code)) ?? {}) }).toEqual({ code, types: ["text/plain"] });
});

it("shows pictures", async () => {
  await using context = await JavascriptContext.open();
  expect((await context.run(`Buffer.from(${JSON.stringify(PNG)}, "base64")`)).at(-1)?.data).toMatchObject({ "image/png": PNG });
  expect((await context.run("new Uint8Array([0xff, 0xd8, 0xff, 0])")).at(-1)?.data).toMatchObject({ "image/jpeg": "/9j/AA==" });
  expect(
    await context.run(
      `display({ "image/png": Buffer.from(${JSON.stringify(PNG)}, "base64"), "text/html": "<b>x</b>", "application/vnd.x+json": { a: 1 } })`,
    ),
  ).toEqual([{ type: "display", data: { "image/png": PNG, "text/html": "<b>x</b>", "application/vnd.x+json": { a: 1 } } }]);
});

it("bounds what it shows", async () => {
  await using context = await JavascriptContext.open();
  expect((await context.value("'x'.repeat(2 ** 28)")).length).toBeLessThan(1_100_000);
  expect((await context.value("Object.fromEntries(Array.from({ length: 200_000 }, (_, i) => ['key' + i, i]))")).length).toBeLessThan(
    1_100_000,
  );
  expect(await context.value("Buffer.alloc(2 ** 30)")).toContain("<Buffer 00 00");
  expect(await context.value("let deep = []; for (let i = 0; i < 1e6; i++) deep = [deep]; deep")).toContain("[Array]");
  const [large] = await context.run("display({ 'text/plain': 'x'.repeat(2 ** 25) })");
  expect(large?.data?.["text/plain"]).toMatch(/too large to show/);
  expect(await context.value("throw new Error('y'.repeat(2 ** 25))").then((text) => text.length)).toBeLessThan(70_000);
});

it("names the author's lines and columns in an error, and no others", async () => {
  await using context = await JavascriptContext.open();
  const error = async (code: string) => (await context.run(code)).at(-1);
  expect(await error("function bad() {\n  null.x;\n}\nbad();")).toEqual({
    type: "error",
    name: "TypeError",
    message: "Cannot read properties of null (reading 'x')",
    traceback: "TypeError: Cannot read properties of null (reading 'x')\n    at bad (<run 1>:2:8)\n    at <run 1>:4:1",
  });
  expect((await error("import fs from 'fs';\nawait 1;\n\n  null.y"))?.traceback).toMatch(/'y'\)\n {4}at <run 2>:4:8$/);
  expect((await error("null.y; await 1"))?.traceback).toMatch(/\n {4}at <run 3>:1:6$/);
  expect((await error("require('fs').readFileSync('/nonexistent')"))?.traceback).toMatch(/\n {4}at <run 4>:1:15 \{\n {2}errno: -2,/);
  expect((await error("const = 5"))?.traceback).toContain("const = 5\n      ^\n\nSyntaxError: ");
  expect(await error("throw new Error('\\x1b[31mred\\x1b[0m', { cause: new Error('why') })")).toMatchObject({
    message: "red",
    traceback: expect.stringContaining("[cause]: Error: why") as string,
  });
  expect(await error("throw { code: 5 }")).toMatchObject({ name: "Error", message: "{ code: 5 }" });
  expect(await error("throw Object.defineProperty(new Error('x'), 'message', { get() { throw 1 } })")).toMatchObject({ type: "error" });
});
