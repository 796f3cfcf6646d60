import { afterAll, beforeAll, expect, it } from "vitest";
import type { EnvdProcess } from "../../../../src/gateway/e2b/envd/process/envd-process.ts";
import { type Launch, ProcessTable } from "../../../../src/gateway/e2b/envd/process/process-table.ts";
import type { Guest } from "../../../../src/sandbox/sandbox.ts";
import { type ContextLab, openContextLab, soon } from "../../../support/context-lab.ts";

/** Of what a guest keeps, so many places are E2B's. */
const PLACES = 48;

let lab: ContextLab | undefined;
let guest: Guest;

beforeAll(async () => {
  lab = await openContextLab();
  ({ guest } = await lab.sandbox());
}, 60_000);
afterAll(() => lab?.[Symbol.asyncDispose](), 60_000);

function launch(script: string): Launch {
  const note = { cmd: "sh", args: ["-c", script], envs: {}, isTerminal: false };
  return {
    note,
    argv: ["sh", "-c", script],
    env: {},
    cwd: undefined,
    user: undefined,
    stdin: false,
    terminal: undefined,
    timeoutMs: undefined,
  };
}

/** Starts a process that nobody listens to. */
async function begin(table: ProcessTable, script: string): Promise<EnvdProcess> {
  const { process, listening } = await table.start(launch(script), soon());
  await listening[Symbol.asyncDispose]();
  return process;
}

/** The pids of the commands that the sandbox keeps; undefined for one that has ended. */
async function kept(): Promise<readonly (number | undefined)[]> {
  return (await guest.listKept(soon())).map(({ pid }) => pid);
}

const gone = { code: "PROCESS_NOT_FOUND" };

it("gives the places back of processes that end while nobody listens", async () => {
  const table = new ProcessTable(guest);
  const all = await Promise.all(
    Array.from({ length: PLACES }, () => begin(table, "while [ ! -e /tmp/first ]; do sleep 0.1; done; exit 3")),
  );
  expect(await table.list(soon())).toHaveLength(PLACES);
  await guest.run({ argv: ["touch", "/tmp/first"], maxOutputBytes: 0, signal: soon() });
  await expect.poll(kept, { timeout: 30_000 }).toEqual(Array.from({ length: PLACES }, () => undefined));

  const [first] = all;
  if (!first) throw new Error("nothing was started");
  await expect(table.find({ pid: first.pid }, soon()).then((found) => found.signal(9, soon()))).rejects.toMatchObject(gone);
  const again = await (await table.find({ pid: first.pid }, soon())).connect(soon());
  expect(await again.take(soon()), "one that has just ended tells its end").toMatchObject({ exitCode: 3 });

  const next = await begin(table, "sleep 600");
  expect(await kept(), "it outlives this server").toEqual([next.pid]);
  expect((await table.list(soon())).map(({ pid }) => pid)).toEqual([next.pid]);
  await next.signal(9, soon());
  expect(await table.list(soon())).toEqual([]);
});

it("does so for processes that another server has started", async () => {
  await begin(new ProcessTable(guest), "while [ ! -e /tmp/second ]; do sleep 0.1; done");
  await guest.run({ argv: ["touch", "/tmp/second"], maxOutputBytes: 0, signal: soon() });
  await expect.poll(kept).toEqual([undefined]);
  const table = new ProcessTable(guest);
  expect(await table.list(soon())).toEqual([]);
  expect(await kept()).toEqual([]);
});
