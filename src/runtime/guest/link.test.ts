import { describe, expect, it } from "vitest";
import { Link } from "./link.ts";

const connect = (): Promise<never> => Promise.reject(new Error("nobody connects"));

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
