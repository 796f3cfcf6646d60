import { spawn } from "node:child_process";
import { once } from "node:events";
import { resolve } from "node:path";
import { describe, expect, it, vi } from "vitest";
import { WorkerPool } from "../../src/text/worker-pool.ts";

const PROGRAM = resolve(import.meta.dirname, "../fixtures/hostile-worker.mjs");
const LOST_PARENT = resolve(import.meta.dirname, "../fixtures/lost-parent.mjs");
const withCode = (code: string) => expect.objectContaining({ name: "BelljarError", code });
const never = new AbortController().signal;

function openPool(more: { readonly timeoutMs?: number; readonly size?: number; readonly program?: string } = {}) {
  const pool = new WorkerPool({ program: PROGRAM, size: 2, timeoutMs: 60_000, idleMs: 60_000, memoryMb: 32, ...more });
  const ask = (
    job: string,
    { owner = "a", signal = never, input }: { readonly owner?: string; readonly signal?: AbortSignal; readonly input?: unknown } = {},
  ) => pool.run({ job, input }, { owner, signal });
  return { ask, [Symbol.dispose]: () => pool[Symbol.dispose]() };
}

/** What was asked has been sent by then. */
function startOfWork(): Promise<void> {
  return new Promise((started) => setImmediate(started));
}

function isAlive(pid: number): boolean {
  try {
    return process.kill(pid, 0);
  } catch {
    return false;
  }
}

describe("a worker", () => {
  it("is asked again and again, and answers bytes and maps as they are", async () => {
    using pool = openPool();
    const input = { bytes: Buffer.from([0, 255]), files: new Map([["a", undefined]]) };
    expect(await pool.ask("echo", { input })).toEqual(input);
    expect(await pool.ask("pid")).toBe(await pool.ask("pid"));
  });

  it("gets nothing of the environment", async () => {
    using pool = openPool();
    expect(await pool.ask("env")).toEqual(expect.not.arrayContaining(["PATH", "HOME"]));
  });

  it("fails as its job does", async () => {
    using pool = openPool();
    await expect(pool.ask("fail")).rejects.toThrow(withCode("EDIT_CONFLICT"));
    await expect(pool.ask("fault")).rejects.toThrow("as it must not");
    await expect(pool.ask("exit")).rejects.toThrow(/ended with code 3/);
  });

  it("that works for too long is replaced, and the call says what to do", async () => {
    using pool = openPool({ timeoutMs: 100 });
    await expect(pool.ask("spin")).rejects.toThrow(withCode("FILE_TOO_LARGE"));
    await expect(pool.ask("spin")).rejects.toThrow(/more than 100 ms.*run_command/);
  });

  it("whose heap is full ends alone, and the call says what to do", async () => {
    using pool = openPool();
    await expect(pool.ask("fill")).rejects.toThrow(
      expect.objectContaining({ code: "FILE_TOO_LARGE", message: expect.stringMatching(/32 MB of memory.*run_command/) }),
    );
    expect(await pool.ask("echo", { input: 1 })).toBe(1);
  });

  it("is killed when its caller goes away", async () => {
    using pool = openPool();
    const pid = Number(await pool.ask("pid"));
    const controller = new AbortController();
    const spinning = pool.ask("spin", { signal: controller.signal });
    await startOfWork();
    controller.abort(new Error("gone"));
    await expect(spinning).rejects.toThrow("gone");
    expect(isAlive(pid)).toBe(false);
  });

  it("ends when its parent is killed, whatever it is doing", async () => {
    const parent = spawn(process.execPath, [LOST_PARENT, PROGRAM], { stdio: ["ignore", "pipe", "inherit"] });
    const [line] = (await once(parent.stdout, "data")) as [Buffer];
    const pid = Number(line);
    expect(isAlive(pid)).toBe(true);
    parent.kill("SIGKILL");
    await vi.waitUntil(() => !isAlive(pid), { timeout: 20_000 });
  });

  it("ends with its pool", async () => {
    const pool = openPool();
    const spinning = pool.ask("spin");
    await startOfWork();
    pool[Symbol.dispose]();
    await expect(spinning).rejects.toThrow(withCode("CANCELLED"));
    await expect(pool.ask("echo")).rejects.toThrow(withCode("CANCELLED"));
  });
});

describe("the line", () => {
  it("lets nobody wait for another owner's work while a worker is free", async () => {
    using pool = openPool();
    const controller = new AbortController();
    const many = Promise.allSettled([1, 2, 3].map(() => pool.ask("spin", { signal: controller.signal })));
    expect(await pool.ask("echo", { owner: "b", input: "served" })).toBe("served");
    controller.abort();
    expect((await many).map(({ status }) => status)).toEqual(["rejected", "rejected", "rejected"]);
    expect(await pool.ask("echo", { input: "served" })).toBe("served");
  });

  it("serves the owners in turn, and each owner's jobs in the order in which they came", async () => {
    using pool = openPool({ size: 1 });
    const served: unknown[] = [];
    const ask = async (job: string): Promise<unknown> => served.push(await pool.ask("echo", { owner: job.charAt(0), input: job }));
    await Promise.all(["a0", "a1", "a2", "b0", "b1", "c0"].map(ask));
    expect(served).toEqual(["a0", "b0", "c0", "a1", "b1", "a2"]);
  });

  it("lets no two owners keep both workers while another one waits", async () => {
    using pool = openPool();
    const [first, others] = [new AbortController(), new AbortController()];
    const leaving = pool.ask("spin", { signal: first.signal });
    const spinning = Promise.allSettled(["b", "a", "b"].map((owner) => pool.ask("spin", { owner, signal: others.signal })));
    const waiting = pool.ask("echo", { owner: "c", input: "served" });
    await startOfWork();
    first.abort(new Error("gone"));
    await expect(leaving).rejects.toThrow("gone");
    expect(await waiting).toBe("served");
    others.abort();
    await spinning;
  });
});
