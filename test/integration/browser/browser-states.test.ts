import { expect, it } from "vitest";
import { EVALUATE } from "../../../src/browser/actions/evaluate.ts";
import { NAVIGATE } from "../../../src/browser/actions/navigate.ts";
import { Browsers } from "../../../src/browser/browsers.ts";
import { createLocalSandboxes } from "../../../src/sandbox/local-sandboxes.ts";
import { LOCAL, type Sandbox } from "../../../src/sandbox/sandbox.ts";
import { patiently, serveSite } from "../../support/browser-lab.ts";
import { byName } from "../../support/by-name.ts";
import { KERNELS, makeHome } from "../../support/namespace-home.ts";

const config = { sandbox: { timeoutMs: 600_000, pids: 512 }, listMax: 100, tombstoneRetentionMs: 600_000 };

it("is logged in in a fork and after a rollback as when their state was taken, and a fork says so", async () => {
  await using home = await makeHome();
  await using browsers = new Browsers({ idleMs: 600_000 });
  await using sandboxes = createLocalSandboxes({
    home: home.path,
    runtimes: byName(await home.open("home", "run", KERNELS)),
    config,
    beforeFreeze: (run, signal) => browsers.keep(run, signal),
  });
  const { signal } = patiently();
  const fork = (one: Sandbox) => sandboxes.snapshots.fork(LOCAL, { sandbox: one.id }, {}, signal);
  const cookiesIn = async (one: Sandbox): Promise<string> => {
    await serveSite(one, "<title>site</title>");
    const tab = browsers.of(one, "test");
    await tab.call(NAVIGATE, { url: "http://127.0.0.1:8000/" }, patiently());
    return (await tab.call(EVALUATE, { expression: "document.cookie" }, patiently())).value.json;
  };
  const sandbox = await sandboxes.create(LOCAL, {}, signal);
  const plain = await fork(sandbox);
  expect(plain.lost).toEqual([]);

  expect(await cookiesIn(sandbox)).toBe('""');
  const login = (name: string) =>
    browsers.of(sandbox, "test").call(EVALUATE, { expression: `document.cookie = 'who=${name}'` }, patiently());
  await login("ann");
  const [point, forks] = [await sandbox.timeLine.checkpoint({}, signal), await fork(sandbox)];
  expect(forks.lost).toEqual([expect.stringContaining("cookies")]);
  const [first] = forks;
  if (!first) throw new Error("no fork was made");
  expect(await cookiesIn(first)).toBe('"who=ann"');

  await login("bob");
  const { sandbox: back } = await sandbox.timeLine.rollback(point.id, signal);
  expect(await cookiesIn(back)).toBe('"who=ann"');
  for (const one of [back, ...forks, ...plain]) await one.kill();
}, 90_000);
