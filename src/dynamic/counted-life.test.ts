import { expect, it } from "vitest";
import { LOCAL } from "../sandbox/sandbox.ts";
import { countedLife } from "./counted-life.ts";
import type { UnitLife } from "./unit-life.ts";

it("hands on all that it is given, and counts what runs code", async () => {
  const seen: (readonly unknown[])[] = [];
  let counted = 0;
  const life = new Proxy({} as UnitLife, {
    get:
      (_life, method) =>
      async (...given: unknown[]) =>
        void seen.push([method, ...given]),
  });
  const wrapped = countedLife(life, { enter: () => ({ [Symbol.dispose]: () => void (counted += 1) }) as never });
  const signal = new AbortController().signal;
  const calls = [
    ["list", LOCAL, { cursor: "c", limit: 1 }],
    ["get", LOCAL, "name", 2],
    ["add", LOCAL, { spec: {} }, signal, { publish: true }],
    ["update", LOCAL, { name: "name" }, signal, { publish: true }],
    ["test", LOCAL, "name", signal, { number: 1 }],
    ["publish", LOCAL, "name", signal, 3],
    ["rollback", LOCAL, "name", 1],
    ["setDisabled", LOCAL, "name", true],
    ["share", LOCAL, "name", true],
    ["remove", LOCAL, "name"],
  ] as const;
  for (const [method, ...given] of calls) await (wrapped[method] as (...args: unknown[]) => Promise<unknown>)(...given);
  expect(seen).toEqual(calls);
  expect(counted).toBe(4);
});
