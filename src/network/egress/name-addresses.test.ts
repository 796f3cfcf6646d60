import { once } from "node:events";
import type { Duplex } from "node:stream";
import { describe, expect, it } from "vitest";
import type { ListeningGuest } from "../../../test/support/egress-lab.ts";
import { openListeningGuest } from "../../../test/support/egress-lab.ts";
import { NameAddresses } from "./name-addresses.ts";

it("listens again at the next lookup of a name whose stream of connections has ended", async () => {
  await using inside = await openListeningGuest();
  let streams = 0;
  let ended = Promise.resolve();
  const guest: typeof inside.guest = {
    ...inside.guest,
    async listen(addresses, call) {
      streams += 1;
      const listener = await inside.guest.listen(addresses, call);
      ended = new Promise((resolve) => call.signal.addEventListener("abort", () => resolve()));
      return listener;
    },
  };
  const names = new NameAddresses({ guest, take: ({ stream }) => void stream.destroy(), max: 1 });
  const address = await names.addressOf("good.test", [80]);
  expect(await names.addressOf("good.test", [80])).toBe(address);
  expect(streams).toBe(1);
  inside.end();
  await ended;
  expect(await names.addressOf("good.test", [80])).toBe(address);
  expect(streams).toBe(2);
  names.close();
});

describe("names that programs connect to without a proxy", () => {
  /** Names whose connections stay open. */
  async function openNames(max: number) {
    const inside: ListeningGuest = await openListeningGuest();
    const taken: { readonly host: string; readonly stream: Duplex }[] = [];
    let came = (): void => undefined;
    const names = new NameAddresses({
      guest: inside.guest,
      take: ({ stream }, host) => {
        taken.push({ host, stream: stream.on("error", () => undefined) });
        came();
      },
      max,
    });
    return {
      names,
      inside,
      taken,
      async connect(host: string, port: number): Promise<Duplex> {
        const isTaken = new Promise<void>((resolve) => (came = resolve));
        await inside.dial({ address: await names.addressOf(host, [port]), port });
        await isTaken;
        const stream = taken.at(-1)?.stream;
        if (!stream) throw new Error("No connection came");
        return stream;
      },
      async [Symbol.asyncDispose]() {
        names.close();
        await inside[Symbol.asyncDispose]();
      },
    };
  }

  it("have an address each, whose connections are told with the name", async () => {
    await using lab = await openNames(9);
    const [a, b] = [await lab.names.addressOf("a.test", [80, 443]), await lab.names.addressOf("b.test", [80])];
    expect([lab.names.nameAt(a), lab.names.nameAt(b), lab.names.nameAt("198.18.0.1")]).toEqual(["a.test", "b.test", undefined]);
    expect(lab.inside.listening()).toEqual([`${a}:80`, `${a}:443`, `${b}:80`].toSorted());
    await lab.connect("b.test", 80);
    expect(lab.taken.map(({ host }) => host)).toEqual(["b.test"]);
    lab.names.close();
    expect([lab.inside.listening(), lab.names.nameAt(a)]).toEqual([[], undefined]);
  });

  it("keep their address when their ports change", async () => {
    await using lab = await openNames(9);
    const address = await lab.names.addressOf("a.test", [80]);
    expect(await lab.names.addressOf("a.test", [80, 81])).toBe(address);
    expect(lab.inside.listening()).toEqual([`${address}:80`, `${address}:81`]);
    expect(await lab.names.addressOf("a.test", [82])).toBe(address);
    expect(lab.inside.listening()).toEqual([`${address}:82`]);
  });

  it("give way to new ones, the least recently resolved first", async () => {
    await using lab = await openNames(2);
    const [a, b] = [await lab.names.addressOf("a.test", [80]), await lab.names.addressOf("b.test", [80])];
    await lab.names.addressOf("a.test", [80]);
    const c = await lab.names.addressOf("c.test", [80]);
    expect(lab.inside.listening()).toEqual([`${a}:80`, `${c}:80`].toSorted());
    expect([a, b, c].map((address) => lab.names.nameAt(address))).toEqual(["a.test", undefined, "c.test"]);
  });

  it("stay while they have a connection, and new ones are refused if all do", async () => {
    await using lab = await openNames(1);
    const streams = [await lab.connect("a.test", 80), await lab.connect("a.test", 80)];
    for (const stream of streams) {
      await expect(lab.names.addressOf("b.test", [80])).rejects.toMatchObject({ code: "QUOTA_EXCEEDED" });
      expect(await lab.names.addressOf("a.test", [80])).toMatch(/^198\./);
      const closed = once(stream, "close");
      stream.destroy();
      await closed;
    }
    const b = await lab.names.addressOf("b.test", [80]);
    expect(lab.inside.listening()).toEqual([`${b}:80`]);
  });

  it("are forgotten if nothing can listen for them, and tried again", async () => {
    await using inside = await openListeningGuest();
    let isBroken = true;
    const listen: typeof inside.guest.listen = (addresses, call) =>
      isBroken ? Promise.reject(new Error("no port")) : inside.guest.listen(addresses, call);
    const names = new NameAddresses({ guest: { ...inside.guest, listen }, take: () => undefined, max: 1 });
    await expect(names.addressOf("a.test", [80])).rejects.toThrow("no port");
    isBroken = false;
    const address = await names.addressOf("a.test", [80]);
    expect(names.nameAt(address)).toBe("a.test");
    names.close();
  });

  it("have addresses of 198.18.0.0/15 that no program takes for a network's own", async () => {
    await using lab = await openNames(2_000);
    const addresses = new Set<string>();
    for (let count = 0; count < 1_500; count += 1) addresses.add(await lab.names.addressOf(`${count}.test`, [80]));
    expect(addresses.size).toBe(1_500);
    for (const address of addresses) expect(address).toMatch(/^198\.1[89]\.\d+\.(?!0$|255$)\d+$/);
    expect([...addresses].filter((address) => address.startsWith("198.19.")).length).toBeGreaterThan(600);
  });
});
