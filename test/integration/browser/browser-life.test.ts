import { expect, it } from "vitest";
import { EVALUATE } from "../../../src/browser/actions/evaluate.ts";
import { NAVIGATE } from "../../../src/browser/actions/navigate.ts";
import { openBrowserLab } from "../../support/browser-lab.ts";

const soon = (): { readonly signal: AbortSignal; readonly timeoutMs: number } => ({
  signal: AbortSignal.timeout(50_000),
  timeoutMs: 40_000,
});

it("opens a page in a browser inside the sandbox, and evaluates in it", async () => {
  await using browser = await openBrowserLab();
  const tab = browser.session();
  const page = await tab.call(NAVIGATE, { url: "data:text/html,<title>one</title><h1>x" }, soon());
  expect(page.value).toMatchObject({ title: "one" });
  expect((await tab.call(EVALUATE, { expression: "document.querySelector('h1').textContent" }, soon())).value).toEqual({ json: '"x"' });
}, 60_000);
