import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { EVALUATE } from "../../../src/browser/actions/evaluate.ts";
import { NAVIGATE } from "../../../src/browser/actions/navigate.ts";
import { DriverReader } from "../../../src/browser/driver-reader.ts";
import type { BrowserSession } from "../../../src/browser/browsers.ts";
import { INSIDE } from "../../../src/sandbox/sandbox.ts";
import { type BrowserLab, chromiumProcesses, openBrowserLab, patiently } from "../../support/browser-lab.ts";

const evaluate = async (tab: BrowserSession, expression: string): Promise<unknown> =>
  JSON.parse((await tab.call(EVALUATE, { expression }, patiently())).value.json);
const open = (tab: BrowserSession, html: string) => tab.call(NAVIGATE, { url: `data:text/html,${encodeURIComponent(html)}` }, patiently());

describe("a browser in a sandbox", () => {
  let shared: BrowserLab | undefined;
  beforeAll(async () => void (shared = await openBrowserLab()), 60_000);
  afterAll(() => shared?.[Symbol.asyncDispose](), 60_000);
  const lab = (): BrowserLab => {
    if (!shared) throw new Error("there is no sandbox");
    return shared;
  };

  it("starts with the first call, has tabs for each session, and serves the calls of one in order", async () => {
    expect(await chromiumProcesses(lab().sandbox)).toEqual([]);
    const [one, two] = [lab().session("one"), lab().session("two")];
    await Promise.all([open(one, "<title>one</title>"), open(two, "<title>two</title>")]);
    expect([await evaluate(one, "document.title"), await evaluate(two, "document.title")]).toEqual(["one", "two"]);
    const first = evaluate(one, "new Promise((done) => setTimeout(() => done(globalThis.order = ['first']), 200))");
    await Promise.all([first, evaluate(one, "globalThis.order.push('second')")]);
    expect(await evaluate(one, "globalThis.order")).toEqual(["first", "second"]);
  }, 60_000);

  it("gives what no JSON is, what is too large, and what fails as results", async () => {
    const tab = lab().session("one");
    const result = (expression: string) => tab.call(EVALUATE, { expression }, patiently());
    expect((await result("undefined")).value).toEqual({ json: "undefined" });
    await expect(result("'x'.repeat(1_048_576)")).rejects.toMatchObject({ code: "RESULT_TOO_LARGE" });
    await expect(result("(() => { throw new Error('mine') })()")).rejects.toMatchObject({ message: expect.stringContaining("mine") });
    // The words of a script choose no other code.
    for (const script of ["JSON.parse('<')", "new URL('x')", "(() => { throw new Error('net::ERR_PROXY_CONNECTION_FAILED') })()"])
      await expect(result(script), script).rejects.toMatchObject({ code: "SCRIPT_FAILED" });
    await expect(tab.call(NAVIGATE, { url: "http://127.0.0.1:4444/" }, patiently())).rejects.toMatchObject({
      message: expect.stringContaining("ERR_CONNECTION_REFUSED"),
    });
  }, 60_000);

  it("breaks off what its caller does not wait for", async () => {
    const caller = new AbortController();
    const running = lab().session("one").call(EVALUATE, { expression: "new Promise(() => {})" }, { signal: caller.signal });
    caller.abort(new Error("gone"));
    await expect(running).rejects.toThrow("gone");
    expect(await evaluate(lab().session("one"), "1")).toBe(1);
  }, 60_000);

  it("closes a page that blocks its thread, and goes on", async () => {
    const tab = lab().session("one");
    const stuck = tab.call(EVALUATE, { expression: "(() => { for (;;); })()" }, { ...patiently(), timeoutMs: 1_000 });
    await expect(stuck).rejects.toMatchObject({ code: "PAGE_UNRESPONSIVE" });
    await open(tab, "<title>after</title>");
    expect(await evaluate(tab, "document.title")).toBe("after");
    expect(await evaluate(lab().session("two"), "document.title")).toBe("two");
  }, 60_000);

  it("closes a page that crashes, and goes on", async () => {
    const tab = lab().session("one");
    await expect(tab.call(NAVIGATE, { url: "chrome://crash" }, patiently())).rejects.toMatchObject({ code: "PAGE_CRASHED" });
    await open(tab, "<title>after</title>");
    expect(await evaluate(tab, "document.title")).toBe("after");
  }, 60_000);

  it.skipIf(process.getuid?.() !== 0)(
    "closes a page that takes all memory, and goes on, as all else in the sandbox (skipped for an ordinary user, who has no limit on memory)",
    async () => {
      const { lab: home, browsers } = lab();
      const sandbox = await home.sandbox({ limits: { pids: 512, memoryBytes: 512 * 1_048_576 } });
      const other = await sandbox.guest.exec({ argv: ["sleep", "600"], stdin: false, signal: new AbortController().signal });
      let hasEnded = false;
      other.exited.finally(() => (hasEnded = true)).catch(() => undefined);
      const tab = browsers.of(sandbox, "one");
      await open(tab, "<title>greedy</title>");
      const greedy = "(() => { const all = []; for (;;) all.push(new Uint8Array(20_000_000).fill(1)); })()";
      await expect(evaluate(tab, greedy)).rejects.toMatchObject({
        code: "PAGE_CRASHED",
        message: expect.stringContaining("larger memory limit"),
      });
      await open(tab, "<title>after</title>");
      expect([await evaluate(tab, "document.title"), hasEnded]).toEqual(["after", false]);
      await sandbox.kill();
    },
    60_000,
  );

  it("dismisses a dialog that nobody answers", async () => {
    const tab = lab().session("one");
    await open(tab, "<title>asked</title>");
    await expect(evaluate(tab, "document.title = confirm('really?')")).rejects.toMatchObject({ code: "DIALOG_OPEN" });
    const title = () => evaluate(tab, "document.title").catch((error: { code?: unknown }) => error.code);
    await expect.poll(title, { timeout: 30_000 }).toBe("false");
  }, 60_000);

  it("is a new one after its driver or Chromium was killed", async () => {
    const { sandbox } = lab();
    const tab = lab().session("one");
    for (const name of ["browser-driver.mjs", "--remote-debugging-pipe"]) {
      const hanging = tab.call(EVALUATE, { expression: "new Promise(() => {})" }, patiently());
      const held = expect(hanging).rejects.toMatchObject({ code: "BROWSER_CRASHED" });
      await evaluate(lab().session("two"), "1");
      await sandbox.guest.run({ argv: ["pkill", "-9", "-f", "--", name], signal: patiently().signal });
      await held;
      await open(tab, "<title>new</title>");
      expect(await evaluate(tab, "document.title")).toBe("new");
    }
  }, 60_000);
});

