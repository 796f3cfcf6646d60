import { describe, expect, it } from "vitest";
import type { Following, ServerSession } from "../../client/server-session.ts";
import { Subscriptions } from "./subscriptions.ts";

const { signal } = new AbortController();

/** A session that writes down what it is asked, and answers when it is let. */
function openSession(answer: () => Promise<void> = async () => undefined) {
  const log: string[] = [];
  const follow = async (uri: string, until: AbortSignal): Promise<Following> => {
    log.push(`+${uri}`);
    until.addEventListener("abort", () => log.push(`abort ${uri}`));
    await answer();
    return { ended: new Promise(() => undefined), [Symbol.asyncDispose]: async () => void log.push(`-${uri}`) };
  };
  return { log, session: { follow } as unknown as ServerSession };
}

describe("a subscription", () => {
  it("is one for all who follow a resource, and ends with the last of them", async () => {
    const [{ log, session }, subscriptions] = [openSession(), new Subscriptions()];
    const both = [await subscriptions.follow(session, "a", signal), await subscriptions.follow(session, "a", signal)];
    const other = await subscriptions.follow(session, "b", signal);
    await both[0]?.[Symbol.asyncDispose]();
    expect(log).toEqual(["+a", "+b"]);
    await both[1]?.[Symbol.asyncDispose]();
    expect(log).toEqual(["+a", "+b", "abort a", "-a"]);
    await other[Symbol.asyncDispose]();
  });

  it("is begun anew only after the server was told of its end", async () => {
    const [{ log, session }, subscriptions] = [openSession(), new Subscriptions()];
    const first = await subscriptions.follow(session, "a", signal);
    const leaving = first[Symbol.asyncDispose]();
    await using _again = await subscriptions.follow(session, "a", signal);
    await leaving;
    expect(log).toEqual(["+a", "abort a", "-a", "+a"]);
  });

  it("stays for the others when whoever asked for it first gives up before it has begun", async () => {
    let answer = (): void => undefined;
    const answered = new Promise<void>((resolve) => (answer = resolve));
    const [{ log, session }, subscriptions] = [openSession(() => answered), new Subscriptions()];
    const over = new AbortController();
    const leaving = subscriptions.follow(session, "a", over.signal);
    const staying = subscriptions.follow(session, "a", signal);
    over.abort();
    await expect(leaving).rejects.toMatchObject({ code: "CANCELLED" });
    answer();
    await using _following = await staying;
    expect(log).toEqual(["+a"]);
  });

  it("fails for all who wait for it, and is asked for again by the next", async () => {
    const refused = new Error("no");
    let isRefused = true;
    const { log, session } = openSession(() => (isRefused ? Promise.reject(refused) : Promise.resolve()));
    const subscriptions = new Subscriptions();
    for (const one of await Promise.allSettled([1, 2].map(() => subscriptions.follow(session, "a", signal))))
      expect(one).toMatchObject({ status: "rejected", reason: refused });
    isRefused = false;
    await using _following = await subscriptions.follow(session, "a", signal);
    expect(log.filter((line) => line === "+a")).toHaveLength(2);
  });
});
