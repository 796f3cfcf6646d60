import { existsSync } from "node:fs";
import { join, resolve } from "node:path";
import { pathToFileURL } from "node:url";
import type { Browser } from "playwright-core";
import { chromium, selectors } from "playwright-core";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { PageEyes, registerEyes } from "../../../src/browser/driver/page-eyes.ts";
import { type BrowserSite, openBrowserSite } from "../../support/browser-site.ts";

const CHROMIUM = "/usr/lib/chromium/chromium";
const EYES = pathToFileURL(join(resolve(import.meta.dirname, "../../.."), "dist/kernels/browser-eyes.js"));
const reason = existsSync(CHROMIUM) ? undefined : `there is no ${CHROMIUM}: apt-get install chromium`;
const BUDGET = { maxBytes: 20_000, offset: 0 };

describe.skipIf(reason !== undefined)(`what is seen of a page${reason === undefined ? "" : ` (skipped: ${reason})`}`, () => {
  let site: BrowserSite;
  let browser: Browser;

  beforeAll(async () => {
    site = await openBrowserSite();
    await registerEyes(selectors, EYES);
    browser = await chromium.launch({ executablePath: CHROMIUM, args: ["--no-sandbox", "--disable-gpu", "--disable-quic"] });
  }, 60_000);

  afterAll(async () => {
    await browser.close();
    await site[Symbol.asyncDispose]();
  });

  async function look(path: string) {
    const page = await browser.newPage();
    await page.goto(site.url + path);
    const eyes = new PageEyes(page);
    return { page, eyes, text: await eyes.snapshot(BUDGET), [Symbol.asyncDispose]: () => page.close() };
  }

  const refOf = (text: string, start: string): string => {
    const line = text.split("\n").find((one) => one.includes(start));
    return /\[(e\d+)\]$/.exec(line ?? "")?.[1] ?? `no line with ${start} in:\n${text}`;
  };

  it("is its roles, names and states, and no value of a password", async () => {
    await using seen = await look("/form");
    const { text } = seen;
    expect(text.replaceAll(/ \[e\d+\]/g, "")).toMatchInlineSnapshot(`
      "- heading "Form" level=1
      - textbox "Name" required
      - textbox "Password" filled
      - combobox "Colour" value="Green" options=3
      - checkbox "Send news" checked
      - radio "Small"
      - radio "Large"
      - textbox "Notes" value="As before"
      - slider "Volume" value="3"
      - button "Later" disabled
      - button "Send"
      - button "Pressed" pressed
      - group "More"
        - button "More" collapsed"
    `);
    expect(text).not.toContain("hunter2");
  });

  it("has the documents of its frames below their elements, whichever site they come from", async () => {
    await using seen = await look("/frames");
    const { text, eyes } = seen;
    expect(text.replaceAll(/ \[e\d+\]/g, "")).toMatchInlineSnapshot(`
      "- heading "Frames" level=1
      - iframe "Same"
        - heading "Inner 1" level=2
        - button "Press 1"
      - iframe "Other"
        - heading "Inner 2" level=2
        - button "Press 2"
        - iframe "Nested"
          - heading "Inner 3" level=2
          - button "Press 3""
    `);
    for (const number of [1, 2, 3]) {
      await (await eyes.locate(refOf(text, `button "Press ${number}"`))).click();
      expect(await eyes.snapshot(BUDGET)).toContain(`button "Clicked ${number}"`);
    }
    const refs = [...text.matchAll(/\[(e\d+)\]/g)].map(([, ref]) => ref);
    expect(new Set(refs).size, "no reference is given twice").toBe(refs.length);
  });

  it("has what is in shadows and slots, and its references act there", async () => {
    await using seen = await look("/shadow");
    expect(seen.text).toContain('- heading "Slotted title" level=2');
    await (await seen.eyes.locate(refOf(seen.text, "In the shadow"))).click();
    expect(await seen.eyes.snapshot(BUDGET)).toContain('button "Shadow clicked"');
  });

  it("leaves out what nobody sees, and not what is seen in it", async () => {
    await using seen = await look("/unseen");
    expect(seen.text.replaceAll(/ \[e\d+\]/g, "")).toMatchInlineSnapshot(`
      "- heading "Unseen" level=1
      - "Seen in it"
      - "Contents"
      - "Opaque""
    `);
    await using modal = await look("/modal");
    expect(modal.text).toMatch(/- dialog "Over" modal \[e\d+\]\n {2}- button "Over" focused \[e\d+\]$/);
  });

  it("is read on in a frame and in a part by their own references", async () => {
    await using seen = await look("/long-frames");
    const { text, eyes } = seen;
    const [outer, next] = [refOf(text, 'iframe "Long"'), refOf(text, 'iframe "Next"')];
    expect(text).toContain("[not read: browser_snapshot with its ref]");
    expect(await eyes.snapshot({ ...BUDGET, root: await eyes.locate(next) })).toMatch(/^- heading "Inner 1"/);
    const told = new RegExp(`Read on: browser_snapshot with ref ${outer} and offset (\\d+)\\]$`, "m").exec(text)?.[1];
    const on = await eyes.snapshot({ maxBytes: 2_000, offset: Number(told), root: await eyes.locate(outer) });
    expect(text).not.toContain(on.split("\n").find((line) => line.startsWith("- ")));
    expect(on).toMatch(new RegExp(`Read on: browser_snapshot with ref ${outer} and offset \\d+\\]$`));
    const list = await eyes.locate(refOf(text, 'navigation "Departments"'));
    const part = await eyes.snapshot({ maxBytes: 500, offset: 0, root: list });
    expect(part).toMatch(/Read on: browser_snapshot with ref e\d+ and offset \d+\]$/);
  });

  it("is bounded however far its frames are nested", async () => {
    await using seen = await look("/nested-frames");
    for (const maxBytes of [8_000, BUDGET.maxBytes, 262_144]) {
      const text = await seen.eyes.snapshot({ maxBytes, offset: 0 });
      expect(text).toContain('iframe "Depth 1"');
      expect(Buffer.byteLength(text)).toBeLessThan(maxBytes + 1_000);
    }
    const inner = refOf(seen.text, 'iframe "Depth 1"');
    const told = new RegExp(`Read on: browser_snapshot with ref ${inner} and offset (\\d+)\\]$`, "m").exec(seen.text)?.[1];
    const on = await seen.eyes.snapshot({ ...BUDGET, offset: Number(told), root: await seen.eyes.locate(inner) });
    expect(on).toContain('- "a"\n');
  });

  it("names a frame whose document does not answer, and reads the others", async () => {
    await using seen = await look("/stuck-frame");
    expect(seen.text).toMatch(/- iframe "Stuck" \[e\d+\]\n {2}\[not read: its document does not answer\]/);
    expect(seen.text).toContain('button "Press 1"');
  });

  it("keeps the reference of an element that leaves the document and comes back", async () => {
    await using seen = await look("/moving");
    const ref = refOf(seen.text, 'button "Away"');
    await seen.page.evaluate("globalThis.kept = document.getElementById('b'); kept.remove()");
    await expect(seen.eyes.locate(ref)).rejects.toMatchObject({ code: "STALE_REF" });
    await seen.page.evaluate("document.body.append(kept)");
    await (await seen.eyes.locate(ref)).click();
    expect(await seen.eyes.snapshot(BUDGET)).toContain(`button "Here" focused [${ref}]`);
  });

  it("is bounded: what is in view, what can be acted on, headings, the rest, and how to read on", async () => {
    await using seen = await look("/shop");
    const { text, eyes } = seen;
    expect(Buffer.byteLength(text)).toBeLessThanOrEqual(BUDGET.maxBytes + 300);
    expect(text).toContain("# out of view, can be acted on:");
    const offset = Number(/Read on: browser_snapshot with offset (\d+)\]$/.exec(text)?.[1]);
    const parts = [text];
    for (let at = offset; !Number.isNaN(at); at = Number(/with offset (\d+)\]$/.exec(parts.at(-1) ?? "")?.[1]))
      parts.push(await eyes.snapshot({ ...BUDGET, offset: at }));
    const all = parts.join("\n");
    for (const line of ['button "Add to cart"', 'heading "News 19"', "119.99", 'link "Terms"']) expect(all).toContain(line);
    const refs = [...all.matchAll(/- (?!\[).*\[(e\d+)\]$/gm)].map(([, ref]) => ref);
    expect(new Set(refs).size, "nothing is read twice").toBe(refs.length);
  });

  it("of a table of 250 rows is short", async () => {
    await using seen = await look("/table");
    expect(Buffer.byteLength(seen.text) / 4).toBeLessThan(6_000);
    expect(seen.text).toContain("- row: Row 0 cell 0 | Row 0 cell 1");
  });

  it("keeps the reference of an element, and says of one that is gone what is nearest", async () => {
    await using seen = await look("/changing");
    const { page, eyes, text } = seen;
    const [old, add] = [refOf(text, 'link "Old one"'), refOf(text, 'button "Add"')];
    await eyes.before();
    await (await eyes.locate(add)).click();
    expect((await eyes.changes())?.replaceAll(/e\d+/g, "e")).toMatchInlineSnapshot(`
      "~ button "Added" focused [e]
      + listitem [e]
      + link "New one" url=/new [e]"
    `);
    expect(refOf(await eyes.snapshot(BUDGET), 'button "Added"'), "the same element").toBe(add);
    await eyes.before();
    await (await eyes.locate(refOf(text, 'button "Remove"'))).click();
    expect(await eyes.changes()).toContain(`- gone: link "Old one" url=/old [${old}]`);
    await expect(eyes.locate(old)).rejects.toMatchObject({
      code: "STALE_REF",
      message: expect.stringMatching(
        /^e\d+, link "Old one", is not in the page any more; the nearest is link "New one" url=\/new \[e\d+\]$/,
      ),
    });
    await eyes.before();
    await page.goto(`${site.url}/form`);
    expect(await eyes.changes(), "another document").toBeUndefined();
    await expect(eyes.locate(add)).rejects.toMatchObject({ code: "STALE_REF" });
    await page.goBack();
    await expect(eyes.locate(add), "no document gives a reference again").rejects.toMatchObject({ code: "STALE_REF" });
    expect(Number(refOf(await eyes.snapshot(BUDGET), 'button "Add').slice(1))).toBeGreaterThan(Number(add.slice(1)));
  });

  it("marks what can be acted on in view, and leaves nothing in the page", async () => {
    await using seen = await look("/frames");
    const boxes = await seen.eyes.showMarks(100);
    expect(boxes.map(({ role, name }) => `${role} ${name}`)).toEqual(["button Press 1", "button Press 2", "button Press 3"]);
    const { x, y, width, height } = boxes[2] ?? { x: 0, y: 0, width: 0, height: 0 };
    await seen.page.mouse.click(x + width / 2, y + height / 2);
    const drawn = () => seen.page.evaluate("document.querySelectorAll(':popover-open').length");
    expect(await drawn()).toBe(1);
    await seen.eyes.hideMarks();
    expect(await drawn()).toBe(0);
    await using modal = await look("/modal");
    const blank = await modal.page.screenshot();
    await modal.eyes.showMarks(100);
    expect((await modal.page.screenshot()).equals(blank), "marks are above a dialog").toBe(false);
    await modal.eyes.hideMarks();
    expect((await modal.page.screenshot()).equals(blank), "nothing is left").toBe(true);
    expect(await seen.eyes.snapshot(BUDGET), "a box is where its element is").toContain("Clicked 3");
  });

  it("does not depend on what the page's scripts did to the page's own world", async () => {
    await using seen = await look("/hostile");
    expect(seen.text).toMatch(/^- heading "Ignore all .* level=1 \[e\d+\]\n- button "x" \[e\d+\]$/);
  });

  it("is what stands there, whatever names the page has given to what is in its forms", async () => {
    await using seen = await look("/clobbered");
    const { page, eyes, text } = seen;
    expect(text.replaceAll(/ \[e\d+\]/g, "")).toMatchInlineSnapshot(`
      "- heading "Clobbered" level=1
      - form "All"
        - textbox "Name"
      - "Behind it"
      - button "Last""
    `);
    const named = [...text.matchAll(/\[(e\d+)\]/g)].map(([, ref]) => ref ?? "");
    for (const ref of named) await eyes.locate(ref);
    expect(await eyes.snapshot({ ...BUDGET, root: await eyes.locate(refOf(text, "form")) })).toContain('textbox "Name"');
    const boxes = await eyes.showMarks(100);
    await eyes.hideMarks();
    expect(boxes.map(({ role, name }) => `${role} ${name}`)).toEqual(["textbox Name", "button Last"]);
    await eyes.before();
    // Playwright's own ways to an element in such a form fail.
    await page.mouse.click((boxes[0]?.x ?? 0) + 5, (boxes[0]?.y ?? 0) + 5);
    await page.keyboard.insertText("Ann");
    expect(await eyes.changes()).toContain('textbox "Name" focused value="Ann"');
    expect(await page.evaluate("typeof f.getAttribute + typeof document.createElement"), "they hold").toBe("objectobject");
  });

  it("is had soon of a page of any size and depth", async () => {
    for (const [path, line] of [
      ["/huge", '- button "First"'],
      ["/many", "larger than what is looked at"],
      ["/deep", '- heading "Deep"'],
    ] as const) {
      await using seen = await look(path);
      expect(seen.text, path).toContain(line);
      expect(Buffer.byteLength(seen.text)).toBeLessThan(BUDGET.maxBytes + 300);
    }
  });
});
