import { PassThrough } from "node:stream";
import { describe, expect, it } from "vitest";
import { BelljarError } from "../../errors.ts";
import { connectAwake, Link } from "./link.ts";

const connect = (): Promise<never> => Promise.reject(new Error("nobody connects"));

describe("a stream to a sandbox that may sleep", () => {
  const { signal } = new AbortController();
  const paused = new BelljarError("SANDBOX_PAUSED", "It sleeps");

  it("wakes it as often as it falls asleep before the stream is there", async () => {
    const stream = new PassThrough();
    const done: string[] = [];
    const open = async () => {
      done.push("connect");
      if (done.length < 5) throw paused;
      return stream;
    };
    expect(await connectAwake(open, async () => void done.push("wake"), signal)).toBe(stream);
    expect(done).toEqual(["connect", "wake", "connect", "wake", "connect"]);
  });

  it("is given up when it cannot be woken, and wakes nobody for another failure", async () => {
    const asleep = async () => Promise.reject(paused);
    const failed = new BelljarError("RUNTIME_FAILED", "It stays paused");
    await expect(connectAwake(asleep, async () => Promise.reject(failed), signal)).rejects.toBe(failed);
    const gone = async () => Promise.reject(failed);
    await expect(connectAwake(gone, async () => Promise.reject(paused), signal)).rejects.toBe(failed);
  });
});

describe("the environment of a guest's commands", () => {
  it("is asked for before each command", async () => {
    let count = 0;
    const link = new Link(connect, { env: async () => ({ COUNT: String(++count) }) });
    const { signal } = new AbortController();
    expect([await link.env(signal), await link.env(signal)]).toEqual([{ COUNT: "1" }, { COUNT: "2" }]);
  });

  it("fails the command if it cannot be had", async () => {
    const link = new Link(connect, { env: () => Promise.reject(new Error("no network")) });
    await expect(link.env(new AbortController().signal)).rejects.toThrow("no network");
  });

  it("does not keep a caller waiting that has given up", async () => {
    const controller = new AbortController();
    const link = new Link(connect, { env: () => new Promise(() => {}) });
    const asked = link.env(controller.signal);
    controller.abort();
    await expect(asked).rejects.toMatchObject({ code: "CANCELLED" });
    await expect(link.env(controller.signal)).rejects.toMatchObject({ code: "CANCELLED" });
  });
});
