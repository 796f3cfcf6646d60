import { expect, it } from "vitest";
import { CLICK } from "../../../src/browser/actions/click.ts";
import { CONSOLE } from "../../../src/browser/actions/console.ts";
import { EVALUATE } from "../../../src/browser/actions/evaluate.ts";
import { NAVIGATE } from "../../../src/browser/actions/navigate.ts";
import { NETWORK } from "../../../src/browser/actions/network.ts";
import { OPTIONS } from "../../../src/browser/actions/options.ts";
import { TABS } from "../../../src/browser/actions/tabs.ts";
import { MESSAGE_MAX_BYTES } from "../../../src/browser/frames.ts";
import { openBrowserLab, patiently } from "../../support/browser-lab.ts";

const bytesOf = (value: unknown): number => Buffer.byteLength(JSON.stringify(value));

/** Each would be larger than a message of the driver. */
const PAGE = `<meta charset=utf-8><title>large</title><button>Open</button><select></select><script>
  document.querySelector("button").onclick = () => open("about:blank#" + "x".repeat(65_000));
  for (let n = 0; n < 500; n++) console.error(n + " " + "é".repeat(1_990));
  for (let n = 0; n < 500; n++) fetch("/" + n + '"'.repeat(10) + "x".repeat(3_000)).catch(() => {});
  for (let n = 0; n < 500; n++) document.querySelector("select").add(new Option("é".repeat(500), n + "é".repeat(490)));
</script>`;

it("answers as much of the lists of a page as fits, and says what of a value does not", async () => {
  await using lab = await openBrowserLab();
  const tab = lab.session();
  await lab.serve(PAGE);
  const opened = await tab.call(NAVIGATE, { url: "http://127.0.0.1:8000/" }, patiently());
  expect(opened.value).toMatchObject({ title: "large", navigated: true });

  const { lines, omitted } = (await tab.call(CONSOLE, { limit: 500 }, patiently())).value;
  expect(lines.length + omitted).toBe(500);
  expect(bytesOf(lines)).toBeGreaterThan(MESSAGE_MAX_BYTES * 0.9);
  expect((await tab.call(CONSOLE, { limit: 1 }, patiently())).value.lines).toEqual(lines.slice(-1));
  const network = (await tab.call(NETWORK, { limit: 500 }, patiently())).value;
  expect(network.requests.length + network.omitted).toBe(500);
  expect(bytesOf(network)).toBeGreaterThan(MESSAGE_MAX_BYTES * 0.9);
  const list = (await tab.call(OPTIONS, { selector: "select" }, patiently())).value;
  expect(list.options.length + list.omitted).toBe(500);

  const clicked = await tab.call(CLICK, { selector: "text=Open" }, patiently());
  expect(clicked.value.opened.map(({ url }) => url.length)).toEqual([2_000]);
  const url = `about:blank#${"x".repeat(65_000)}`;
  for (let n = 0; n < 16; n++) await tab.call(TABS, { action: "new", url }, patiently());
  expect((await tab.call(TABS, { action: "list" }, patiently())).value.tabs).toHaveLength(18);

  // 920,001 bytes as JSON, and half as much again with its quotes escaped.
  const letters = tab.call(EVALUATE, { expression: "Array(230_000).fill('a')" }, patiently());
  await expect(letters).rejects.toMatchObject({ code: "RESULT_TOO_LARGE", message: expect.stringContaining("return less of it") });
  const value = await tab.call(EVALUATE, { expression: "Array(160_000).fill('a')" }, patiently());
  expect(JSON.parse(value.value.json)).toHaveLength(160_000);
}, 90_000);
