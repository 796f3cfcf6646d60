import { setMaxListeners } from "node:events";
import { expect, it } from "vitest";
import type { Sandbox } from "../../src/sandbox/sandbox.ts";
import { LOCAL } from "../../src/sandbox/sandbox.ts";
import type { LogOptions } from "../../src/tools/shell/background-log.ts";
import { readLog } from "../../src/tools/shell/background-log.ts";
import { openToolCaller } from "../support/tool-caller.ts";

const { signal } = new AbortController();
// A proxy for each sandbox, and calls that are open at once.
setMaxListeners(0, signal);
const ALL = { follow: false, signal };
const print = (bytes: number) => `head -c ${bytes} /dev/zero | tr '\\0' x`;

/** A background process of a sandbox of its own. */
async function openLogged(command: string) {
  const tools = await openToolCaller();
  const sandbox = await tools.sandboxes.create(LOCAL, {}, signal);
  const { value } = await tools.call("run_background", { command, sandbox: sandbox.id });
  const one = { process_id: String(value["process_id"]), sandbox: sandbox.id };
  return {
    sandbox,
    id: one.process_id,
    write: (text: string) => tools.call("process_input", { ...one, text }),
    /** Resolves when it has printed more than so much. */
    async hasPrinted(bytes: number): Promise<void> {
      const { value: seen } = await tools.call("process_output", { ...one, offset: bytes, wait_ms: 60_000 });
      expect(seen["output"]).not.toBe("");
    },
    [Symbol.asyncDispose]: () => tools[Symbol.asyncDispose](),
  };
}

async function readAll(sandbox: Sandbox, options: LogOptions): Promise<string> {
  let text = "";
  for await (const part of readLog(sandbox, options)) text += part;
  return text;
}

it("ends with what was printed when it began, while the process goes on", async () => {
  await using logged = await openLogged(`${print(600_000)}; read go; ${print(600_000)}; echo end; read stay`);
  await logged.hasPrinted(599_999);
  let bytes = 0;
  for await (const part of readLog(logged.sandbox, { ...ALL, id: logged.id })) {
    if (bytes === 0) {
      await logged.write("go\n");
      await logged.hasPrinted(1_200_003);
    }
    bytes += part.length;
  }
  expect(bytes).toBe(600_000);
});

it("goes on with what is kept when the oldest output goes as it is read", async () => {
  await using logged = await openLogged(`${print(5_000_000)}; echo end`);
  await logged.hasPrinted(5_000_003);
  const { guest } = logged.sandbox;
  let oldest = 0;
  const read: typeof guest.files.read = async (path, options) => {
    if (String(path).endsWith(`/out.${oldest}`)) {
      await guest.files.remove(path, { signal });
      oldest += 1;
    }
    return guest.files.read(path, options);
  };
  const losing = { ...logged.sandbox, guest: { ...guest, files: { ...guest.files, read } } };
  const text = await readAll(losing, { ...ALL, id: logged.id });
  expect(text).toMatch(/^x+end\n$/);
  expect(text.length).toBeGreaterThan(1_000_000);
});

it("is empty, and no failure, when a process writes faster than anybody reads", async () => {
  await using logged = await openLogged(`${print(5_000_000)}; echo end`);
  await logged.hasPrinted(5_000_003);
  const { guest } = logged.sandbox;
  const read: typeof guest.files.read = async (path, options) => {
    if (/\/out\.\d+$/.test(String(path))) await guest.files.remove(path, { signal }).catch(() => undefined);
    return guest.files.read(path, options);
  };
  const losing = { ...logged.sandbox, guest: { ...guest, files: { ...guest.files, read } } };
  expect(await readAll(losing, { ...ALL, id: logged.id })).toBe("");
});

it("begins with its last lines, and counts a line without end as several", async () => {
  await using logged = await openLogged(`echo one; echo; echo three; ${print(300_000)}`);
  await logged.hasPrinted(300_010);
  const tail = (lines: number) => readAll(logged.sandbox, { ...ALL, id: logged.id, lines });
  expect(await tail(1)).toBe("x".repeat(65_536));
  expect(await tail(5)).toBe("x".repeat(300_000));
  expect(await tail(7)).toBe(`\nthree\n${"x".repeat(300_000)}`);
  expect(await tail(100)).toBe(`one\n\nthree\n${"x".repeat(300_000)}`);
});
