import { expect, it } from "vitest";
import { byName } from "../../test/support/by-name.ts";
import { BelljarError } from "../errors.ts";
import { fakeRuntime } from "../runtime/fake/fake-runtime.ts";
import type { Runtime } from "../runtime/contract/runtime.ts";
import { Runtimes } from "./runtimes.ts";
import { LOCAL, type Principal } from "./sandbox.ts";

const holder = (...runtimes: readonly string[]): Principal => ({ id: "t", name: "t", grants: runtimes.length > 0 ? { runtimes } : {} });
const withCode = (code: string, words = "") =>
  expect.objectContaining({ code, message: expect.stringContaining(words) as string }) as Error;

function runtime(name: string, ...templates: readonly string[]): Runtime {
  const fake = fakeRuntime();
  const layers = { ...fake.layers, templates: async () => templates.map((one) => ({ name: one, description: `of ${name}` })) };
  return { ...fake, name, layers };
}

/** One that cannot even be opened. */
function broken(name: string, cause: Error): Runtime {
  const fails = (): Promise<never> => Promise.reject(cause);
  return { ...fakeRuntime(), name, probe: fails, layers: { ...fakeRuntime().layers, templates: fails } };
}

const three = byName(runtime("a", "base", "own"), runtime("b", "base", "large"), runtime("c"));
const foreseen = new BelljarError("RUNTIME_UNAVAILABLE", "no daemon here");

it("offers the first runtime, and others that the configuration names", () => {
  const plain = new Runtimes(three, {});
  expect(plain.choose(LOCAL).name).toBe("a");
  expect(() => plain.choose(LOCAL, "b")).toThrow(withCode("ARGUMENTS_INVALID", "expected one of a"));
  const chosen = new Runtimes(three, { runtime: "b", runtimes: ["c", "b"] });
  expect([chosen.choose(LOCAL).name, chosen.choose(LOCAL, "c").name]).toEqual(["b", "c"]);
  expect(() => chosen.choose(LOCAL, "a")).toThrow(withCode("ARGUMENTS_INVALID", "expected one of b, c"));
});

it("refuses a configuration that names an unknown runtime", () => {
  for (const choice of [{ runtime: "x" }, { runtimes: ["b", "x"] }])
    expect(() => new Runtimes(three, choice)).toThrow(withCode("RUNTIME_UNAVAILABLE", 'Unknown runtime "x"; expected one of a, b, c'));
});

it("gives a token the standard runtime, or those of its scopes", () => {
  const runtimes = new Runtimes(three, { runtimes: ["b", "c"] });
  expect([runtimes.choose(holder()).name, runtimes.choose(holder("c")).name, runtimes.choose(holder("b", "c"), "c").name]).toEqual([
    "a",
    "c",
    "c",
  ]);
  expect(() => runtimes.choose(holder(), "b")).toThrow(withCode("FORBIDDEN", "needs the scope runtime:b"));
  expect(() => runtimes.choose(holder("b"), "a")).toThrow(withCode("FORBIDDEN", "needs the scope runtime:a"));
  expect(() => runtimes.choose(holder("x"))).toThrow(withCode("FORBIDDEN", "needs the scope runtime:a"));
});

it("lets a token use the sandboxes of the runtimes that it has", () => {
  const runtimes = new Runtimes(three, { runtimes: ["b"] });
  const refusal = (principal: Principal, name: string) => runtimes.findUseRefusal(principal, { id: "s", runtime: name } as never)?.message;
  expect([refusal(LOCAL, "b"), refusal(holder(), "a"), refusal(holder("b"), "b")]).toEqual([undefined, undefined, undefined]);
  expect(refusal(holder(), "b")).toMatch(/^Sandbox s was made with more than this token may have\. .*runtime:b/);
  expect(refusal(holder("b"), "a")).toContain("runtime:a");
});

it("serves the sandboxes of every runtime that it has, offered or not", () => {
  const runtimes = new Runtimes(three, {});
  expect([runtimes.need({ id: "s", runtime: "c" }).name, runtimes.of({ runtime: "x" })]).toEqual(["c", undefined]);
  expect(runtimes.all().map(({ name }) => name)).toEqual(["a", "b", "c"]);
  expect(() => runtimes.need({ id: "s", runtime: "x" })).toThrow(withCode("RUNTIME_UNAVAILABLE", 'Sandbox s was made by the runtime "x"'));
});

it("tells each template once, of the first runtime that has it, to those who may use that", async () => {
  const runtimes = new Runtimes(three, { runtimes: ["b", "c"] });
  const told = async (principal: Principal) =>
    (await runtimes.templates(principal)).map(({ name, description }) => `${name} ${description}`);
  expect(await told(LOCAL)).toEqual(["base of a", "own of a", "large of b"]);
  expect(await told(holder("b"))).toEqual(["base of b", "large of b"]);
});

it("tells no templates of another runtime that cannot be opened, and says so of the standard one", async () => {
  const others = { runtimes: ["b"] };
  const [good, bad] = [runtime("a", "base"), broken("b", foreseen)];
  expect(await new Runtimes(byName(good, bad), others).templates(LOCAL)).toHaveLength(1);
  await expect(new Runtimes(byName(bad, good), { runtimes: ["a"] }).templates(LOCAL)).rejects.toThrow(foreseen);
  await expect(new Runtimes(byName(good, broken("b", new TypeError("ours"))), others).templates(LOCAL)).rejects.toThrow("ours");
});

it("tells what the others enforce, and why one cannot be asked", async () => {
  const [good, bad] = [runtime("a"), broken("b", foreseen)];
  expect(await new Runtimes(byName(good), {}).probe()).not.toHaveProperty("others");
  expect((await new Runtimes(byName(good, bad), { runtimes: ["b"] }).probe()).others).toEqual([
    {
      runtime: "b",
      states: "none",
      available: false,
      checks: [{ id: "runtime", state: "absent", detail: "no daemon here" }],
      limits: [],
      users: "one",
      terminals: false,
      pause: false,
      sleep: false,
      stop: false,
    },
  ]);
  await expect(new Runtimes(byName(bad), {}).probe()).rejects.toThrow(foreseen);
  await expect(new Runtimes(byName(good, broken("b", new TypeError("ours"))), { runtimes: ["b"] }).probe()).rejects.toThrow("ours");
});
