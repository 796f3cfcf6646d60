import { expect, it } from "vitest";
import { BelljarError } from "../errors.ts";
import { fakeRuntime } from "./fake/fake-runtime.ts";
import { lazyRuntime, openRuntimes } from "./registry.ts";

it("refuses an unknown runtime, and names those that exist", async () => {
  const options = { home: "/nowhere", runtimeDirectory: "/nowhere", storage: "home", binary: "/nowhere" } as const;
  await expect(openRuntimes("gvisr", options)).rejects.toMatchObject({
    code: "RUNTIME_UNAVAILABLE",
    message: expect.stringContaining("expected one of namespace"),
  });
});

it("opens a runtime when it is first asked for something, once", async () => {
  const inside = { env: {}, home: "/home/user", workspace: "/home/user", cwd: "/home/user" };
  let opened = 0;
  const runtime = lazyRuntime("fake", async () => {
    opened += 1;
    return fakeRuntime({ limits: ["pids"] });
  });
  expect([runtime.name, opened]).toEqual(["fake", 0]);
  expect(await runtime.probe()).toMatchObject({ limits: ["pids"] });
  expect(await runtime.open({ id: "a", generation: 1, folder: "/nowhere", inside })).toBeUndefined();
  expect(opened).toBe(1);
});

it("tries again after a runtime could not be opened", async () => {
  let tries = 0;
  const runtime = lazyRuntime("fake", async () => {
    tries += 1;
    if (tries === 1) throw new BelljarError("RUNTIME_UNAVAILABLE", "not yet");
    return fakeRuntime();
  });
  await expect(runtime.probe()).rejects.toThrow("not yet");
  expect(await runtime.probe()).toMatchObject({ runtime: "fake" });
});
