import { expect, it } from "vitest";
import { CLICK } from "../../../src/browser/actions/click.ts";
import { NAVIGATE } from "../../../src/browser/actions/navigate.ts";
import { openBrowserLab, patiently } from "../../support/browser-lab.ts";

/** Pages come at once, and their picture never. */
const SITE = `require("http").createServer((asked, answer) => {
  if (asked.url === "/hangs") return;
  answer.setHeader("content-type", "text/html").end("<title>slow</title><a href=/paid>Pay</a><img src=/hangs>");
}).listen(8000, "127.0.0.1", () => console.log("listens"))`;

it("is told as done, and as loading, what has led to a page that does not load in the time of the call", async () => {
  await using lab = await openBrowserLab();
  const { signal } = patiently();
  const site = await lab.sandbox.guest.exec({ argv: ["node", "-e", SITE], stdin: false, signal });
  site.exited.catch(() => undefined);
  await new Promise((resolve) => site.stdout.once("data", resolve));
  const tab = lab.session();
  await tab.call(NAVIGATE, { url: "about:blank" }, patiently());
  const opened = await tab.call(NAVIGATE, { url: "http://127.0.0.1:8000/", timeout_ms: 3_000 }, { signal, timeoutMs: 5_000 });
  expect(opened.value).toMatchObject({ status: 200, navigated: true, loading: true });
  const paid = await tab.call(CLICK, { selector: "text=Pay" }, { signal, timeoutMs: 5_000 });
  expect(paid.value).toMatchObject({ url: "http://127.0.0.1:8000/paid", navigated: true, loading: true });
}, 60_000);
