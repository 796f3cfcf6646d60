import { setTimeout as pause } from "node:timers/promises";
import { hasChromium } from "../browser-server.mjs";
import { NEVER, openHome, scaled, summarise } from "../harness.mjs";

export const limitMs = 300_000;
const PAGES = 10;
/** A minute, unless this shortens it. */
const REST_MS = 1_000;
const SECONDS = 5;
const ROUNDS = 6;
/** A page that never stands still. */
const BUSY = `<title>busy</title><script>setInterval(() => { const end = Date.now() + 2; while (Date.now() < end); }, 20);</script>`;
const URL_OF_PAGE = `data:text/html,${encodeURIComponent(BUSY)}`;
const BLANK = "data:text/html,<title>blank</title>";

/** What pages cost that nobody looks at: all processes of their sandbox, by the kernel's count. */
export async function measure() {
  if (!hasChromium) return [{ what: "pages in the background", omitted: "there is no Chromium" }];
  const home = await openHome({ storage: "tmpfs" });
  const load = (file) => import(`../../dist/lib/browser/${file}`);
  const [{ Browsers }, { TABS }] = await Promise.all(["browsers.js", "actions/tabs.js"].map(load));
  const browsers = new Browsers({ idleMs: 600_000, restMs: REST_MS });
  try {
    const sandbox = await home.create({ limits: { pids: 512 } });
    if ((await sandbox.usage()).cpuUs === undefined)
      return [{ what: "pages in the background", omitted: "no control group counts their time" }];
    const session = browsers.of(sandbox, "bench");
    const open = (url) => session.call(TABS, { action: "new", url }, { signal: NEVER, timeoutMs: 50_000 });
    for (let page = 0; page < PAGES; page += 1) await open(URL_OF_PAGE);
    await open(BLANK);
    const reference = summarise([await partOfACore(sandbox)]);
    await pause(2 * REST_MS);
    const samples = [];
    for (let round = 0; round < scaled(ROUNDS); round += 1) samples.push(await partOfACore(sandbox));
    const beside = "the same before they rest";
    return [
      { what: `${PAGES} busy pages in the background, of a core`, unit: "%", beside, most: 1, measured: summarise(samples), reference },
    ];
  } finally {
    await browsers[Symbol.asyncDispose]();
    await home.close();
  }
}

async function partOfACore(sandbox) {
  const [before, from] = [await sandbox.usage(), performance.now()];
  await pause(scaled(SECONDS * 1_000));
  const used = (await sandbox.usage()).cpuUs - before.cpuUs;
  return (used / 1_000 / (performance.now() - from)) * 100;
}
