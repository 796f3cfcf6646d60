import { expect, it } from "vitest";
import { JavascriptContext } from "../../support/kernels/javascript-context.ts";

it("ignores lines that are no requests", async () => {
  await using context = await JavascriptContext.open();
  const run = "0".repeat(32);
  for (const line of ["", "{", "null", "[]", "\u0000\u0000", '{"run":1,"code":"1"}', `{"run":"${run}"}`, `{"run":"x","code":"display(1)"}`])
    context.write(`${line}\n`);
  for (const fields of [{ env: { A: 1 } }, { env: [] }, { language: "python" }, { cwd: 5 }, { code: null }])
    context.write(`${JSON.stringify({ run, code: "display(1)", ...fields })}\n`);
  expect(await context.value("2")).toBe("2");
  expect(context.lines.join("\n")).not.toContain(run);
});

it("forgets half a line of a host that died", async () => {
  await using context = await JavascriptContext.open();
  context.write('{"run":"00000000000000000000000000000000","code":"display(');
  expect(await context.value("3")).toBe("3");
});

it("skips a line that is too long, and takes one of megabytes", async () => {
  await using context = await JavascriptContext.open();
  const run = "1".repeat(32);
  context.write(`${JSON.stringify({ run, code: `"${"x".repeat(33 * 2 ** 20)}"` })}\n`);
  expect(await context.value(`"${"y".repeat(8 * 2 ** 20)}".length`)).toBe(String(8 * 2 ** 20));
  expect(context.lines.join("\n")).not.toContain(run);
});

it("works off requests that come at once, one after the other", async () => {
  await using context = await JavascriptContext.open();
  context.write(`${JSON.stringify({ run: "a".repeat(32), code: "await new Promise(done => setImmediate(done)); var first = 1" })}\n`);
  expect(await context.value("first")).toBe("1");
});

it("keeps lone surrogates and NUL apart from the lines", async () => {
  await using context = await JavascriptContext.open();
  expect(await context.run("process.stdout.write('\\ud800\\0\\n\\u2028')")).toEqual([
    { type: "stdout", text: "\ud800\0\n\u2028" },
    { type: "result", data: { "text/plain": "true" } },
  ]);
});

it("sets variables for the run, and restores them after an error too", async () => {
  await using context = await JavascriptContext.open({ env: { ...process.env, KEPT: "before" } });
  const env = { KEPT: "now", NEW: "n" };
  expect(await context.value("[process.env.KEPT, process.env.NEW]", { env })).toBe("[ 'now', 'n' ]");
  expect(await context.value("await 1; throw process.env.NEW", { env })).toBe("Error: 'n'");
  expect(await context.value("[process.env.KEPT, process.env.NEW]")).toBe("[ 'before', undefined ]");
});

it("tells of exceptions that nobody caught, and lives", async () => {
  await using context = await JavascriptContext.open();
  const told = await context.run(
    "setTimeout(() => { throw new Error('timer') }, 1); Promise.reject(new Error('promise')); await new Promise(done => setTimeout(done, 20)); 0;",
  );
  const text = told.map((message) => message.text ?? "").join("");
  expect(text).toContain("Uncaught: Error: timer\n    at Timeout._onTimeout (<run 1>:1:");
  expect(text).toContain("Uncaught (in promise): Error: promise\n    at <run 1>:1:");
  await context.run(
    "setTimeout(() => { throw { [Symbol.for('nodejs.util.inspect.custom')]() { throw 1 } } }, 1); await new Promise(done => setTimeout(done, 20));",
  );
  expect(await context.value("5")).toBe("5");
});

it("lives through values that fail to be shown", async () => {
  await using context = await JavascriptContext.open();
  expect(await context.value("({ [Symbol.for('nodejs.util.inspect.custom')]() { throw new Error('inspect') } })")).toBe("Error: inspect");
  expect(await context.value("throw { [Symbol.for('nodejs.util.inspect.custom')]() { throw 1 } }")).toBe(
    "Error: The thrown value cannot be shown",
  );
  expect(await context.value("display({ 'application/json': 5n })")).toContain("TypeError: ");
  expect(await context.value("JSON.stringify = () => { throw 1 }; Array.prototype.toJSON = () => 'x'; 6")).toBe("6");
});

it("hands its channel to no other program", async () => {
  await using context = await JavascriptContext.open();
  const own = (await context.value("require('fs').readlinkSync('/proc/self/fd/3')")).slice(1, -1);
  expect(own).toMatch(/^socket:/);
  expect(await context.value("require('child_process').spawnSync('ls', ['-l', '/proc/self/fd']).stdout.toString()")).not.toContain(own);
  const inherited = "{ stdio: ['ignore', 'pipe', 'inherit', 'inherit'] }";
  expect(
    await context.value(`require('child_process').spawnSync('ls', ['-l', '/proc/self/fd'], ${inherited}).stdout.toString()`),
  ).toContain(own);
});

it("starts worker threads and processes that print", async () => {
  await using context = await JavascriptContext.open();
  const code =
    "const { Worker } = require('worker_threads'); const w = new Worker('console.log(1 + 1)', { eval: true }); await new Promise(done => w.on('exit', done));";
  expect((await context.run(code)).map(({ text }) => text).join("")).toContain("2\n");
  const fork =
    "require('fs').writeFileSync('c.js', 'process.send(process.argv.length)'); const c = require('child_process').fork('./c.js'); await new Promise(done => c.on('message', done))";
  expect(await context.value(fork)).toBe("2");
});

it("ends with process.exit, and when its channel is closed", async () => {
  await using first = await JavascriptContext.open();
  await first.run("await 1");
  await expect(first.run("process.exit(3)")).rejects.toThrow("The kernel ended");
  expect(await first.exit).toEqual({ code: 3, signal: null });
  await using second = await JavascriptContext.open();
  await second.run("await 1; setInterval(() => {}, 1000); 0;");
  second.channel.destroy();
  expect(await second.exit).toEqual({ code: 0, signal: null });
});

it("waits for a host that does not read, and loses nothing", async () => {
  await using context = await JavascriptContext.open();
  await context.run("1");
  context.channel.pause();
  const run = context.run("for (let i = 0; i < 300; i++) console.log('x'.repeat(10_000)); require('fs').writeFileSync('end', '');");
  context.channel.resume();
  expect((await run).map(({ text }) => text ?? "").join("")).toHaveLength(300 * 10_001);
});
