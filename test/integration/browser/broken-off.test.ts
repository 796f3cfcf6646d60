import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { CLICK } from "../../../src/browser/actions/click.ts";
import { EVALUATE } from "../../../src/browser/actions/evaluate.ts";
import { FILL_FORM } from "../../../src/browser/actions/fill-form.ts";
import { HANDLE_DIALOG } from "../../../src/browser/actions/handle-dialog.ts";
import { NAVIGATE } from "../../../src/browser/actions/navigate.ts";
import { TYPE } from "../../../src/browser/actions/type.ts";
import type { BrowserSession } from "../../../src/browser/browsers.ts";
import { type BrowserLab, openBrowserLab, patiently } from "../../support/browser-lab.ts";

const PAGE = `<title>form</title><form onsubmit="event.preventDefault(); document.title = 'submitted'"><input id=a><input id=b></form>`;
/** Adds to the form, and gives what may still wait for that the time to come. */
const COMES = (html: string) => `new Promise((done) => {
  document.querySelector("form").insertAdjacentHTML("beforeend", ${JSON.stringify(html)});
  setTimeout(() => done(0), 1_500);
})`;

/** Of what is broken off nothing is done any more, and the next call has the tab as it is. */
describe("an action that is broken off", () => {
  let lab: BrowserLab;
  beforeAll(async () => void (lab = await openBrowserLab()), 60_000);
  afterAll(() => lab[Symbol.asyncDispose](), 60_000);

  const open = async (html = PAGE): Promise<BrowserSession> => {
    const tab = lab.session();
    await tab.call(NAVIGATE, { url: `data:text/html,${encodeURIComponent(html)}` }, patiently());
    return tab;
  };
  const evaluate = async (tab: BrowserSession, expression: string): Promise<unknown> =>
    JSON.parse((await tab.call(EVALUATE, { expression }, patiently())).value.json);

  it("types no further key", async () => {
    const tab = await open();
    const typing = tab.call(TYPE, { selector: "#a", text: "x".repeat(20_000), slowly: true }, { ...patiently(), timeoutMs: 5_000 });
    await expect(typing).rejects.toMatchObject({
      code: "ACTION_TIMEOUT",
      message: expect.stringContaining(" of 20000 characters are typed"),
    });
    await tab.call(CLICK, { selector: "#b" }, patiently());
    const before = await evaluate(tab, "a.value.length");
    expect(before).toBeGreaterThan(0);
    expect(await evaluate(tab, `new Promise((done) => setTimeout(() => done([a.value.length, b.value]), 500))`)).toEqual([before, ""]);
  }, 60_000);

  it("fills no further field, and submits nothing", async () => {
    const tab = await open();
    const fields = ["#a", "#late", "#b"].map((selector) => ({ selector, value: "filled" }));
    const filling = tab.call(FILL_FORM, { fields, submit: true }, { ...patiently(), timeoutMs: 5_000 });
    await expect(filling).rejects.toMatchObject({ code: "ACTION_TIMEOUT", message: expect.stringContaining("Field 2 of 3") });
    await evaluate(tab, COMES("<input id=late>"));
    expect(await evaluate(tab, "[a.value, late.value, b.value, document.title]")).toEqual(["filled", "", "", "form"]);
  }, 60_000);

  it("clicks nothing later", async () => {
    const tab = await open();
    const clicking = tab.call(CLICK, { selector: "#late", modifiers: ["Control"] }, { ...patiently(), timeoutMs: 1_500 });
    await expect(clicking).rejects.toMatchObject({ code: "ACTION_TIMEOUT" });
    await evaluate(tab, COMES(`<button type=button id=late onclick="document.title = 'clicked'">Late</button>`));
    expect(await evaluate(tab, "document.title")).toBe("form");
  }, 60_000);

  it("does nothing after a dialog that has ended it", async () => {
    const tab = await open(`${PAGE}<script>a.oninput = () => alert("Stop")</script>`);
    const fields = ["#a", "#b"].map((selector) => ({ selector, value: "filled" }));
    const held = await tab.call(FILL_FORM, { fields, submit: true }, patiently());
    expect(held.value.dialog).toMatchObject({ message: "Stop" });
    await tab.call(HANDLE_DIALOG, { accept: true }, patiently());
    expect(await evaluate(tab, "new Promise((done) => setTimeout(() => done([b.value, document.title]), 500))")).toEqual(["", "form"]);
  }, 60_000);
});