it("ends when nobody uses it, keeps its cookies, and leaves no process", async () => {
  await using lab = await openBrowserLab({ idleMs: 300 });
  const tab = lab.session();
  await lab.serve("<title>site</title>");
  const visit = () => tab.call(NAVIGATE, { url: "http://127.0.0.1:8000/" }, patiently());
  await visit();
  await evaluate(tab, "document.cookie = 'who=me'");
  await lab.ended();
  expect(await chromiumProcesses(lab.sandbox)).toEqual([]);
  await visit();
  expect(await evaluate(tab, "document.cookie")).toBe("who=me");
}, 60_000);

it("is refused where there is too little memory, and where there is no Chromium", async () => {
  await using lab = await openBrowserLab();
  const { sandbox, browsers } = lab;
  const info = async () => ({ ...(await sandbox.info()), limits: { memoryBytes: 256 * 1_048_576 } });
  const small = new Proxy(sandbox, { get: (target, name) => (name === "info" ? info : bound(target, name)) });
  await expect(open(browsers.of(small, "test"), "")).rejects.toMatchObject({
    code: "BROWSER_UNAVAILABLE",
    message: expect.stringContaining("at least 512 MB of memory, and this one has 256 MB"),
  });
  const argv = ["node", `${INSIDE.kernels}/browser-driver.mjs`, JSON.stringify({ executables: ["/none"] })];
  await using driver = await sandbox.guest.exec({ argv, channels: 1, stdin: false, signal: patiently().signal });
  const reader = new DriverReader();
  const said: unknown[] = [];
  driver.channels[0]?.on("data", (chunk: Buffer) => said.push(...reader.push(chunk)));
  await driver.exited;
  const error = { code: "BROWSER_UNAVAILABLE", message: expect.stringContaining("browser.path") };
  expect(said).toMatchObject([{ message: { type: "failed", error } }]);
}, 60_000);

it("tells of a proxy of the machine, where Belljar runs inside it, as of what no policy has refused", async () => {
  const create = { env: { http_proxy: "http://127.0.0.1:9" } };
  await using lab = await openBrowserLab({ network: "machine" }, create);
  await expect(lab.session().call(NAVIGATE, { url: "http://example.com/" }, patiently())).rejects.toMatchObject({
    code: "NAVIGATION_FAILED",
    message: expect.stringContaining("ERR_PROXY_CONNECTION_FAILED"),
  });
}, 60_000);

function bound(target: object, name: PropertyKey): unknown {
  const value: unknown = Reflect.get(target, name);
  return typeof value === "function" ? value.bind(target) : value;
}
