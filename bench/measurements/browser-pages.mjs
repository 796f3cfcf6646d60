import { hasChromium, openBrowserServer, openHostBrowser } from "../browser-server.mjs";
import { compare } from "../harness.mjs";

export const limitMs = 300_000;
const MOST_MS = 60;
const MOST_TOKENS = 6_000;
const CHARACTERS_A_TOKEN = 4;
const PAGES = [
  { path: "/table", title: "a table of 250 rows x 8" },
  { path: "/shop", title: "a page of a shop with 120 products" },
];

/** What a model is shown of a page, beside playwright's own text on the host. */
export async function measure() {
  if (!hasChromium) return [{ what: "pages in a browser", omitted: "there is no Chromium" }];
  const [server, host] = [await openBrowserServer(), await openHostBrowser()];
  try {
    const rows = [];
    for (const page of PAGES) rows.push(...(await snapshots(page, server, host)));
    return rows;
  } finally {
    await host.close();
    await server.close();
  }
}

async function snapshots({ path, title }, { call, site }, host) {
  await call("browser_navigate", { url: site + path });
  await host.page.goto(host.site + path);
  const theirs = () => host.page.locator("body").ariaSnapshot({ mode: "ai" });
  const ours = () => call("browser_snapshot");
  const [measured, reference] = [await ours(), await theirs()].map((text) => always(Math.ceil(text.length / CHARACTERS_A_TOKEN)));
  const times = await compare({ reference: async () => void (await theirs()), measured: async () => void (await ours()) });
  const beside = "playwright's own, on the host";
  return [
    { what: `browser_snapshot of ${title}, over MCP`, beside, most: MOST_MS, ...times },
    { what: "the same in tokens, about", unit: "tokens", beside, most: MOST_TOKENS, measured, reference },
  ];
}

const always = (value) => ({ p50: value, p95: value, p99: value, n: 1 });
