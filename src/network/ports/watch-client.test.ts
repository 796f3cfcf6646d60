import { once } from "node:events";
import { expect, it } from "vitest";
import { connectionPair } from "../../../test/support/connection-pair.ts";
import { watchClient } from "./watch-client.ts";

it("sees that the client is gone, and takes none of its bytes", async () => {
  const [near, far] = await connectionPair();
  const watched = watchClient(near);
  far.end("abc");
  await once(near, "readable");
  expect(String(near.read())).toBe("abc");
  if (!watched.gone.aborted) await once(watched.gone, "abort");
  near.destroy();
});

it("takes no byte of what has come before it watches", async () => {
  const [near, far] = await connectionPair();
  const came = once(near, "readable");
  far.write("abc");
  await came;
  const watched = watchClient(near);
  watched.stop();
  expect(String(near.read())).toBe("abc");
  expect(watched.gone.aborted).toBe(false);
  near.destroy();
  far.destroy();
});
