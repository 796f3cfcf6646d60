import { expect, it } from "vitest";
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
