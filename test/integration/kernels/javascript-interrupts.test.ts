import { expect, it } from "vitest";
import { JavascriptContext } from "../../support/kernels/javascript-context.ts";

const INTERRUPTED = {
  type: "error",
  name: "KeyboardInterrupt",
  message: "The run was interrupted",
  traceback: "KeyboardInterrupt: The run was interrupted",
};
const LATER = "setImmediate(() => console.log('ready'));";

it.each([
  ["an endless loop", "console.log('ready'); for (;;);"],
  ["a wait that blocks the thread", "console.log('ready'); Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0);"],
  ["a pattern that backtracks", "console.log('ready'); /^(a+)+$/.test('a'.repeat(99) + 'b');"],
  ["an await", `${LATER} await new Promise(() => {});`],
  ["a promise that is the last value", `${LATER} new Promise(() => {})`],
  ["an endless loop after an await", "await 1; console.log('ready'); for (;;);"],
  ["an endless loop within a function after an await", "async function main() { await 1; console.log('ready'); for (;;); }\nmain()"],
  ["an endless loop in a callback", "await new Promise(() => setTimeout(() => { console.log('ready'); for (;;); }, 1))"],
  ["an endless loop in a callback of setImmediate", "await new Promise(() => setImmediate(() => { console.log('ready'); for (;;); }))"],
  ["awaits without end", "console.log('ready'); for (;;) await 1;"],
  ["a value that is never shown", "({ [Symbol.for('nodejs.util.inspect.custom')]() { console.log('ready'); for (;;); } })"],
  ["an error that is never shown", "throw { [Symbol.for('nodejs.util.inspect.custom')]() { console.log('ready'); for (;;); } }"],
  ["printing without end", "for (;;) console.log('ready');"],
  ["printing without end after an await", "await 1; for (;;) console.log('ready');"],
])("interrupts %s, and keeps the variables", async (_what, code) => {
  await using context = await JavascriptContext.open();
  await context.run("const kept = 7");
  for (const _time of [1, 2]) {
    expect((await context.run(code, { interrupt: true, env: { FOR_RUN: "1" } })).at(-1)).toEqual(INTERRUPTED);
    expect(await context.value("[kept, process.env.FOR_RUN]")).toBe("[ 7, undefined ]");
  }
});

it("interrupts awaits without end whose first interrupt comes while the kernel starts its thread", async () => {
  await using context = await JavascriptContext.open();
  const wait = "function () { prototype.on = on; console.log('ready'); for (;;); }";
  const code = `const { prototype } = require("node:events"); const { on } = prototype; prototype.on = ${wait}; for (;;) await 1;`;
  expect((await context.run(code, { interrupt: true })).at(-1)).toEqual(INTERRUPTED);
  expect(await context.value("prototype.on === on")).toBe("true");
  expect((await context.run(`${LATER} await new Promise(() => {})`, { interrupt: true })).at(-1)).toEqual(INTERRUPTED);
});

it.each(["1", "await 1"])("keeps nothing of an interrupt between runs, of which the last was %s", async (code) => {
  await using context = await JavascriptContext.open();
  for (let time = 0; time < 20; time++) {
    await context.run(code);
    context.child.kill("SIGINT");
    context.child.kill("SIGINT");
    // The signal may be on its way yet, and hit this run: then it is told.
    await context.run(code);
    expect(await context.value(code)).toBe("1");
  }
});

it("lives through a second interrupt while the first is handled", async () => {
  await using context = await JavascriptContext.open();
  await context.run("await 1");
  for (let time = 0; time < 20; time++) {
    const run = context.run("console.log('ready'); await 1; for (;;);", { interrupt: true });
    context.child.kill("SIGINT");
    expect((await run).at(-1)).toEqual(INTERRUPTED);
    context.child.kill("SIGINT");
  }
  // The last signal may be on its way yet, and hit this run.
  await context.run("0");
  expect(await context.value("3")).toBe("3");
});

it("is interrupted whatever handlers the user's code sets", async () => {
  await using context = await JavascriptContext.open();
  await context.run("process.on('SIGINT', () => process.exit(9)); process.once('SIGINT', () => process.exit(9));");
  context.child.kill("SIGINT");
  await context.run("await new Promise((done) => setTimeout(done, 1))");
  expect((await context.run("console.log('ready'); for (;;);", { interrupt: true })).at(-1)).toEqual(INTERRUPTED);
  expect((await context.run(`${LATER} await new Promise(() => {})`, { interrupt: true })).at(-1)).toEqual(INTERRUPTED);
  context.child.kill("SIGINT");
  await context.run("0");
  expect(await context.value("4")).toBe("4");
});

it("goes on with timers and sockets after an interrupt", async () => {
  await using context = await JavascriptContext.open();
  await context.run("const ticks = []; const timer = setInterval(() => ticks.push(1), 1);");
  await context.run("await 1; console.log('ready'); for (;;);", { interrupt: true });
  expect(
    await context.value(
      "ticks.length = 0; await new Promise(done => { const t = setInterval(() => ticks.length && (clearInterval(t), done()), 1) }); clearInterval(timer); 'ticks'",
    ),
  ).toBe("'ticks'");
});
