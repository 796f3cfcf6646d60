import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { EVALUATE } from "../../../src/browser/actions/evaluate.ts";
import { NAVIGATE } from "../../../src/browser/actions/navigate.ts";
import { warmDriver } from "../../../src/browser/start-driver.ts";
import type { Sandbox } from "../../../src/sandbox/sandbox.ts";
import { type BrowserLab, chromiumProcesses, openBrowserLab, patiently } from "../../support/browser-lab.ts";

let shared: BrowserLab | undefined;
beforeAll(async () => {
  shared = await openBrowserLab({}, { env: { TZ: "Pacific/Apia" } });
}, 60_000);
afterAll(() => shared?.[Symbol.asyncDispose](), 60_000);

function lab(): BrowserLab {
  if (!shared) throw new Error("the shared sandbox could not be made");
  return shared;
}

async function driverPid({ guest }: Sandbox): Promise<number | undefined> {
  return (await guest.listKept(patiently().signal)).find(({ name }) => name === "browser")?.pid;
}

const page = { url: "data:text/html,<title>page</title>" };

describe("a driver that waits", () => {
  it("has no browser until one is wanted, and is then its driver, with the variables that its sandbox has now", async () => {
    const { sandbox } = lab();
    await warmDriver({ guest: ofNobody(sandbox) }, {}, patiently().signal);
    const pid = await driverPid(sandbox);
    expect(await chromiumProcesses(sandbox)).toEqual([expect.stringMatching(/^node \S+browser-driver\.mjs .* --wait$/)]);
    const tab = lab().session();
    expect((await tab.call(NAVIGATE, page, patiently())).value).toMatchObject({ title: "page", navigated: true });
    expect(await driverPid(sandbox)).toBe(pid);
    const zone = await tab.call(EVALUATE, { expression: "Intl.DateTimeFormat().resolvedOptions().timeZone" }, patiently());
    expect(JSON.stringify(zone.value)).toContain("Pacific/Apia");
    await sandbox.guest.run({ argv: ["pkill", "-9", "-f", "browser-driver"], signal: patiently().signal });
    await lab().ended();
  }, 60_000);

  it("is followed by another one when somebody inside has ended it", async () => {
    const { sandbox } = lab();
    await warmDriver(sandbox, {}, patiently().signal);
    const pid = await driverPid(sandbox);
    await sandbox.guest.run({ argv: ["pkill", "-9", "-f", "browser-driver"], signal: patiently().signal });
    expect((await lab().session("other").call(NAVIGATE, page, patiently())).value.title).toBe("page");
    expect(await driverPid(sandbox)).not.toBe(pid);
  }, 60_000);

  it("is not what a process of Belljar left that has died", async () => {
    await using other = await openBrowserLab();
    const { guest } = other.sandbox;
    const argv = ["sh", "-c", "trap '' INT; sleep 600"];
    const left = await guest.keep("browser", { argv, channels: 1, signal: patiently().signal });
    await left[Symbol.asyncDispose]();
    expect((await other.session().call(NAVIGATE, page, patiently())).value.title).toBe("page");
    const rows = await guest.processes(patiently().signal);
    expect(rows.filter(({ argv: [name] }) => name === "sleep")).toEqual([]);
  }, 60_000);
});

/** As a sandbox is before it has an owner: without variables of one. */
function ofNobody({ guest }: Sandbox): Sandbox["guest"] {
  return new Proxy(guest, {
    get(target, name) {
      if (name === "keep") return (kept: string, options: object) => target.keep(kept, { ...options, env: { TZ: "UTC" } } as never);
      const value: unknown = Reflect.get(target, name);
      return typeof value === "function" ? value.bind(target) : value;
    },
  });
}
