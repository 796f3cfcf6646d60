import { expect, it } from "vitest";
import { CLICK } from "../../../src/browser/actions/click.ts";
import { EVALUATE } from "../../../src/browser/actions/evaluate.ts";
import { NAVIGATE } from "../../../src/browser/actions/navigate.ts";
import { TABS } from "../../../src/browser/actions/tabs.ts";
import { openBrowserLab, patiently } from "../../support/browser-lab.ts";

/** A site with a small file, one without an end, and a page. Says when somebody leaves. */
const SITE = `require("http").createServer((asked, answer) => {
  if (asked.url === "/") return answer.setHeader("content-type", "text/html").end("<title>site</title>");
  answer.setHeader("content-disposition", 'attachment; filename="' + encodeURIComponent(asked.url.slice(1)) + '"');
  answer.setHeader("content-type", "application/octet-stream");
  if (asked.url !== "/endless") return answer.end("content");
  const block = Buffer.alloc(1 << 20);
  const more = () => { while (answer.write(block)); };
  answer.on("drain", more).on("close", () => console.log("left"));
  more();
}).listen(8000, "127.0.0.1", () => console.log("listens"))`;

it("bounds downloads, tabs and their windows, freezes those that nobody uses, and has renderers die first", async () => {
  await using lab = await openBrowserLab({ restMs: 500 });
  const { sandbox } = lab;
  const { signal } = patiently();
  const site = await sandbox.guest.exec({ argv: ["node", "-e", SITE], stdin: false, signal });
  const said = site.stdout.setEncoding("utf8")[Symbol.asyncIterator]();
  expect((await said.next()).value).toBe("listens\n");
  const tab = lab.session();
  const evaluate = (expression: string) => tab.call(EVALUATE, { expression }, patiently());
  const run = async (script: string): Promise<string> =>
    (await sandbox.guest.run({ argv: ["sh", "-c", script], signal })).stdout.toString().trim();

  await tab.call(NAVIGATE, { url: "http://127.0.0.1:8000/" }, patiently());
  const downloads = await sandbox.guest.files
    .makeDirectory("Downloads", { signal })
    .then(() => sandbox.guest.files.watch("Downloads", { signal }));
  await evaluate("location.href = '/small.txt'");
  for await (const { path } of downloads) if (path === "small.txt") break;
  expect(await run("cat ~/Downloads/small.txt")).toBe("content");

  await evaluate(`for (let n = 0; n < 2; n++) {
    const link = document.createElement("a");
    [link.href, link.download] = ["/endless", ""];
    link.click();
  }`);
  let left = "";
  while (left !== "left\nleft\n") left += (await said.next()).value;
  expect(await run("ls ~/Downloads")).toBe("small.txt");

  await evaluate(`new Promise((done) => {
    globalThis.all = Array.from({ length: 1000 }, () => window.open(''));
    for (const one of all.filter(Boolean)) one.document.addEventListener('freeze', () => done('frozen'));
  })`);
  expect(Number((await evaluate("all.filter((one) => one && !one.closed).length")).value.json)).toBeLessThan(20);

  const score = (pattern: string) => run(`cat /proc/$(pgrep -f -- ${pattern} | head -1)/oom_score_adj`);
  const ofRenderer = Number(await score("--type=renderer"));
  for (const other of ["--remote-debugging-pipe", "browser-driver.mjs"]) expect(Number(await score(other)), other).toBeLessThan(ofRenderer);
}, 60_000);

it("has every page as somebody's tab, whoever opened it, and no more than there may be", async () => {
  await using lab = await openBrowserLab();
  await lab.serve('<title>site</title><a href="/">again</a>');
  const [tab, other] = [lab.session(), lab.session("other")];
  const evaluate = (expression: string) => tab.call(EVALUATE, { expression }, patiently());
  const count = async (session = tab): Promise<number> => (await session.call(TABS, { action: "list" }, patiently())).value.tabs.length;
  await tab.call(NAVIGATE, { url: "http://127.0.0.1:8000/" }, patiently());

  await tab.call(CLICK, { selector: "a", modifiers: ["Control"] }, patiently());
  await expect.poll(() => count(), { timeout: 20_000 }).toBe(2);
  await tab.call(TABS, { action: "close", index: 1 }, patiently());

  await evaluate("void window.open('/')");
  await expect.poll(() => count(), { timeout: 20_000 }).toBe(2);
  await tab.call(TABS, { action: "select", index: 1 }, patiently());
  await evaluate("void setTimeout(() => { window.open('/?last'); window.close(); })");
  const last = async () => (await tab.call(TABS, { action: "list" }, patiently())).value.tabs.at(-1)?.url;
  await expect.poll(last, { timeout: 20_000 }).toBe("http://127.0.0.1:8000/?last");
  expect(await count()).toBe(2);

  const opened = await Promise.allSettled(
    Array.from({ length: 40 }, (_, n) => (n % 2 === 0 ? tab : other).call(TABS, { action: "new" }, patiently())),
  );
  const refused = opened.flatMap((one) => (one.status === "rejected" ? [(one.reason as { code?: string }).code] : []));
  expect(new Set(refused)).toEqual(new Set(["TAB_LIMIT"]));
  expect((await count()) + (await count(other))).toBe(20);
}, 60_000);
