import { hasChromium, openBrowserServer, openHostBrowser } from "../browser-server.mjs";
import { compare } from "../harness.mjs";

export const limitMs = 300_000;
const TIMES = { blocks: 4, each: 10 };
const ITEMS = Array.from({ length: 100 }, (_, n) => `<li><a href="#${n}">Item ${n}</a></li>`).join("");
const PAGE = `<title>page</title><h1>page</h1><button id="b" onclick="this.textContent = Number(this.textContent) + 1">0</button><ul>${ITEMS}</ul>`;
const URL_OF_PAGE = `data:text/html,${encodeURIComponent(PAGE)}`;

/** A click and a picture, as a model's tools give them, beside playwright with the same Chromium and flags on the host. */
export async function measure() {
  if (!hasChromium) return [{ what: "acts in a browser", omitted: "there is no Chromium" }];
  const [server, host] = [await openBrowserServer(), await openHostBrowser()];
  try {
    await server.call("browser_navigate", { url: URL_OF_PAGE });
    await host.page.goto(URL_OF_PAGE);
    return [
      await clicks(host.page, () => server.call("browser_click", { selector: "#b" })),
      await pictures(host.page, () => server.call("browser_screenshot")),
    ];
  } finally {
    await host.close();
    await server.close();
  }
}

async function clicks(page, measured) {
  const reference = async () => {
    await page.click("#b");
    await page.locator("body").ariaSnapshot({ mode: "ai" });
  };
  const figures = await compare({ reference: silent(reference), measured: silent(measured), ...TIMES });
  const most = Math.round(1.3 * figures.reference.p50 + 10);
  return {
    what: "browser_click and what changed, over MCP",
    beside: "playwright's click and text of the page, on the host",
    most,
    ...figures,
  };
}

async function pictures(page, measured) {
  const reference = () => page.screenshot({ type: "jpeg" });
  const figures = await compare({ reference: silent(reference), measured: silent(measured), ...TIMES });
  return { what: "browser_screenshot of 1280 x 720, over MCP", beside: "playwright's, on the host", goal: 1.2, ...figures };
}

/** `compare` takes a number given back for a time. */
const silent = (work) => async () => void (await work());
