import { expect, it } from "vitest";
import { Instances } from "./instances.ts";
import { keyOf } from "./relay/relay-context.ts";

const { signal } = new AbortController();
const key = (id: string, client: number): string => keyOf({ principal: { id, name: id }, clientId: String(client) });

function open() {
  const ended: Promise<void> = new Promise(() => undefined);
  const one = () => ({ ended, [Symbol.asyncDispose]: async () => undefined });
  return new Instances({ open: async () => one(), idleMs: 600_000, most: 32, owner: "owner", changed: () => undefined });
}

/** Has instances that are in use until it is released. */
async function use(instances: ReturnType<typeof open>, keys: readonly string[]) {
  let release = (): void => undefined;
  const released = new Promise<void>((resolve) => (release = resolve));
  const begun = keys.map(
    (one) =>
      new Promise<void>(
        (resolve, reject) => void instances.use(one, new AbortController().signal, async () => (resolve(), released)).catch(reject),
      ),
  );
  await Promise.all(begun);
  return { [Symbol.dispose]: release };
}

const clients = (id: string, count: number): readonly string[] => Array.from({ length: count }, (_, at) => key(id, at));

it("gives one caller eight instances at once, and leaves room to the others", async () => {
  await using instances = open();
  using _used = await use(instances, clients("ann", 8));
  await expect(instances.use(key("ann", 8), signal, async () => undefined)).rejects.toMatchObject({
    code: "QUOTA_EXCEEDED",
    message: expect.stringContaining("You have 8 instances"),
  });
  expect(await instances.use(key("ann", 7), signal, async () => "known")).toBe("known");
  expect(await instances.use(key("bob", 0), signal, async () => "other")).toBe("other");
});

it("gives the server's owner as many as there are", async () => {
  await using instances = open();
  using _used = await use(instances, clients("owner", 32));
  await expect(instances.use(key("owner", 32), signal, async () => undefined)).rejects.toMatchObject({
    message: expect.stringContaining("This server has 32 instances"),
  });
});

it("ends of a caller with eight instances its own that serves nobody", async () => {
  await using instances = open();
  await instances.use(key("bob", 0), signal, async () => undefined);
  for (const one of clients("ann", 9)) await instances.use(one, signal, async () => undefined);
  expect(instances.size).toBe(9);
});

it("hands no instance over to a caller with eight", async () => {
  await using instances = open();
  await instances.use("lists", signal, async () => undefined);
  using _used = await use(instances, clients("ann", 8));
  instances.handOver("lists", key("ann", 8));
  await expect(instances.use(key("ann", 8), signal, async () => undefined)).rejects.toMatchObject({ code: "QUOTA_EXCEEDED" });
  instances.handOver("lists", key("bob", 0));
  await instances.use(key("bob", 0), signal, async () => undefined);
  expect(instances.size).toBe(9);
});

it("refuses another instance when all of everybody are in use", async () => {
  await using instances = open();
  using _used = await use(
    instances,
    ["ann", "bob", "cay", "dan"].flatMap((id) => clients(id, 8)),
  );
  await expect(instances.use(key("eve", 0), signal, async () => undefined)).rejects.toMatchObject({
    message: expect.stringContaining("This server has 32 instances"),
  });
});
